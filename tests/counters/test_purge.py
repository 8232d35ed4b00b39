"""What one step of the purge frees, and how far it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.counters import record
from oborona.counters.lmdb_store import FIRST_RECORD
from oborona.counters.purge import DEAD_CELLS, TIDIED, PurgeResult, purge_from
from oborona.counters.record import FOREIGN_BUCKETS, cells
from oborona.counters.store import LmdbCounters
from oborona.counters.window import DAY_S, bucket_of
from oborona.counters.writer import PURGE_LEAST, PURGE_MOST, LmdbCounterWriter
from oborona.types import Amounts, CountedPieces, Shingle

from .conftest import NOON

NOW = bucket_of(NOON)
ONE = Amounts(seen=1)


def key(number: int) -> bytes:
    return b"\1\1" + number.to_bytes(8, "big")


def stored(*ages: int) -> bytes:
    return b"".join(cells(ONE, NOW - age) for age in ages)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[lmdb.Environment]:
    with lmdb.open(str(tmp_path), map_size=16 << 20, sync=False) as opened:
        yield opened


def purged(environment: lmdb.Environment, place: bytes, limit: int) -> PurgeResult:
    with environment.begin() as txn:
        return purge_from(txn, place, NOW, limit)


def fill(environment: lmdb.Environment, records: list[bytes]) -> None:
    with environment.begin(write=True) as txn:
        for number, one in enumerate(records):
            txn.put(key(number), one)


def test_a_step_ends_when_it_has_enough_to_tidy(environment: lmdb.Environment) -> None:
    worth = stored(*range(4_000, 4_000 + DEAD_CELLS), 1)
    fill(environment, [stored(5_000), worth, stored(1)] * (2 * TIDIED))
    first = purged(environment, FIRST_RECORD, 500)
    assert [one for one, new in first.changes if new] == [
        key(3 * number + 1) for number in range(TIDIED)
    ]
    assert [one for one, new in first.changes if not new] == [
        key(3 * number) for number in range(TIDIED + 1)
    ]
    assert (first.scanned, first.round_done) == (3 * TIDIED + 1, False)
    second = purged(environment, first.next, 500)
    assert second.round_done
    assert second.next == FIRST_RECORD
    assert first.scanned + second.scanned == 6 * TIDIED
    changed = [one for one, _new in first.changes + second.changes]
    assert sorted(changed) == [key(number) for number in range(6 * TIDIED) if number % 3 != 2]


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-200, 2_400),
                st.integers(-FOREIGN_BUCKETS, FOREIGN_BUCKETS),
            ),
            min_size=1,
            max_size=20,
        ),
        max_size=TIDIED,
    )
)
def test_it_frees_what_tidying_would_leave_empty(
    tmp_path_factory: pytest.TempPathFactory, ages: list[list[int]]
) -> None:
    records = [stored(*one) for one in ages]
    with lmdb.open(
        str(tmp_path_factory.mktemp("store")), map_size=1 << 20, sync=False
    ) as environment:
        fill(environment, records)
        changes = dict(purged(environment, FIRST_RECORD, 500).changes)
    for number, one in enumerate(records):
        tidied = record.tidy(one, NOW)
        if not tidied:
            assert changes.pop(key(number)) == b""
        else:
            assert changes.pop(key(number), tidied) == tidied
    assert changes == {}


async def test_what_a_look_found_goes_with_the_next_step(tmp_path: Path) -> None:
    writer = LmdbCounterWriter(tmp_path, doorkeeper_bytes=0)
    worker = LmdbCounters(tmp_path, "worker", environment=writer.environment)
    old, new, again = (
        CountedPieces(shingles=(Shingle(1, number),), pairs=()) for number in (1, 2, 3)
    )
    for pieces, age_days in ((old, 20), (again, 20), (new, 0)):
        worker.add(pieces, Amounts(seen=1), NOON - age_days * DAY_S)
        worker.flush(NOON)
        writer.step(NOON)
    assert len(writer.look(NOON, 500).changes) == 2
    assert writer.verify().records == 3
    worker.add(again, Amounts(seen=1), NOON)
    worker.flush(NOON)
    writer.step(NOON)
    assert writer.verify().records == 2
    assert await worker.read([Shingle(1, 3)], NOON) == [[[1, 0, 0, 0, 0, 0]] * 4]
    worker.close()
    writer.close()


def test_what_a_look_found_is_freed_by_the_next_when_nothing_comes(tmp_path: Path) -> None:
    writer = LmdbCounterWriter(tmp_path, doorkeeper_bytes=0)
    worker = LmdbCounters(tmp_path, "worker", environment=writer.environment)
    worker.add(
        CountedPieces(shingles=(Shingle(1, 1),), pairs=()), Amounts(seen=1), NOON - 20 * DAY_S
    )
    worker.flush(NOON)
    writer.step(NOON)
    assert writer.look(NOON, 500).changes
    assert writer.step(NOON) == 0
    assert writer.look(NOON, 500).changes == []
    assert writer.verify().records == 0
    worker.close()
    writer.close()


def test_a_look_is_short_however_long_the_last_one_is_ago(
    writer: LmdbCounterWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writer.environment.begin(write=True) as txn, txn.cursor() as cursor:
        cursor.putmulti(
            [(b"\1\1" + number.to_bytes(8, "big"), bytes(8)) for number in range(5_000)]
        )
    limits: list[int] = []
    monkeypatch.setattr(writer, "look", lambda _now, limit: limits.append(limit))
    for monotonic in (1e6, 1e6 + 0.05, 2e6):
        writer.chores(NOON, monotonic)
    assert limits[0] == limits[2] == PURGE_MOST
    assert limits[1] == PURGE_LEAST
