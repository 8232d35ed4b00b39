"""What reads remember: never longer than it is true, and never without a bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from oborona.counters import record
from oborona.counters.doorkeeper_file import DoorkeeperReader
from oborona.counters.record import key_of
from oborona.counters.stored_rows import KEPT, StoredRows
from oborona.counters.window import bucket_of
from oborona.types import CounterPrefix, Shingle

from .conftest import NOON

BUCKET = bucket_of(NOON)
KEY = key_of(Shingle(8, 1), CounterPrefix.IN)


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
