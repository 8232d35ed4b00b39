"""What a word counts: once, where it was said to be counted, and gone again when it is taken back.

Whoever is killed when.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oborona import sqlite_file, state_files
from oborona.counters.memory import MemoryCounters
from oborona.counters.readonly import open_reader
from oborona.counters.window import bucket_of
from oborona.counters.write_only import WriteOnlyCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreError
from oborona.feedback import schema
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import Label, LabelKind, LabelSource, LabelState
from oborona.feedback.label_counter import KEPT_S, LabelCounter, amounts_of
from oborona.feedback.label_outbox import LabelCountChange, LabelOutbox
from oborona.feedback.label_store import LabelStore, pack_shingles
from oborona.feedback.training_store import TrainingStore, WeightsSnapshot
from oborona.types import Amounts, CountedPieces, Metric, Shingle, Window
from tests.feedback.words import NOW, letter, mixed, said, word

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, time
from pathlib import Path
from oborona.counters.write_only import WriteOnlyCounters
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label_counter import LabelCounter
state = Path(sys.argv[1])
counting = LabelCounter(WriteOnlyCounters(state / "counters", "trainer"))
connection = FeedbackConnection(state / "feedback.db")
print("ready", flush=True)
while True:
    counting.step(connection, float(sys.argv[2]))
    time.sleep(0.001)
"""


