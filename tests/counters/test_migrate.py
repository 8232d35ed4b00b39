"""A store of an older Oborona: read as it is, and brought on by the writer in one transaction."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

from oborona.counters import migrate as migration
from oborona.counters.lmdb_store import (
    NEWEST_KEY,
    POSITION_KEY,
    TAKES_NOTHING,
    U32,
    VERSION,
    VERSION_KEY,
)
from oborona.counters.migrate import MIGRATIONS, migrate
from oborona.counters.readonly import open_reader
from oborona.counters.record import cells, key_of
from oborona.counters.window import bucket_of
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreError
from oborona.types import CounterPrefix, Shingle, Window

from .conftest import NOON

SUBJECT = Shingle(8, 0x0123456789ABCDEF)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A store as version 1 wrote it: version, newest bucket, a spool's position, records.

    Nothing else.
    """
    bucket = bucket_of(NOON)
    with (
        lmdb.open(str(tmp_path), map_size=1 << 20) as environment,
        environment.begin(write=True) as txn,
    ):
        txn.put(VERSION_KEY, U32.pack(1))
        txn.put(NEWEST_KEY, bucket.to_bytes(8, "little"))
        txn.put(POSITION_KEY + b"worker-0.0123456789abcdef0123", bytes(20))
        txn.put(key_of(SUBJECT, CounterPrefix.IN), cells([7, 2, 0, 0, 0, 0], bucket))
        txn.put(key_of(SUBJECT, CounterPrefix.OUT), cells([300, 0, 0, 0, 0, 1], bucket - 144))
    return tmp_path


async def counted(directory: Path) -> list[list[int]]:
    with open_reader(directory) as store:
        return [
            (await store.read([SUBJECT], NOON, prefix))[0][Window.FORTNIGHT]
            for prefix in (CounterPrefix.IN, CounterPrefix.OUT)
        ]


def version_of(directory: Path) -> int:
    with lmdb.open(str(directory)) as environment, environment.begin() as txn:
        return int.from_bytes(txn.get(VERSION_KEY, b""), "little")


async def test_a_reader_takes_an_older_store_as_it_is(first: Path) -> None:
    assert await counted(first) == [[7, 2, 0, 0, 0, 0], [300, 0, 0, 0, 0, 1]]
    assert version_of(first) == 1


async def test_the_writer_brings_it_on_and_says_so_once(first: Path) -> None:
    reports: list[str] = []
    writer = LmdbCounterWriter(first, report=reports.append)
    assert writer.verify().clean
    assert writer.verify().records == 2
    writer.close()
    assert ["from version 1 to" in report for report in reports] == [
        False,
        True,
    ]  # it is read as a whole first
    assert version_of(first) == TAKES_NOTHING
    assert await counted(first) == [[7, 2, 0, 0, 0, 0], [300, 0, 0, 0, 0, 1]]
    LmdbCounterWriter(first, report=reports.append).close()
    assert len(reports) == 2


def test_there_is_a_way_from_every_version() -> None:
    assert sorted(MIGRATIONS) == list(range(1, VERSION))


def test_steps_are_made_in_order_in_one_transaction(first: Path) -> None:
    def second(txn: lmdb.Transaction[bytes]) -> None:
        assert txn.get(b"\0third") is None
        txn.put(b"\0second", b"2")

    def third(txn: lmdb.Transaction[bytes]) -> None:
        txn.put(b"\0third", txn.get(b"\0second", b"") + b"3")

    with lmdb.open(str(first)) as environment:
        with environment.begin(write=True) as txn:
            assert migrate(txn, 4, {1: None, 2: second, 3: third}) == 1
        with environment.begin() as txn:
            assert (txn.get(b"\0third"), txn.get(VERSION_KEY)) == (b"23", U32.pack(4))


def test_a_step_that_fails_leaves_the_store_as_it_was(
    first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(txn: lmdb.Transaction[bytes]) -> None:
        txn.delete(key_of(SUBJECT, CounterPrefix.IN))
        raise StoreError("half of it")

    monkeypatch.setattr(migration.migrate, "__defaults__", (VERSION, {1: half}))
    with pytest.raises(StoreError, match="half of it"):
        LmdbCounterWriter(first)
    assert version_of(first) == 1
    with lmdb.open(str(first)) as environment, environment.begin() as txn:
        assert txn.get(key_of(SUBJECT, CounterPrefix.IN))


def test_a_version_that_nothing_leads_on_from_is_refused(first: Path) -> None:
    with lmdb.open(str(first)) as environment, environment.begin(write=True) as txn:
        txn.put(VERSION_KEY, U32.pack(0))
    with pytest.raises(StoreError, match="nothing makes version 1"):
        LmdbCounterWriter(first)
    assert version_of(first) == 0
