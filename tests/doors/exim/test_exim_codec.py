"""The codec of Exim's line protocol: requests in any cut, broken ones, those that are too long, and
bytes that mean nothing.
"""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.exim.codec import MAX_FIELDS, MAX_LINE, EximCodec, EximRequest, EximVerb
from oborona.errors import PeerError
from tests.peers.readsocket import request

MESSAGE = 3000  # bytes of a message that are taken
MOST = MESSAGE * 4 // 3 + MAX_LINE
STREAM = (
    b"oborona/1 ping\n"
    b"oborona/1 connect ip=192.0.2.7\tname64=bWFpbC5hLmV4YW1wbGU=  after=\r\n"
    b"oborona/1\tmail ip= from64= unknown=x other64=eA==   \n"
    + request("rcpt", ip="2001:db8::1", rcpt='"a b"@я'.encode(), auth=bytes(range(256)))
    + request("data", size=12, headers=b"From: a@b\n" * 10, body=b"hi\n")
)
REQUESTS = [
    EximRequest(EximVerb.PING, {}),
    EximRequest(EximVerb.CONNECT, {"ip": b"192.0.2.7", "name": b"mail.a.example", "after": b""}),
    EximRequest(EximVerb.MAIL, {"ip": b"", "from": b"", "unknown": b"x", "other": b"x"}),
    EximRequest(
        EximVerb.RCPT, {"ip": b"2001:db8::1", "rcpt": '"a b"@я'.encode(), "auth": bytes(range(256))}
    ),
    EximRequest(EximVerb.DATA, {"size": b"12", "headers": b"From: a@b\n" * 10, "body": b"hi\n"}),
]


def run(stream: bytes, cuts: list[int] | int) -> tuple[list[EximRequest | None], str]:
    """Feed a stream in pieces; return its requests and the error that ended them."""
    ends = list(range(cuts, len(stream), cuts)) if isinstance(cuts, int) else cuts
    codec, requests = EximCodec(MESSAGE), list[EximRequest | None]()
    try:
        for start, end in zip([0, *ends], [*ends, len(stream)], strict=True):
            for one in codec.feed(stream[start:end]):
                requests.append(one)
    except PeerError as error:
        return requests, str(error)
    return requests, ""


@pytest.mark.parametrize("size", [1, 16, 128, 4096])
def test_requests_in_pieces(size: int) -> None:
    assert run(STREAM, size) == (REQUESTS, "")


