"""The policy codec: requests in any cut, broken ones, bytes that mean nothing, and the answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.policy_service.codec import (
    MAX_ATTRIBUTES,
    MAX_LINE,
    MAX_REQUEST,
    PolicyServiceCodec,
    answer,
)
from oborona.doors.reply import (
    ACCEPT,
    CONTINUE,
    TEMPFAIL,
    ReplyAction,
    SessionReply,
    hold_reply,
    refusal_reply,
)
from oborona.errors import PeerError
from tests.peers.policy_client import request

SENT = [  # as Postfix 3.7 sends them
    {
        "protocol_state": "RCPT",
        "protocol_name": "ESMTP",
        "client_address": "2001:db8::1",
        "client_name": "unknown",
        "client_port": "60792",
        "reverse_client_name": "unknown",
        "server_address": "127.0.0.1",
        "server_port": "25",
        "helo_name": "client.test",
        "sender": 'a b"c@y.test',
        "recipient": "jürgen@example.test",
        "recipient_count": "0",
        "queue_id": "",
        "instance": "6971.6b023316.d5e60.3",
        "size": "123",
        "etrn_domain": "",
        "stress": "",
        "sasl_method": "",
        "sasl_username": "",
        "sasl_sender": "",
        "ccert_subject": "",
        "ccert_issuer": "Wietse+20Venema",
        "encryption_keysize": "0",
        "policy_context": "a=b=c",
    },
    {"protocol_state": "CONNECT", "client_address": "192.0.2.9"},
    {},
]
STREAM = b"".join(request(**said) for said in SENT)
REQUESTS = [{"request": "smtpd_access_policy"} | said for said in SENT]


def run(stream: bytes, cuts: list[int] | int) -> tuple[list[dict[str, str]], str]:
    """Feed a stream in pieces; return its requests and the error that ended them."""
    ends = list(range(cuts, len(stream), cuts)) if isinstance(cuts, int) else cuts
    codec, requests = PolicyServiceCodec(), []
    try:
        for start, end in zip([0, *ends], [*ends, len(stream)], strict=True):
            for one in codec.feed(stream[start:end]):
                requests.append(one)  # noqa: PERF402 - those before an error count
    except PeerError as error:
        return requests, str(error)
    return requests, ""


@pytest.mark.parametrize("size", [1, 16, 128, 4096])
def test_requests_in_pieces(size: int) -> None:
    assert run(STREAM, size) == (REQUESTS, "")


@pytest.mark.parametrize("cut", range(1, len(STREAM), 7))
def test_a_stream_that_ends_early_gives_the_requests_that_are_whole(cut: int) -> None:
    ends = [len(b"".join(request(**said) for said in SENT[: i + 1])) for i in range(len(SENT))]
    whole = sum(end <= cut for end in ends)
    assert run(STREAM[:cut], 64) == (REQUESTS[:whole], "")
    codec = PolicyServiceCodec()
    assert list(codec.feed(STREAM[:cut])) == REQUESTS[:whole]
    assert codec.partial == (cut not in ends)


OPENING = b"request=smtpd_access_policy\n"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (b"\n", "not a request=smtpd_access_policy: ''"),
        (b"protocol_state=RCPT\n\n", "not a request=smtpd_access_policy: ''"),
        (
            b"request=junk_access_policy\n\n",
            "not a request=smtpd_access_policy: 'junk_access_policy'",
        ),
        (OPENING + b"GET / HTTP/1.1\n", "not name=value: b'GET / HTTP/1.1'"),
        (OPENING + b"=value\n", "not name=value: b'=value'"),
        (OPENING + b"helo_name=a\0b\n", "not name=value: b'helo_name=a\\x00b'"),
        (OPENING + b"\r\n", "not name=value: b'\\r'"),
        (b"x" * (MAX_LINE + 1), "a line of more than"),
        (OPENING + b"a=\n" * MAX_ATTRIBUTES, "a request of more than"),
        (
            OPENING + b"a=" + b"x" * (MAX_LINE - 2) + b"\n" + b"b=%s\n" % (b"x" * 8000) * 9,
            "a request of",
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 16, 128, 4096, 1 << 20])
def test_what_breaks_the_protocol_is_an_error_after_the_requests_before_it(
    broken: bytes, why: str, size: int
) -> None:
    requests, error = run(STREAM + broken, size)
    assert requests == REQUESTS
    assert error.startswith(why)
    assert len(error) < 400


def test_the_limits_themselves_are_taken() -> None:
    line = b"a=" + b"x" * (MAX_LINE - 2) + b"\n"
    assert run(OPENING + line + b"\n", 4096)[0][0]["a"] == "x" * (MAX_LINE - 2)
    many = b"".join(b"a%d=\n" % number for number in range(MAX_ATTRIBUTES - 1))
    assert len(run(OPENING + many + b"\n", 4096)[0][0]) == MAX_ATTRIBUTES
    room = MAX_REQUEST - len(OPENING) + 1
    fits = b"".join(b"%d=%s\n" % (number, b"x" * (room // 8 - 2)) for number in range(8))
    assert run(OPENING + fits + b"\n", 4096)[1] == ""


def test_of_an_attribute_given_twice_the_last_counts_and_what_is_not_utf8_is_shown() -> None:
    assert run(OPENING + b"a=1\na=2\nb=\xff\n\n", 3)[0] == [
        {"request": "smtpd_access_policy", "a": "2", "b": "\\xff"}
    ]


@given(
    lines=st.lists(
        st.sampled_from(
            [OPENING, b"\n", b"a=b\n", b"sender=\xd1\x8f@b.test\n", b"x=", b"y", b"\0", b"\r\n"]
        )
        | st.binary(max_size=30),
        max_size=30,
    ),
    data=st.data(),
)
def test_any_bytes_in_any_cut_give_the_same_requests_or_the_same_error(
    lines: list[bytes], data: st.DataObject
) -> None:
    """Invariant: requests and error depend on the bytes alone, and nothing but PeerError is
    raised.
    """
    stream = b"".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    assert run(stream, cuts) == run(stream, 1 << 30)


def test_a_line_that_never_ends_is_taken_up_to_its_limit() -> None:
    codec = PolicyServiceCodec()
    for _ in range(MAX_LINE):
        assert list(codec.feed(b"x")) == []
    with pytest.raises(PeerError, match="a line of more than"):
        list(codec.feed(b"x"))


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (CONTINUE, "DUNNO"),
        (ACCEPT, "DUNNO"),
        (SessionReply(answer=ReplyAction.DISCARD), "DISCARD"),
        (hold_reply("Looks like spam\nreference 3k2"), "HOLD Looks like spam reference 3k2"),
        (
            refusal_reply(554, "5.7.1", "Client refused, reference 1"),
            "554 5.7.1 Client refused, reference 1",
        ),
        (refusal_reply(451, "4.7.1", "Try again later"), "451 4.7.1 Try again later"),
        (refusal_reply(550, "5.7.1", "No\nnever"), "550 5.7.1 No never"),
        (TEMPFAIL, "451 4.7.1 Service unavailable - try again later"),
        (SessionReply(answer=ReplyAction.REJECT), "550 5.7.1 Command rejected"),
    ],
)
def test_each_reply_has_its_action(reply: SessionReply, action: str) -> None:
    assert answer(reply) == f"action={action}\n\n".encode()


def test_an_answer_is_one_line_that_postfix_takes_whole() -> None:
    long = refusal_reply(550, "5.7.1", "\n".join(["x" * 480] * 32))
    assert answer(long) == b"action=550 5.7.1 " + b"x" * 480 + b"\n\n"
