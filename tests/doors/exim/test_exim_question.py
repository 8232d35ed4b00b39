"""What Exim's requests ask: stages, envelopes, recipients, and messages that are shown in part."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.doors.exim.codec import EximCodec
from oborona.doors.exim.question import MAX_TAKEN, EximQuestion, question_of
from oborona.doors.rfc5322 import raw_message_of
from oborona.errors import PeerError
from oborona.types import Client, Envelope, Stage
from tests.peers.readsocket import request

LIMIT = 10_000
HEAD = b"From: ann@a.example\nX-Long: a\n\tb\n"
OURS = (
    b"Received: from a by mx.test\n\t(envelope-from <ann@a.example>)\n\tid "
    b"1xVCQn-0005T8-0K;\n\tSun, 22 Nov 2026\n"
)


def asked(word: str, **fields: str | bytes | int) -> EximQuestion:
    (one,) = EximCodec(LIMIT).feed(request(word, **fields))
    assert one is not None
    return question_of(one, LIMIT)


def test_a_request_tells_all_that_is_known() -> None:
    told = asked(
        "rcpt",
        ip="::ffff:192.0.2.7",
        port=4711,
        name=b"Mail.A.Example",
        ours=25,
        helo=b"mail.a.example",
        rcpt=b"joe@b.example",
        auth=b"\xff",
        id="1xVCQn-0005T8-0K",
        after="mail",
        new="x",
        **{"from": "юля@a.example".encode()},
    )
    assert told == EximQuestion(
        stage=Stage.RECIPIENT,
        reached=None,
        after=Stage.SENDER,
        envelope=Envelope(
            client=Client(ip="192.0.2.7", name="mail.a.example", port=4711),
            helo="mail.a.example",
            sender="юля@a.example",
            recipients=("joe@b.example",),
            login="\\xff",
            queue_id="1xVCQn-0005T8-0K",
        ),
        port="25",
        message=None,
    )


@pytest.mark.parametrize(
    ("word", "fields", "stage"),
    [
        ("connect", {}, Stage.CONNECT),
        ("helo", {"helo": b"x"}, Stage.CONNECT),
        ("auth", {"auth": b"ann"}, Stage.CONNECT),
        ("mail", {"from": b""}, Stage.SENDER),
        ("rcpt", {"rcpt": b"x"}, Stage.RECIPIENT),
        ("data", {}, Stage.SENDER),
        ("data", {"rcpts": b"a@b.test"}, Stage.RECIPIENT),
        ("data", {"rcpts": b"a@b.test, c@d.test"}, Stage.SENDER),
    ],
)
def test_each_word_asks_at_its_stage(word: str, fields: dict[str, bytes], stage: Stage) -> None:
    told = asked(word, **fields)
    assert (told.stage, told.after, told.message, told.port, told.envelope.client) == (
        stage, None, None, "", Client(),
    )  # fmt: skip
    if word != "data":
        assert asked(word, **fields, after=word).after is stage


@pytest.mark.parametrize(
    ("word", "fields", "why"),
    [
        ("helo", {}, "helo without helo"),
        ("auth", {}, "auth without auth"),
        ("mail", {"sender": b"ann@a.example"}, "mail without from"),
        ("rcpt", {"from": b"ann@a.example"}, "rcpt without rcpt"),
        ("connect", {"ip": "localhost"}, "not a client address: 'localhost'"),
        ("connect", {"ip": b"\n"}, "not a client address: '\\n'"),
        ("connect", {"after": "ping"}, "after no such command: ping"),
        ("connect", {"after": "RCPT"}, "after no such command: RCPT"),
        ("rcpt", {"rcpt": b"x", "after": "data"}, "after no such command: data"),
        ("connect", {"port": "smtp"}, "not a number: port"),
        ("connect", {"port": -1}, "not a number: port"),
        ("data", {"headers": b"", "size": "1K"}, "not a number: size"),
        ("rcpt", {"rcpt": b"x", "count": "9" * 16}, "not a number: count"),
    ],
)
def test_what_makes_no_sense_is_an_error(
    word: str, fields: dict[str, str | bytes], why: str
) -> None:
    with pytest.raises(PeerError, match=re.escape(why)):
        asked(word, **fields)


def test_recipients_before_this_one_are_known_by_their_number() -> None:
    assert (
        asked("rcpt", rcpt=b"joe@b.example", count=2).envelope.recipients == ("joe@b.example",) * 3
    )
    assert asked("rcpt", rcpt=b"joe@b.example", count="").envelope.recipients == ("joe@b.example",)
    assert (
        len(asked("rcpt", rcpt=b"joe@b.example", count=10**9).envelope.recipients) == MAX_TAKEN + 1
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (b"", ()),
        (b"a@b.test", ("a@b.test",)),
        (b"a@b.test, c@d.test", ("a@b.test", "c@d.test")),
        (b"a@b.test\nc@d.test\n", ("a@b.test", "c@d.test")),
        (b'"a, b"@c.test, d@e.test', ('"a, b"@c.test', "d@e.test")),
        (rb'"j=\"q,x"@c.test, d@e.test', (r'"j=\"q,x"@c.test', "d@e.test")),
        (b'"a, b@c.test\nd@e.test', ('"a, b@c.test', "d@e.test")),
        (b"a\\", ("a\\",)),
        (b",, ,\n", ()),
    ],
)
def test_recipients_of_a_message_are_a_list(given: bytes, found: tuple[str, ...]) -> None:
    assert asked("data", rcpts=given).envelope.recipients == found


@given(st.lists(st.from_regex(r'\A(?:[a-z]+|"(?:[a-z ,@]|\\[",\\])+")@[a-z.]+\Z'), max_size=5))
def test_recipients_come_out_as_they_went_in(recipients: list[str]) -> None:
    """Invariant: quoted commas, quotes and backslashes part nothing."""
    for between in (", ", "\n"):
        told = asked("data", rcpts=between.join(recipients).encode())
        assert list(told.envelope.recipients) == recipients


def test_a_message_that_is_shown_whole_is_the_message() -> None:
    told = asked("data", headers=HEAD, body=b"hi\n.\n", size=len(HEAD) + 1 + 5)
    want = raw_message_of(HEAD + b"\n" + b"hi\n.\n", LIMIT)
    assert told.message == want
    assert want.raw == b"From: ann@a.example\r\nX-Long: a\r\n\tb\r\n\r\nhi\r\n.\r\n"
    assert told.message.headers == want.headers
    assert not told.message.truncated


def test_the_received_of_the_exim_that_asks_is_none_of_the_message() -> None:
    size = len(HEAD) + 1 + 2
    told = asked("data", id="1xVCQn-0005T8-0K", headers=OURS + HEAD, body=b"hi", size=size)
    assert told.message == raw_message_of(HEAD + b"\nhi", LIMIT)
    other = asked(
        "data", id="1xVCQn-0005T8-0L", headers=OURS + HEAD, body=b"hi", size=size + len(OURS)
    )
    assert other.message == raw_message_of(OURS + HEAD + b"\nhi", LIMIT)
    nobodys = asked("data", headers=OURS + HEAD, body=b"hi", size=size + len(OURS))
    assert nobodys.message == other.message


@pytest.mark.parametrize("size", [100_000, LIMIT * 100])
def test_what_exim_does_not_show_is_counted(size: int) -> None:
    told = asked("data", headers=HEAD, body=b"hi", size=size)
    assert told.message is not None
    assert (told.message.size, told.message.truncated) == (size, True)
    assert told.message.raw == raw_message_of(HEAD + b"\nhi", LIMIT).raw


def test_of_a_message_no_more_is_kept_than_may_be() -> None:
    told = asked("data", headers=HEAD, body=b"x" * LIMIT)
    assert told.message is not None
    assert len(told.message.raw) == LIMIT
    assert told.message.truncated


def test_a_header_without_its_end_and_no_header_at_all() -> None:
    assert asked("data", headers=b"Subject: x", body=b"hi").message == raw_message_of(
        b"Subject: x\n\nhi", LIMIT
    )
    told = asked("data", headers=b"", body=b"hi").message
    assert told is not None
    assert told.headers == ()
    assert told.raw == b"\r\nhi"


@given(st.binary(), st.binary(), st.integers(0, 100))
def test_any_octets_give_a_message(head: bytes, body: bytes, size: int) -> None:
    """Invariant: a message of at most the limit comes out, whose size is no less than what is kept
    of it.
    """
    message = asked("data", id="x", headers=head, body=body, size=size).message
    assert message is not None
    assert len(message.raw) <= min(LIMIT, message.size)