def test_split_at_every_byte_and_cut_off_at_every_byte() -> None:
    ends = [at + 1 for at, byte in enumerate(STREAM) if byte == 0x0A]
    for cut in range(len(STREAM) + 1):
        assert run(STREAM, [cut]) == (REQUESTS, "")
        codec = EximCodec(MESSAGE)
        assert list(codec.feed(STREAM[:cut])) == REQUESTS[: sum(end <= cut for end in ends)]
        assert codec.partial == (cut not in (0, *ends))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (b"", "speak oborona/1"),
        (b"\r", "speak oborona/1"),
        (b"   ", "speak oborona/1"),
        (b"oborona/2 ping", "speak oborona/1"),
        (b"OBORONA/1 ping", "speak oborona/1"),
        (b"GET / HTTP/1.1\r", "speak oborona/1"),
        (b"\x16\x03\x01\x02\x00\x01", "speak oborona/1"),
        (b"oborona/1", "no such command: "),
        (b"oborona/1 vrfy", "no such command: vrfy"),
        (b"oborona/1 DATA", "no such command: DATA"),
        (b"oborona/1 from=x", "no such command: from=x"),
        (b"oborona/1 ping helo=a\x00b", "not printable ASCII"),
        (b"oborona/1 ping helo=\xd1\x8f", "not printable ASCII"),
        (b"oborona/1 ping helo=a\rb", "not printable ASCII"),
        (b"oborona/1 ping\x0bx=y", "not printable ASCII"),
        (b"oborona/1 ping x", "not name=value: x"),
        (b"oborona/1 ping =x", "not name=value: =x"),
        (b"oborona/1 ping From=x", "not name=value: From=x"),
        (b"oborona/1 ping 64=x", "not name=value: 64=x"),
        (b"oborona/1 ping from=a from=a", "given twice: from"),
        (b"oborona/1 ping from= from64=", "given twice: from"),
        (b"oborona/1 ping new64=YQ== new=b", "given twice: new"),
        (b"oborona/1 ping from64=a", "not base64: from64"),
        (b"oborona/1 ping from64=YWI", "not base64: from64"),
        (b"oborona/1 ping from64=YQ==YQ==", "not base64: from64"),
        (b"oborona/1 ping from64=Y-_=", "not base64: from64"),
        (b"oborona/1 ping from64==", "not base64: from64"),
        (
            b"oborona/1 ping" + b"".join(b" a%d=" % number for number in range(MAX_FIELDS + 1)),
            "more than 64",
        ),
        (b"oborona/1 rcpt rcpt=" + b"x" * MAX_LINE, "request is too long"),
        (b"x" * (MAX_LINE + 1), "request is too long"),
        (b"oborona/1 data body64=" + b"YWJj" * (MOST // 4), "request is too long"),
        (b"oborona/1 database body64=" + b"YWJj" * (MAX_LINE // 4), "request is too long"),
        (b"oborona/1 ping" + b" " * MAX_LINE + b"data ", "request is too long"),
    ],
)
@pytest.mark.parametrize("size", [7, 128, 4096, 1 << 20])
def test_what_breaks_the_protocol_is_an_error_after_the_requests_before_it(
    broken: bytes, why: str, size: int
) -> None:
    requests, error = run(STREAM + broken + b"\n" + STREAM, size)
    assert requests == REQUESTS
    assert error.startswith(why)
    assert error.isascii()
    assert error.isprintable()
    assert len(error) < 100


def test_the_limits_themselves_are_taken() -> None:
    line = b"oborona/1 rcpt rcpt="
    assert run(line + b"x" * (MAX_LINE - len(line)) + b"\n", 4096)[1] == ""
    line = b"oborona/1 \t data body64="
    room = (MOST - len(line)) // 4 * 4
    (found,), error = run(line + b"YWJj" * (room // 4) + b"\n", 4096)
    assert error == ""
    assert found is not None
    assert len(found.fields["body"]) >= MESSAGE
    many = b"".join(b" a%d=" % number for number in range(MAX_FIELDS))
    (found,), _ = run(b"oborona/1 ping" + many + b"\n", 4096)
    assert found is not None
    assert len(found.fields) == MAX_FIELDS


def test_of_a_line_that_never_ends_no_more_is_kept_than_a_request_may_have() -> None:
    for begin in (b"x", b"oborona/1 data body64="):
        codec = EximCodec(MESSAGE)
        assert list(codec.feed(begin)) == []
        for _ in range(100):
            assert list(codec.feed(b"A" * 4096)) == []
            assert len(codec._line) <= MOST + 8192
        assert len(codec._line) < 100
        assert codec.partial
        with pytest.raises(PeerError, match="request is too long"):
            list(codec.feed(b"\n"))


@given(
    lines=st.lists(
        st.sampled_from(
            [
                b"oborona/1 ping\n",
                b"oborona/1 ",
                b"rcpt ",
                b"from=",
                b"from64=",
                b"\n",
                b" ",
                b"\r\n",
            ]
        )
        | st.binary(max_size=30)
        | st.binary(max_size=30).map(base64.b64encode),
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


@given(st.dictionaries(st.sampled_from(["helo", "from", "rcpt", "auth", "name"]), st.binary()))
def test_no_value_changes_another(values: dict[str, bytes]) -> None:
    """Invariant: what was put in comes out, under its own name, whatever it is."""
    assert run(request("rcpt", **values), 1 << 30) == ([EximRequest(EximVerb.RCPT, values)], "")


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_request_that_is_dropped_is_told_at_its_end_and_the_next_one_read(size: int) -> None:
    codec, found = EximCodec(MESSAGE), list[EximRequest | None]()
    assert list(codec.feed(b"oborona/1 data body64=" + b"QUFB" * 100)) == []
    codec.drop()
    assert (codec.kept, codec.partial) == (0, True)
    rest = b"QUFB" * 100 + b"\noborona/1 ping\n"
    for place in range(0, len(rest), size):
        found += codec.feed(rest[place : place + size])
        assert codec.kept < 100
    assert found == [None, EximRequest(EximVerb.PING, {})]
    assert not codec.partial
