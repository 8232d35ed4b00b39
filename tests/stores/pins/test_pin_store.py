"""The store of pins: what is kept, who did it, who waits for whom, and what happens when the file
is not what it should be.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import sqlite_file, state_files
from oborona.daemon.state import prepare_state
from oborona.errors import StoreBusy, StoreError, StoreVersion
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import NoPins, Pin, PinTable
from oborona.stores.pins import store as store_of
from oborona.stores.pins.rows import PinAction, PinChange, to_signed, to_unsigned
from oborona.stores.pins.store import CLEARED_S, LOG_S, PinStore
from oborona.types import Shingle

NOW = 1_795_000_000.0
HIGH = (1 << 64) - 3  # a hash that is below zero in SQLite


def pin(
    number: int = HIGH,
    flag: ReputationFlag = ReputationFlag.BAD,
    *,
    until: float = 0.0,
    since: float = NOW,
) -> Pin:
    return Pin(15, number, "192.0.2.1", flag, "sends nothing else", "anna", since, until)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.PINS


def test_the_last_word_on_an_entity_counts_and_every_word_is_in_the_log(path: Path) -> None:
    one, other = pin(), pin(7, ReputationFlag.GOOD, until=NOW + 60)
    with PinStore(path) as store:
        store.put([one])
        store.put([other])
        assert store.of(one.shingle, NOW) == one
        assert store.of(other.shingle, NOW + 59) == other
        assert store.of(other.shingle, NOW + 60) is None, "it is over"
        assert store.of(Shingle(16, HIGH), NOW) is None, "of another type"
        again = Pin(15, HIGH, "192.0.2.1", ReputationFlag.GOOD, "cleaned up", "bob", NOW + 5, 0.0)
        store.put([again])
        assert store.of(one.shingle, NOW + 5) == again
        assert [one.name for one in store.all(NOW + 61)] == ["192.0.2.1"]
        cleared = store.clear(
            one.shingle, "192.0.2.1", by="eve", reason="let its past speak", now=NOW + 9
        )
        assert cleared == again
        assert store.clear(one.shingle, "", by="eve", reason="again", now=NOW + 9) is None
        store.note(one.shingle, "192.0.2.1", "asked their postmaster", by="eve", now=NOW + 10)
        assert [each.text for each in store.notes(one.shingle)] == ["asked their postmaster"]
        told = [(each.by, each.what, each.flag, each.reason) for each in store.changes(one.shingle)]
    assert told == [
        ("eve", "note", "", "asked their postmaster"),
        ("eve", "clear", "good", "let its past speak"),
        ("bob", "pin", "good", "cleaned up"),
        ("anna", "pin", "bad", "sends nothing else"),
    ]
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_was_done_is_kept_for_its_time_and_no_longer(path: Path) -> None:
    with PinStore(path) as store:
        store.put([pin(1)])
        store.log(PinChange(at=NOW + LOG_S, by="anna", what=PinAction.FORGET, reason="x"))
        assert len(store.changes()) == 2
        store.log(PinChange(at=NOW + LOG_S + 1, by="anna", what=PinAction.FORGET, reason="x"))
        assert [each.what for each in store.changes()] == ["forget", "forget"]
        assert store.of(pin(1).shingle, NOW + LOG_S) is not None, "the pin itself stays"


def test_that_a_verdict_is_taken_back_is_noted_once(path: Path) -> None:
    change = PinChange(
        at=NOW, by="anna", what=PinAction.FORGIVE, reason="ours", name="00000000000AB"
    )
    with PinStore(path) as store, PinStore(path) as other:
        assert not store.taken_back(11)
        assert [one.take_back(11, change) for one in (store, other, store)] == [True, False, False]
        assert other.taken_back(11)
        assert len(store.changes()) == 1


def test_changes_since_a_version(path: Path) -> None:
    with PinStore(path) as store, PinStore(path) as other:
        store.put([pin(1), pin(2, until=NOW + 5)])
        first = other.since(-1, NOW)
        assert (first.whole, {one.hash for one in first.pins}) == (True, {1, 2})
        assert {one.hash for one in other.since(-1, NOW + 5).pins} == {1}
        store.clear(pin(1).shingle, "", by="", reason="", now=NOW)
        store.put([pin(3)])
        assert other.version() == first.version + 2
        later = other.since(first.version, NOW)
        assert ([one.hash for one in later.pins], [one.hash for one in later.gone]) == ([3], [1])
        store.put([pin(4, since=NOW + CLEARED_S + 1)])
        assert [one.hash for one in other.since(first.version, NOW).gone] == [], (
            "its row is gone, too"
        )
        assert [one.hash for one in other.all(NOW + CLEARED_S + 1)] == [4, 3]


@pytest.mark.parametrize(
    ("name", "reason", "until"),
    [
        ("x" * 1001, "", 0.0),
        ("", "x" * 1001, 0.0),
        ("", "two\nlines", 0.0),
        ("", "\x1b[2J", 0.0),
        ("", "\ud800", 0.0),
        ("", "", float("nan")),
        ("", "", float("inf")),
        ("", "", -1.0),
    ],
)
def test_what_no_file_should_hold_is_refused_and_nothing_is_done(
    path: Path, name: str, reason: str, until: float
) -> None:
    with PinStore(path) as store:
        broken = Pin(15, 1, name, ReputationFlag.BAD, reason, "anna", NOW, until)
        with pytest.raises(StoreError):
            store.put([pin(2), broken])
        assert (store.version(), store.all(NOW), store.changes()) == (0, [], [])


def test_no_more_are_in_force_than_workers_hold_and_fewer_is_always_possible(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_of, "MAX_PINS", 2)
    with PinStore(path) as store:
        store.put([pin(1), pin(2), pin(2)])
        with pytest.raises(StoreError, match="more than 2 manual overrides would be in force"):
            store.put([pin(3)])
        assert store.of(pin(3).shingle, NOW) is None
        store.put([pin(1, ReputationFlag.GOOD)])
        store.clear(pin(2).shingle, "", by="", reason="", now=NOW)
        store.put([pin(3)])


def test_a_file_that_is_not_ours_damaged_or_newer_is_refused_and_left_alone(path: Path) -> None:
    with pytest.raises(StoreError, match="nobody has set a manual override yet"):
        PinStore(path, make=False)
    path.write_bytes(b"not SQLite at all, but long enough to be looked at" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged.*\.recover"):
        PinStore(path)
    assert path.read_bytes() == before
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()
    with pytest.raises(StoreError, match="not a store of manual overrides of Oborona"):
        PinStore(path)
    path.unlink()
    PinStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreVersion, match="written by a newer one"):
        PinStore(path)


def test_a_file_that_is_half_there_is_damaged_not_empty(path: Path) -> None:
    with PinStore(path) as store:
        store.put([pin(number) for number in range(2000)])
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(StoreError, match="damaged"), PinStore(path) as store:
        store.all(NOW)


def test_who_finds_it_locked_waits_and_is_told_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_S", 0.05)
    with PinStore(path) as store, PinStore(path) as other:
        other._db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            store.put([pin()])
        assert store.version() == 0, "readers wait for nobody"
        other._db.execute("ROLLBACK")
        store.put([pin()])


def test_many_write_at_once_and_nothing_of_it_is_lost_or_done_twice(path: Path) -> None:
    PinStore(path).close()
    change = PinChange(at=NOW, by="anna", what=PinAction.FORGIVE, reason="x")

    def write(writer: int) -> int:
        first = 0
        with PinStore(path) as store:
            for number in range(10):
                store.put([pin(100 * writer + number), pin(7, ReputationFlag.GOOD)])
                store.note(pin(7).shingle, "", f"{writer} {number}", by="anna", now=NOW)
                first += store.take_back(number, change)
        return first

    with ThreadPoolExecutor(4) as pool:
        firsts = sum(pool.map(write, range(1, 5)))
    with PinStore(path) as store:
        assert firsts == 10
        assert store.version() == 40
        assert len(store.all(NOW)) == 41
        assert len({note.text for note in store.notes(pin(7).shingle)}) == 40
        assert len(store.changes(limit=1000)) == 80 + 40 + 10


def test_a_service_begins_a_store_refuses_a_newer_one_and_goes_on_without_a_damaged_one(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(path.parent)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreVersion, match="written by a newer one"):
        prepare_state(path.parent)
    path.write_bytes(b"\xff" * 5000)
    prepare_state(path.parent)
    assert [one.message for one in caplog.records] == ["manual overrides are not used"]
    assert path.read_bytes() == b"\xff" * 5000


@given(st.integers(0, (1 << 64) - 1))
def test_every_hash_comes_back_as_it_was(number: int) -> None:
    assert to_unsigned(to_signed(number)) == number
    assert -(1 << 63) <= to_signed(number) < 1 << 63


def test_a_book_knows_what_is_in_force() -> None:
    book = PinTable([pin(1), pin(2, ReputationFlag.GOOD, until=NOW + 5)])
    book.put(pin(3, ReputationFlag.POOR))
    assert book.flags(NOW) == {"good": 1, "unknown": 0, "poor": 1, "bad": 1}
    assert book.flags(NOW + 5)["good"] == 0
    assert book.of(pin(2).shingle, NOW + 5) is None
    book.drop(pin(1).shingle)
    book.drop(Shingle(15, 99))
    assert book.of(pin(1).shingle, NOW) is None
    assert pin(3).say == "set to bad by anna: sends nothing else"
    assert NoPins().of(pin(3).shingle, NOW) is None


def test_a_store_is_opened_while_others_close_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who closes it last takes away what SQLite keeps beside it, between any two looks at that."""
    PinStore(path).close()
    assert not sqlite_file.part_of(path, "-wal").exists()
    monkeypatch.setattr(Path, "exists", lambda _: True)  # it was there a moment ago
    with PinStore(path, make=False) as store:
        assert store.all(NOW) == []
