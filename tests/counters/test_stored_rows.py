"""What reads remember: never longer than it is true, and never without a bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from oborona.counters import decode, record
from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.record import key_of
from oborona.counters.rows import NOTHING
from oborona.counters.stored_rows import KEPT, StoredRows
from oborona.counters.totals_cache import TotalsCache
from oborona.counters.window import SATURATED, bucket_of
from oborona.types import CounterPrefix, Shingle

from .conftest import NOON

BUCKET = bucket_of(NOON)
KEY = key_of(Shingle(8, 1), CounterPrefix.IN)


def long_record(seen: int, *, first: int = 1) -> bytes:
    """A record of many buckets; `first` is what the oldest counts, `seen` the newest."""
    cells = [
        record.cells([first if ago == 40 else 1, 0, 0, 0, 0, 2], BUCKET - ago)
        for ago in range(40, 0, -1)
    ]
    return b"".join(cells) + record.cells([seen, 0, 0, 0, 0, 0], BUCKET)


def short_record(*amounts: list[int]) -> bytes:
    return b"".join(record.cells(one, BUCKET - number) for number, one in enumerate(amounts))


SATURATING = [SATURATED, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "one",
    [
        b"",
        short_record([1, 0, 0, 0, 0, 0]),
        short_record([1, 2, 3, 4, 5, 6], [127, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]),
        short_record([300, 0, 0, 0, 0, 0], [0, 70_000, 0, 0, 0, 0]),
        short_record(SATURATING, [1, 0, 0, 0, 0, 0]),
        short_record(SATURATING, SATURATING),
        record.cells([5, 0, 0, 0, 0, 0], BUCKET - 5 * 144 - BUCKET % 144, day=True),
        record.cells([5, 0, 0, 0, 0, 0], BUCKET + 3),
        record.cells([5, 0, 0, 0, 0, 0], BUCKET - 30 * 144),
        long_record(1),
        long_record(100, first=126),
    ],
)
def test_totals_are_those_of_a_plain_decode(one: bytes) -> None:
    remembered = TotalsCache()
    for _ in range(2):
        assert remembered.totals([KEY, KEY], [one, b""], NOON) == [
            *decode.totals([one], NOON),
            NOTHING,
        ]


def test_a_record_that_changed_anywhere_is_decoded_anew() -> None:
    remembered = TotalsCache()
    for one in (
        long_record(1),
        long_record(2),
        long_record(2, first=9),
        long_record(2) + long_record(1)[:8],
    ):
        assert remembered.totals([KEY], [one], NOON) == decode.totals([one], NOON)


def test_another_bucket_is_another_answer() -> None:
    remembered = TotalsCache()
    for now in (NOON, NOON + 600, NOON + 86_400, NOON):
        assert remembered.totals([KEY], [long_record(3)], now) == decode.totals(
            [long_record(3)], now
        )


def test_what_is_remembered_has_a_bound() -> None:
    remembered = TotalsCache(limit=10)
    for number in range(100):
        remembered.totals([key_of(Shingle(8, number), CounterPrefix.IN)], [long_record(1)], NOON)
    assert len(remembered._starts) <= 11


class Store:
    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.environment = lmdb.open(str(directory))
        self.rows = StoredRows(DoorkeeperReader(directory))

    def put(self, key: bytes, one: bytes) -> None:
        with self.environment.begin(write=True) as txn:
            txn.put(key, one)

    def seen(self, key: bytes, rows: StoredRows | None = None, now: float = NOON) -> int:
        reading = rows or self.rows
        with self.environment.begin() as txn:
            reading.is_new(txn, self.environment, now)
            [row] = reading.read(txn, [key], now)
        return row[-1][0]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    yield one, other
    one.environment.close()
    other.environment.close()


def test_a_commit_is_seen_by_the_next_read(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    for seen in (1, 2, 3):
        store.put(KEY, record.cells([seen, 0, 0, 0, 0, 0], BUCKET))
        assert [store.seen(KEY) for _ in range(2)] == [seen] * 2


def test_another_store_at_the_same_transaction_is_another_store(
    stores: tuple[Store, Store],
) -> None:
    one, other = stores
    for number, store in enumerate(stores, 1):
        store.put(KEY, record.cells([number, 0, 0, 0, 0, 0], BUCKET))
    assert one.seen(KEY) == 1
    assert other.seen(KEY, one.rows) == 2


def test_a_key_without_a_record_is_looked_up_each_time(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    store.put(b"\1\1other", b"")
    assert store.seen(KEY) == 0
    assert KEY not in store.rows._rows


def test_rows_kept_have_a_bound(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    keys = [key_of(Shingle(8, number), CounterPrefix.IN) for number in range(KEPT + 10)]
    with store.environment.begin(write=True) as txn:
        for key in keys:
            txn.put(key, record.cells([1, 0, 0, 0, 0, 0], BUCKET))
    for key in keys:
        store.seen(key)
    assert len(store.rows._rows) <= KEPT


def test_a_damaged_record_counts_as_none(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    store.put(KEY, b"odd")
    assert store.seen(KEY) == 0