class Kept(MemoryCounters):
    """Counters in memory that can be made to refuse what is handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = False
        self.flushes = 0

    def flush(self, now: float) -> int:
        del now
        self.flushes += 1
        if self.stuck and self.flushes == 1:
            raise StoreError("no room")
        return 1


@pytest.fixture
def counters() -> Kept:
    return Kept()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LabelStore]:
    with LabelStore(tmp_path / state_files.FEEDBACK) as made:
        yield made


def counted_of(counters: MemoryCounters, one: Label, now: float = NOW) -> list[Amounts]:
    """Return the different amounts that the pieces of a word count in two weeks."""
    reading = counters.read(one.pieces, now)
    try:
        reading.send(None)
    except StopIteration as ended:
        return sorted({Amounts(*row[Window.FORTNIGHT]) for row in ended.value})
    raise AssertionError("a read waited")


def run(counting: LabelCounter, store: FeedbackConnection, now: float = NOW) -> None:
    while counting.step(store, now):
        pass


def held(store: FeedbackConnection) -> dict[int, int]:
    return dict(store.rows("SELECT id, held FROM counted ORDER BY id"))


def test_a_word_counts_once_and_its_source_says_as_what() -> None:
    for source, kind, amounts in (
        (LabelSource.TRAP, LabelKind.SPAM, Amounts(traps=1)),
        (LabelSource.COMMAND, LabelKind.SPAM, Amounts(complaints=1)),
        (LabelSource.COMPLAINT, LabelKind.SPAM, Amounts(complaints=1)),
        (LabelSource.PARDON, LabelKind.HAM, Amounts(pardons=1)),
    ):
        assert amounts_of(LabelCountChange(1, kind, source, (Shingle(1, 2),), True, NOW)) == amounts


def test_a_word_that_is_taken_back_leaves_nothing(store: LabelStore, counters: Kept) -> None:
    """It is taken back days later, from where it was counted, and what others said of the same
    pieces stays.
    """
    counting, later = LabelCounter(counters), NOW + 5 * 86_400
    joe, ann = (
        word(1, LabelKind.SPAM, person=person) for person in ("joe@b.example", "ann@b.example")
    )
    store.add([joe], now=NOW)
    run(counting, store)
    run(counting, store)
    assert counted_of(counters, joe) == [Amounts(complaints=1)]
    store.add([ann], now=later)
    run(counting, store, later)
    assert counted_of(counters, joe, later) == [Amounts(complaints=2)]
    store.take_back([1], reason="wrong", by="admin", now=later)
    run(counting, store, later)
    assert counted_of(counters, joe, later) == [Amounts(complaints=1)]
    only_ann = MemoryCounters()
    only_ann.add(CountedPieces(shingles=ann.pieces, pairs=()), Amounts(complaints=1), later)
    assert counters._kept[next(iter(counters._kept))][bucket_of(NOW)] == [0] * 6
    for now in (later, later + 12 * 86_400):
        assert counted_of(counters, joe, now) == counted_of(only_ann, joe, now)
    assert held(store) == {2: 1}, "its pieces are forgotten, too"


def test_the_opposite_word_takes_the_place_of_the_first(store: LabelStore, counters: Kept) -> None:
    counting = LabelCounter(counters)
    for kind, amounts in (
        (LabelKind.SPAM, Amounts(complaints=1)),
        (LabelKind.HAM, Amounts(pardons=1)),
    ) * 2:
        one = said(letter(1, LabelKind.SPAM), kind, person="ann@b.example")
        store.add([one], now=NOW)
        run(counting, store)
        assert counted_of(counters, one) == [amounts]


def test_a_word_that_is_taken_back_before_it_is_counted_is_never_counted(
    store: LabelStore, counters: Kept
) -> None:
    one = word(1, LabelKind.SPAM)
    store.add([one], now=NOW)
    store.take_back([1], reason="wrong", by="admin", now=NOW)
    run(LabelCounter(counters), store)
    assert counted_of(counters, one) == [Amounts()]
    assert held(store) == {}


def test_what_cannot_be_learned_counts_nothing(
    store: LabelStore, counters: Kept, tmp_path: Path
) -> None:
    counting, one = LabelCounter(counters), word(1, LabelKind.SPAM)
    store.add([one], now=NOW)
    run(counting, store)
    with TrainingStore(tmp_path / state_files.FEEDBACK) as lessons, lessons.transaction():
        lessons.refuse(1, "of another layout", NOW)
    run(counting, store)
    assert counted_of(counters, one) == [Amounts()]
    assert held(store) == {}


def test_a_roll_back_takes_the_counts_with_it_and_brings_them_back_where_they_were(
    store: LabelStore, counters: Kept, tmp_path: Path
) -> None:
    counting = LabelCounter(counters)
    words = [word(number, LabelKind.SPAM) for number in range(2)]
    with TrainingStore(tmp_path / state_files.FEEDBACK) as lessons:
        for number, one in enumerate(words, 1):
            store.add([one], now=NOW)
            with lessons.transaction():
                lessons.learned([(number, 0.0)], NOW)
            run(counting, store, NOW)
            when = NOW + number * 86_400
            lessons.add_snapshot(WeightsSnapshot(number, when, "x", number, 0, number, 0), 0)
    before = [counted_of(counters, one, NOW + 3 * 86_400) for one in words]
    first, second, later = bucket_of(NOW), bucket_of(NOW + 4 * 86_400), NOW + 4 * 86_400
    assert store.roll_back(1, by="ann", now=later) == (1, 0)
    run(counting, store, later)
    only = [one for one in words[1].pieces if one not in words[0].pieces]
    assert only
    assert [counters._kept[key][first] for key in counters._kept if key[1] in only] == [
        [0] * 6
    ] * len(only)
    assert store.roll_back(2, by="ann", now=later) == (0, 1)
    run(counting, store, later)
    assert [counted_of(counters, one, NOW + 3 * 86_400) for one in words] == before
    assert not any(second in buckets for buckets in counters._kept.values()), (
        "in the bucket where they were"
    )


def test_many_words_are_counted_some_at_a_time(store: LabelStore, counters: Kept) -> None:
    counting = LabelCounter(counters)
    store.add(mixed(130), now=NOW)
    assert [counting.step(store, NOW) for _ in range(3)] == [100, 30, 0]
    store.take_back(range(1, 131), reason="x", by="ann", now=NOW)
    run(counting, store)
    assert not any(
        any(counts) for buckets in counters._kept.values() for counts in buckets.values()
    )
    assert held(store) == {}


def test_a_full_disk_counts_nothing_twice(store: LabelStore, counters: Kept) -> None:
    counting, one, other = LabelCounter(counters), word(1, LabelKind.SPAM), word(2, LabelKind.HAM)
    counters.stuck = True
    store.add([one], now=NOW)
    with pytest.raises(StoreError, match="no room"):
        counting.step(store, NOW)
    store.add([other], now=NOW)
    for _ in range(3):
        assert counting.step(store, NOW) == 0
    assert held(store) == {1: 2, 2: 0}
    counters.stuck = False
    run(counting, store)
    assert held(store) == {1: 1, 2: 1}
    assert max(max(amounts) for amounts in counted_of(counters, one)) == 1


@pytest.mark.parametrize("killed", ["before", "after"])
@pytest.mark.parametrize("change", ["added", "taken back"])
def test_what_is_in_doubt_is_left_as_it_is(store: LabelStore, killed: str, change: str) -> None:
    """Killed between the two notes: before the counters had it, or behind that."""
    one = word(1, LabelKind.SPAM)
    store.add([one], now=NOW)
    counters = Kept()
    if change == "taken back":
        run(LabelCounter(counters), store)
        store.take_back([1], reason="x", by="ann", now=NOW)
    [begun] = LabelOutbox(store).begin(100, NOW)
    assert begun.wanted == (change == "added")
    if killed == "after":
        LabelCounter(counters)._make(begun)
    left = counted_of(counters, one)
    for _ in range(2):
        run(LabelCounter(counters), store, NOW + 600)
        store.take_back([1], reason="x", by="ann", now=NOW)
    assert counted_of(counters, one, NOW + 600) == left
    assert left == [Amounts(complaints=int((killed == "after") == (change == "added")))]
    assert held(store) == {1: 2}


def test_what_is_out_of_the_windows_is_not_remembered(store: LabelStore, counters: Kept) -> None:
    counting = LabelCounter(counters)
    store.add(mixed(2), now=NOW)
    run(counting, store, NOW)
    run(counting, store, NOW + KEPT_S - 60)
    assert held(store) == {1: 1, 2: 1}
    run(counting, store, NOW + KEPT_S + 3600)
    assert held(store) == {}
    store.take_back([1], reason="x", by="ann", now=NOW)
    run(counting, store, NOW + KEPT_S + 3600)


def test_a_word_that_is_forgotten_is_no_longer_remembered_to_count(
    store: LabelStore, counters: Kept
) -> None:
    store.add(mixed(2), now=NOW)
    run(LabelCounter(counters), store)
    with store.transaction() as db:
        db.execute("DELETE FROM word WHERE id = 1")
    assert held(store) == {2: 1}


def test_the_words_of_an_older_file_are_counted_if_they_were_not(
    tmp_path: Path, counters: Kept
) -> None:
    """What was counted then has no time: it stays, and is not taken back from anywhere."""
    words = mixed(4)
    with closing(sqlite3.connect(tmp_path / state_files.FEEDBACK, isolation_level=None)) as db:
        shared = schema.SHARED.format
        sqlite_file.migrate(db, shared._replace(migrations=shared.migrations[:1]))
        for ident, one in enumerate(words, 1):
            db.execute(
                "INSERT INTO word (time, kind, source, person, weight, digest, message_id, rank, "
                "state, changed, counted)"
                " VALUES (?, ?, 'command', '', 1, ?, '', 0, ?, ?, ?)",
                (
                    NOW,
                    one.kind,
                    one.digest,
                    "refused" if ident == 4 else "learned",
                    NOW,
                    int(ident == 1),
                ),
            )
            db.execute(
                "INSERT INTO example VALUES (?, ?, 0, 'x', ?, ?)",
                (ident, one.kind, one.features, pack_shingles(one.pieces)),
            )
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        assert held(store) == {2: 0, 3: 0}
        run(LabelCounter(counters), store)
        assert held(store) == {2: 1, 3: 1}
        store.take_back([1, 2, 3], reason="x", by="ann", now=NOW)
        run(LabelCounter(counters), store)
        assert store.rows("SELECT id, features FROM example") == [(4, words[3].features)]
    assert {
        tuple(counts) for buckets in counters._kept.values() for counts in buckets.values()
    } == {(0,) * 6}


def test_a_counter_that_is_killed_again_and_again_never_counts_twice(tmp_path: Path) -> None:
    """The real spool and store: what is not in doubt is exactly what stands, and doubt adds at most
    what is in it.
    """
    words, drawn, directory = mixed(150), random.Random(3), tmp_path / "counters"
    LabelStore(tmp_path / state_files.FEEDBACK).close()
    started: list[subprocess.Popen[str]] = []
    try:
        for first in range(0, 150, 30):
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(tmp_path), str(NOW)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            started.append(process)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with LabelStore(tmp_path / state_files.FEEDBACK) as store:
                for one in words[first : first + 30]:
                    store.add([one], now=NOW)
                store.take_back(range(max(first - 9, 1), first + 9), reason="x", by="ann", now=NOW)
            time.sleep(drawn.random() * 0.02)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    finally:
        for process in started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    spooled = WriteOnlyCounters(directory, "last")
    with LabelStore(tmp_path / state_files.FEEDBACK) as store:
        run(LabelCounter(spooled), store)
        ledger = held(store)
    spooled.close()
    writer = LmdbCounterWriter(directory, doorkeeper_bytes=0)
    while writer.step(NOW):
        pass
    assert writer.verify().clean
    writer.close()
    sure, doubted = MemoryCounters(), MemoryCounters()
    for ident, state in ledger.items():
        one = words[ident - 1]
        amounts = Amounts(complaints=1) if one.kind is LabelKind.SPAM else Amounts(pardons=1)
        (sure if state == 1 else doubted).add(
            CountedPieces(shingles=one.pieces, pairs=()), amounts, NOW
        )
    shingles = sorted({piece for one in words for piece in one.pieces})
    with open_reader(directory) as stored:
        for row, least, more in zip(
            *(_read(one, shingles) for one in (stored, sure, doubted)), strict=True
        ):
            for metric in (Metric.COMPLAINTS, Metric.PARDONS):
                assert least[metric] <= row[metric] <= least[metric] + more[metric]


def _read(counters: object, shingles: list[Shingle]) -> list[list[int]]:
    reading = counters.read(shingles, NOW)  # type: ignore[attr-defined]
    try:
        reading.send(None)
    except StopIteration as ended:
        return [row[Window.FORTNIGHT] for row in ended.value]
    raise AssertionError("a read waited")


def test_a_file_of_before_events_keeps_its_words_and_takes_those_of_events(
    tmp_path: Path, counters: Kept
) -> None:
    shared, path = schema.SHARED.format, tmp_path / state_files.FEEDBACK
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        sqlite_file.migrate(db, shared._replace(migrations=shared.migrations[:2]))
        db.execute(
            "INSERT INTO word (time, kind, source, person, weight, digest, message_id, rank, "
            "state, changed)"
            " VALUES (1, 'spam', 'command', '', 1, x'01', '', 0, 'learned', 1)"
        )
        db.execute(
            "INSERT INTO counted VALUES (1, ?, 1, 1, ?)", (pack_shingles((Shingle(1, 2),)), NOW)
        )
    counters.add(CountedPieces(shingles=(Shingle(1, 2),), pairs=()), Amounts(complaints=1), NOW)
    one = msgspec.structs.replace(
        word(1, LabelKind.SPAM, person="ann@b.example"),
        features=b"",
        event=4,
        mark=b"m",
        pieces=(Shingle(1, 2),),
    )
    with LabelStore(path) as store:
        assert store.get(1).state is LabelState.LEARNED
        first = store.add([one], now=NOW)
        assert store.add([one], now=NOW) == first, "one word follows from a decision"
        run(LabelCounter(counters), store)
        assert counted_of(counters, one) == [Amounts(complaints=2)]
        assert [(one.word, one.wanted) for one in LabelOutbox(store).news(0, 9)] == [(2, True)]
        store.take_back([1, 2], reason="wrong", by="ann", now=NOW)
        run(LabelCounter(counters), store)
        assert counted_of(counters, one) == [Amounts()]
        assert [(one.word, one.wanted) for one in LabelOutbox(store).news(1, 9)] == [
            (1, False),
            (2, False),
        ]
        assert LabelOutbox(store).newest() == 3
        assert LabelOutbox(store).forget_news(NOW + 1, 2) == 2
        assert [one.place for one in LabelOutbox(store).news(0, 9)] == [3]
