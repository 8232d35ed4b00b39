"""The journal in one process: written in batches, found again, bounded in memory, purged in
steps.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import Settings
from oborona.errors import StoreBusy, StoreError
from oborona.journal import journal as journal_module
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import FOUND, JournalReader
from oborona.types import Shingle
from tests.journal.entries import NOON, make_entry


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[JournalWriter]:
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as opened:
        yield opened


async def all_written(journal: JournalWriter, number: int) -> None:
    """Wait until so many are, without asking for it, as `flush` would."""
    async with asyncio.timeout(30):
        while journal.written < number:  # noqa: ASYNC110 - the journal tells nobody
            await asyncio.sleep(0.01)


async def test_an_entry_is_written_soon_and_by_itself(journal: JournalWriter) -> None:
    entry = make_entry()
    journal.append(entry)
    assert journal.waiting == 1
    await all_written(journal, 1)
    assert await journal.get(entry.id) == entry
    assert (journal.written, journal.lost) == (1, 0)


async def test_flush_writes_what_was_appended_before(journal: JournalWriter) -> None:
    entries = [make_entry(queue_id=f"Q{i}") for i in range(1234)]
    for entry in entries:
        journal.append(entry)
    await journal.flush()
    assert await journal.count() == 1234
    assert await journal.recent(5) == entries[:-6:-1]


@pytest.mark.parametrize("entries", [1, 5])
async def test_a_connection_that_is_gone_is_no_rows_fault(
    tmp_path: Path, entries: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as journal:
        for _ in range(entries):
            journal.append(make_entry())
        await journal._db._execute(journal._db._conn.close)  # type: ignore[no-untyped-call]
        with pytest.raises(StoreError, match="closed database"):
            await journal.flush()
        assert (journal.waiting, journal.lost) == (entries, 0)
    assert "cannot be stored" not in caplog.text
    assert (
        f"{entries} entries wait in {tmp_path / state_files.JOURNAL_SPOOL} for the next start"
    ) in caplog.text
    assert journal.lost == 0
    async with await JournalWriter.open(tmp_path / "journal.db") as following:
        async with asyncio.timeout(60):
            while await following.count() < entries:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def test_the_setting_and_the_default_are_one() -> None:
    assert Settings().journal.batch_s == journal_module.BATCH_S


async def test_flush_does_not_wait_for_the_batch(tmp_path: Path) -> None:
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=3600) as journal:
        journal.append(make_entry())
        async with asyncio.timeout(30):
            await journal.flush()
            await journal.flush()  # with nothing to do
        assert journal.written == 1


async def test_a_full_batch_does_not_wait_either(tmp_path: Path) -> None:
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=3600) as journal:
        for _ in range(journal_module.BATCH_ROWS):
            journal.append(make_entry())
        await all_written(journal, journal_module.BATCH_ROWS)


async def test_close_writes_everything_and_ends_it(tmp_path: Path) -> None:
    journal = await JournalWriter.open(tmp_path / "journal.db", batch_s=3600)
    entry = make_entry()
    journal.append(entry)
    await journal.close()
    await journal.close()
    with pytest.raises(RuntimeError, match="closed"):
        journal.append(entry)
    async with await JournalReader.open(tmp_path / "journal.db") as reader:
        assert await reader.get(entry.id) == entry


async def test_entries_are_found_by_queue_id_and_message_id(journal: JournalWriter) -> None:
    first = make_entry(queue_id="AAA", message_id="<1@x>")
    second = make_entry(queue_id="AAA", message_id="<2@x>")
    broken = make_entry(queue_id="\ud800\0", message_id="<\udcff\0@x>")
    nameless = make_entry(queue_id="", message_id="")
    for entry in (first, second, broken, nameless):
        journal.append(entry)
    await journal.flush()
    assert await journal.find(queue_id="AAA") == [second.id, first.id]
    assert await journal.find(message_id="<1@x>") == [first.id]
    assert await journal.find(queue_id="AAA", message_id="<2@x>") == [second.id]
    assert (
        await journal.find(queue_id="\ud800\0")
        == await journal.find(message_id="<\udcff\0@x>")
        == [broken.id]
    )
    assert await journal.find(queue_id="AAA' OR 1=1 --") == []
    assert await journal.get(nameless.id) == nameless
    assert await journal.get(nameless.id + 1) is None
    with pytest.raises(ValueError, match="what to find"):
        await journal.find()


async def test_searches_use_an_index_and_are_bounded(
    journal: JournalWriter, tmp_path: Path
) -> None:
    for _ in range(FOUND + 5):
        journal.append(make_entry(queue_id="AAA"))
    await journal.flush()
    assert len(await journal.find(queue_id="AAA")) == FOUND
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        for condition in ("queue_id = ?", "message_key = ?"):
            plan = db.execute(
                f"EXPLAIN QUERY PLAN SELECT id FROM verdict WHERE {condition}", ("x",)
            ).fetchall()
            assert "USING COVERING INDEX" in plan[0][3]


async def test_an_entry_that_cannot_be_packed_is_dropped_and_told(
    journal: JournalWriter, caplog: pytest.LogCaptureFixture
) -> None:
    good = make_entry()
    journal.append(make_entry(shingles=(Shingle(300, 1),)))  # a type has one byte
    journal.append(good)
    await journal.flush()
    assert journal.lost == 1
    assert await journal.get(good.id) == good
    assert "cannot be stored" in caplog.text


async def test_an_entry_that_sqlite_refuses_takes_no_other_with_it(
    journal: JournalWriter, caplog: pytest.LogCaptureFixture
) -> None:
    good, also_good = make_entry(), make_entry()
    for entry in (good, make_entry(size=2**70), make_entry(score=None), also_good):
        journal.append(entry)
    await journal.flush()
    assert journal.lost == 2
    assert await journal.count() == 2
    assert await journal.get(also_good.id) == also_good
    assert "cannot be stored" in caplog.text


async def test_the_same_id_twice_is_one_entry(
    journal: JournalWriter, caplog: pytest.LogCaptureFixture
) -> None:
    entry = make_entry()
    journal.append(entry)
    await journal.flush()
    journal.append(entry)
    await journal.flush()
    assert await journal.count() == 1
    assert "share an id" in caplog.text


async def test_a_locked_file_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oborona.sqlite_file.BUSY_S", 0.05)
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as journal:
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            entry = make_entry()
            journal.append(entry)
            with pytest.raises(StoreBusy):
                await journal.flush()
            assert journal.waiting == 1
            with pytest.raises(StoreBusy):
                await journal.purge(NOON, retention_s=0, max_rows=0)
            other.execute("ROLLBACK")
        await journal.flush()
        assert await journal.get(entry.id) == entry
        assert journal.lost == 0


async def test_what_waits_is_bounded_and_the_oldest_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("oborona.sqlite_file.BUSY_S", 0.05)
    monkeypatch.setattr(journal_module, "WAITING_BYTES", 50_000)
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as journal:
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            entries = [make_entry() for _ in range(100)]
            for entry in entries:
                journal.append(entry)
            with pytest.raises(StoreBusy):
                await journal.flush()
            assert journal.waiting + journal.lost == 100
            assert 10 < journal.waiting < 40
            other.execute("ROLLBACK")
        await journal.flush()
        assert await journal.recent(100) == entries[: journal.lost - 1 : -1]
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    assert "mail goes on" in caplog.messages[0]
    assert "written again" in caplog.messages[1]
    assert f"{journal.lost} entries were lost" in caplog.messages[1]


async def test_what_close_cannot_write_waits_for_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("oborona.sqlite_file.BUSY_S", 0.05)
    journal = await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01)
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        journal.append(make_entry())
        await journal.close()
    assert journal.lost == 0
    assert (
        f"1 entries wait in {tmp_path / state_files.JOURNAL_SPOOL} for the next start"
        in caplog.text
    )
    async with await JournalWriter.open(tmp_path / "journal.db") as following, asyncio.timeout(10):
        while await following.count() < 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_flush_whose_caller_gave_up_breaks_nothing(journal: JournalWriter) -> None:
    journal.append(make_entry())
    flush = asyncio.create_task(journal.flush())
    await asyncio.sleep(0)
    flush.cancel()
    journal.append(make_entry())
    await journal.flush()
    assert await journal.count() == 2


async def test_purge_by_age_goes_in_small_steps(journal: JournalWriter) -> None:
    old = [make_entry(time=NOON - 1000 + i) for i in range(50)]
    new = [make_entry(id=(1 << 62) + i, time=NOON + i) for i in range(5)]
    for entry in (*old, *new):
        journal.append(entry)
    await journal.flush()
    cut = NOON - 500
    # Ids carry the time; those of `old` were given by a clock that had been ahead, so make the line
    # by id.
    steps = []
    while gone := await journal.purge(cut + 10_000_000, retention_s=0, max_rows=10**9, limit=20):
        steps.append(gone)
    assert steps == [20, 20, 10]
    assert await journal.recent(100) == new[::-1]
    assert await journal.count() == 5
    assert await journal.get(old[0].id) is None


async def test_purge_by_number_keeps_the_newest(journal: JournalWriter) -> None:
    entries = [make_entry() for _ in range(30)]
    for entry in entries:
        journal.append(entry)
    await journal.flush()
    assert await journal.purge(0, retention_s=0, max_rows=12, limit=10) == 10
    assert await journal.purge(0, retention_s=0, max_rows=12, limit=10) == 8
    assert await journal.purge(0, retention_s=0, max_rows=12, limit=10) == 0
    assert await journal.recent(100) == entries[:-13:-1]


async def test_evidence_can_go_before_the_verdict(journal: JournalWriter, tmp_path: Path) -> None:
    entry = make_entry()
    journal.append(entry)
    await journal.flush()
    far = NOON + 100_000_000
    assert await journal.purge(far, retention_s=10**9, max_rows=10, evidence_s=0) == 1
    assert await journal.purge(far, retention_s=10**9, max_rows=10, evidence_s=0) == 0
    found = await journal.get(entry.id)
    assert found is not None
    assert (found.decided_by, found.facts, found.shingles) == (entry.decided_by, {}, ())
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        assert db.execute("SELECT count(*) FROM names").fetchone() == (0,)


async def test_names_that_are_in_use_stay(journal: JournalWriter) -> None:
    old, new = make_entry(facts={"a": 1}), make_entry(facts={"a": 2})
    journal.append(old)
    await journal.flush()
    journal.append(new)
    await journal.flush()
    assert await journal.purge(0, retention_s=0, max_rows=1) == 1
    found = await journal.get(new.id)
    assert found is not None
    assert found.facts == {"a": 2}


async def test_the_file_shrinks_once_much_of_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path) as journal:
        for _ in range(4000):
            journal.append(make_entry(facts={"pad": "x" * 3000}))
        await journal.flush()
        while await journal.purge(0, retention_s=0, max_rows=10):
            pass
        for _ in range(8):  # the keeper comes again
            await journal.purge(0, retention_s=0, max_rows=10)
        assert await journal.count() == 10
    assert path.stat().st_size < 8 << 20


async def test_a_reader_sees_what_a_daemon_writes_beside_it(
    journal: JournalWriter, tmp_path: Path
) -> None:
    async with await JournalReader.open(tmp_path / "journal.db") as reader:
        entry = make_entry()
        journal.append(entry)
        await journal.flush()
        assert await reader.get(entry.id) == entry
        assert await reader.count() == 1
        with pytest.raises(StoreError, match="readonly"):
            await reader._fetch("DELETE FROM verdict")


async def test_a_reader_of_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no journal"):
        await JournalReader.open(tmp_path / "journal.db")
    assert not (tmp_path / "journal.db").exists()


async def test_an_entry_that_is_found_is_found_whole_while_it_is_being_written(
    journal: JournalWriter,
) -> None:
    entries = [make_entry() for _ in range(400)]
    found = []

    async def look() -> None:
        for entry in entries:
            while (one := await journal.get(entry.id)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0)
            found.append(one)

    async def write() -> None:
        for entry in entries:
            journal.append(entry)
            await asyncio.sleep(0.002)

    await asyncio.gather(look(), write())
    assert found == entries
