"""The log of events: what was acknowledged is there once, decisions have turns, and what is over is
forgotten.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.errors import StoreError, StoreFull, StoreVersion
from oborona.feedback.events.log import MOST_TEXT, EventLog
from oborona.feedback.events.model import (
    MOST_RAW,
    EventChannel,
    EventDecision,
    EventKind,
    EventReceipt,
    EventSummary,
    FeedbackEvent,
)
from tests.feedback.words import NOW

ANN = "ann@b.example"
ONE = FeedbackEvent(
    what=EventKind.COMPLAINT,
    way=EventChannel.SIEVE,
    time=NOW,
    person=ANN,
    ident=7,
    raw=b"Subject: a\r\n\r\nb",
)
YES = EventDecision(counts=True, own=True, weight=0.5, rules=(), say="")
NO = EventDecision(counts=False, own=False, rules=("DUPLICATE", "LATE"), say="said before; late")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog(tmp_path / state_files.EVENTS) as made:
        yield made


def test_what_is_written_comes_back_as_it_was(log: EventLog) -> None:
    one = msgspec.structs.replace(
        ONE, message_id="<a@b>", mailbox="Junk", source="dovecot", key=b"k"
    )
    assert log.add([one], now=NOW + 1) == [EventReceipt(1, new=True)]
    found = log.get(1)
    assert (found.what, found.way, found.time, found.heard) == (one.what, one.way, NOW, NOW + 1)
    assert (found.person, found.ident, found.message_id) == (ANN, 7, "<a@b>")
    assert (found.mailbox, found.source, found.decided, found.turn) == ("Junk", "dovecot", None, 0)
    assert log.raw(1) == one.raw
    with pytest.raises(KeyError):
        log.get(2)


def test_the_same_key_is_the_same_event_and_no_key_is_none(log: EventLog) -> None:
    keyed = msgspec.structs.replace(ONE, key=b"report 1")
    found = log.add([ONE, keyed, ONE, keyed], now=NOW) + log.add([keyed], now=NOW)
    assert found == [
        EventReceipt(1, True),
        EventReceipt(2, True),
        EventReceipt(3, True),
        EventReceipt(2, False),
        EventReceipt(2, False),
    ]


def test_peers_texts_of_any_sort_and_size_are_taken(log: EventLog) -> None:
    hostile = msgspec.structs.replace(
        ONE,
        message_id="\udc80\0é" * 5_000,
        mailbox="\ud800",
        source="\0",
        raw=b"\0" * (MOST_RAW + 9),
    )
    log.add([hostile], now=NOW)
    found = log.get(1)
    assert found.message_id.startswith("\\udc80\0é")
    assert len(found.message_id) < 7 * MOST_TEXT
    assert log.raw(1) == b"\0" * MOST_RAW


@pytest.mark.parametrize(("field", "value"), [("time", float("nan")), ("time", float("inf")), ("ident", 1 << 63), ("ident", -1)])  # fmt: skip
def test_what_no_store_takes_is_no_event(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=r"number|63 bits"):
        FeedbackEvent(
            **{"what": EventKind.READ, "way": EventChannel.HTTP, "time": NOW, field: value}  # type: ignore[arg-type]
        )  # any field of it


def test_decisions_have_turns_and_the_same_again_is_none(log: EventLog) -> None:
    log.add([ONE, ONE], now=NOW)
    assert [one.id for one in log.undecided(0, 9)] == [1, 2]
    assert log.decide([(1, YES), (2, NO)], now=NOW) == [1, 2]
    assert log.undecided(0, 9) == []
    assert [(one.id, one.turn, one.done) for one in log.undone(0, 9)] == [(1, 1, 0), (2, 1, 0)]
    log.note_effects_done([(1, 1, 5, ["word 5"]), (2, 1, 0, [])])
    assert log.undone(0, 9) == []
    assert (log.get(1).word, log.get(1).effects) == (5, ("word 5",))
    assert log.decide([(1, YES)], now=NOW) == []
    assert log.decide([(1, NO), (99, NO)], now=NOW + 1) == [1]
    assert [(one.id, one.turn, one.done) for one in log.undone(0, 9)] == [(1, 2, 1)]
    assert log.get(1).rules == ("DUPLICATE", "LATE")
    (before,) = log.decisions(1)
    assert (before.turn, before.time, before.counts, before.weight) == (1, NOW, True, 0.5)
    log.note_effects_done([(1, 1, 5, ["of long ago"])])
    assert log.get(1).done == 1, "an older turn says nothing of this one"


def test_what_persons_did_with_a_message_is_told_in_order(log: EventLog) -> None:
    read = FeedbackEvent(
        what=EventKind.READ, way=EventChannel.MAILBOX, time=NOW, person="bob@b.example", ident=7
    )
    log.add([read, ONE, msgspec.structs.replace(ONE, ident=8)], now=NOW)
    log.decide([(1, YES), (3, NO)], now=NOW)
    assert log.said(7) == [
        EventSummary("bob@b.example", EventKind.READ, NOW, True),
        EventSummary(ANN, EventKind.COMPLAINT, NOW, None),
    ]
    assert log.said(9) == []
    assert log.summaries_of(range(2_000)) == {
        7: log.said(7),
        8: [EventSummary(ANN, EventKind.COMPLAINT, NOW, False)],
    }


def test_only_what_is_done_is_forgotten(log: EventLog) -> None:
    log.add([ONE, ONE, ONE], now=NOW)
    log.decide([(1, YES), (2, YES)], now=NOW)
    log.note_effects_done([(1, 1, 0, [])])
    assert log.forget_raw(NOW + 1, 9) == 1
    assert [bool(log.raw(one)) for one in (1, 2, 3)] == [False, True, True]
    assert log.forget(NOW + 1, 9, passing=True) == 0
    assert log.forget(NOW + 1, 9, passing=False) == 1
    assert [one.id for one in log.last(9)] == [3, 2]
    log.add([ONE], now=NOW)
    assert log.last(1)[0].id == 4, "an id is never given again"


def test_a_raw_copy_that_is_damaged_is_none(log: EventLog) -> None:
    log.add([ONE], now=NOW)
    with log.transaction() as db:
        db.execute("UPDATE raw SET octets = x'00ff'")
    assert log.raw(1) == b""


def test_a_full_disk_writes_nothing_and_says_so(log: EventLog) -> None:
    log.add([ONE], now=NOW)
    with log.told() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 4}")
    noise = random.Random(1).randbytes(60_000)
    large = msgspec.structs.replace(ONE, raw=noise)
    with pytest.raises(StoreFull):
        log.add([ONE, large], now=NOW)
    assert [one.id for one in log.last(9)] == [1]
    with log.told() as db:
        db.execute("PRAGMA max_page_count = 1000000")
    assert log.add([ONE], now=NOW) == [EventReceipt(2, new=True)]


def test_a_damaged_file_a_newer_one_and_other_peoples_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"is damaged .*; what people had trained stays"):
        EventLog(tmp_path / "a")
    with sqlite3.connect(tmp_path / "b") as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    with pytest.raises(StoreError, match="not a log of events"):
        EventLog(tmp_path / "b")
    EventLog(tmp_path / "c").close()
    db = sqlite3.connect(tmp_path / "c")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreVersion):
        EventLog(tmp_path / "c")
    with pytest.raises(StoreError, match="nobody has said anything yet"):
        EventLog(tmp_path / "d", make=False)


def test_the_first_that_waits_is_told_by_when_it_was_heard(log: EventLog) -> None:
    assert log.first_waiting() is None
    log.add([ONE], now=NOW + 1)
    log.add([ONE, ONE], now=NOW + 5)
    assert log.first_waiting() == NOW + 1
    log.decide([(1, NO)], now=NOW + 9)
    log.note_effects_done([(1, 1, 0, ())])
    assert log.first_waiting() == NOW + 5
