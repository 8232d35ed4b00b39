"""What a client of POST /feedback may say, and what it is told when it says something else."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.errors import PeerError
from oborona.feedback.events.http_body import AHEAD_S, OLDEST_S, event_of, from_json, from_message
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.ident import sign
from tests.daemon.intake.takings import KEY

NOW = 1_790_000_000.0
ID = sign(7, KEY)
LETTER = f"X-Mras-Id: {ID}\r\nMessage-ID: <a@b.example>\r\n\r\nBuy!\r\n".encode()
RAW = base64.b64encode(LETTER).decode()


def event(**words: object) -> FeedbackEvent:
    once = str(words.pop("once", ""))
    said = from_json(
        json.dumps({"what": "complaint", "person": "Joe@Example.org", **words}).encode()
    )
    return event_of(said, key=KEY, once=once, source="127.0.0.1", now=NOW)


def test_all_that_can_be_said() -> None:
    assert event(id=ID, raw=RAW, time=NOW - 60, mailbox="Junk") == FeedbackEvent(
        what=EventKind.COMPLAINT,
        way=EventChannel.HTTP,
        time=NOW - 60,
        person="joe@example.org",
        ident=7,
        message_id="a@b.example",
        raw=LETTER,
        mailbox="Junk",
        source="127.0.0.1",
    )


def test_an_id_or_a_message_is_enough() -> None:
    assert event(id=ID).ident == 7
    assert (event(raw=RAW).ident, event(raw=RAW).time) == (7, NOW)


def test_a_message_with_an_id_of_another_site_is_one_without() -> None:
    assert event(raw=RAW, id=sign(7, b"x" * 32)).ident is None


def test_a_trap_is_nobodys() -> None:
    assert event(what="trap", person="", raw=RAW).person == ""


def test_a_time_a_little_ahead_is_now() -> None:
    assert event(id=ID, time=NOW + AHEAD_S - 1).time == NOW


def test_the_same_name_has_the_same_key_and_no_name_none() -> None:
    assert event(id=ID).key == b""
    assert event(once="a", id=ID).key == event(once="a", raw=RAW).key
    assert len({event(once="a", id=ID).key, event(once="b", id=ID).key}) == 2
    others = [
        event(once="a", id=ID, person="eve@example.org"),
        event(once="a", id=ID, what="pardon"),
    ]
    assert len({event(once="a", id=ID).key, *(one.key for one in others)}) == 3


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({}, "neither id nor raw"),
        ({"id": "x"}, "id is not an X-Mras-Id of this site"),
        ({"id": ID, "what": "spam"}, "spam"),
        ({"id": ID, "person": ""}, "person is no mail address"),
        ({"id": ID, "person": "joe"}, "person is no mail address"),
        ({"id": ID, "person": "x" * 400}, "320"),
        ({"raw": RAW, "what": "trap"}, "a trap is nobody's"),
        ({"id": ID, "time": NOW + AHEAD_S + 1}, "30 days"),
        ({"id": ID, "time": NOW - OLDEST_S - 1}, "30 days"),
        ({"id": ID, "time": "now"}, "float"),
        ({"raw": "no base64!"}, "base64"),
        ({"id": ID, "peson": "joe@example.org"}, "peson"),
    ],
)
def test_what_cannot_be_used(words: dict[str, object], problem: str) -> None:
    with pytest.raises(PeerError, match=problem):
        event(**words)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"what":',
        b"\xff",
        b'{"person":"\xee"}',
        b"[" * 100_000,
        b'{"time":1e400}',
    ],
)
def test_what_is_no_json_of_ours(body: bytes) -> None:
    with pytest.raises(PeerError):
        from_json(body)


def test_a_message_with_words_beside_it() -> None:
    said = from_message(
        LETTER, {"what": "pardon", "person": "joe@example.org", "time": str(NOW - 5)}
    )
    found = event_of(said, key=KEY, once="", source="local", now=NOW)
    assert (found.what, found.ident, found.time, found.raw) == (
        EventKind.PARDON,
        7,
        NOW - 5,
        LETTER,
    )


@given(
    st.binary(max_size=200)
    | st.dictionaries(st.text(), st.text() | st.floats()).map(lambda x: json.dumps(x).encode())
)
def test_any_body_is_an_event_that_can_be_stored_or_a_broken_one(body: bytes) -> None:
    """Invariant: a PeerError and nothing else, or an event whose texts are Unicode."""
    try:
        found = event_of(from_json(body), key=KEY, once="", source="", now=NOW)
    except PeerError:
        return
    (found.person + found.mailbox + found.message_id).encode()
