"""A journal that rots, or is taken away, while its writers and readers have it open."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files, store_birth
from oborona.errors import StoreError
from oborona.journal import batch_insert, rows, schema
from oborona.journal.index.follower import IndexFollower
from oborona.journal.index.index import JournalIndex
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalReader
from oborona.journal.spool import JournalSpool
from oborona.journal.watch import watch_journal
from oborona.lock import hold
from oborona.recheck.keeper import keep
from oborona.sqlite_damage import set_aside
from tests.journal.entries import NOON, make_entry

PATIENCE_S = 20.0


async def fill(journal: JournalWriter, number: int) -> None:
    for _ in range(number):
        journal.append(make_entry())
    await journal.flush()


def spoil(path: Path) -> None:
    """Overwrite the leaves of the tables, as a rotten disk would under everybody's feet.

    The schema stays.
    """
    with closing(sqlite3.connect(path)) as db:
        # Who reads in this moment holds it up, and a writer would go on in pages that it remembers.
        while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            time.sleep(0.01)
        (size,) = db.execute("PRAGMA page_size").fetchone()
        roots = [
            root for (root,) in db.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
        ]
    with path.open("r+b") as file:
        for root in roots:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)


@asynccontextmanager
async def filled(path: Path, number: int) -> AsyncIterator[JournalWriter]:
    """Give the journal of a new file, with so many entries."""
    schema.prepare(path)
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        await fill(journal, number)
        yield journal


@asynccontextmanager
async def keeping(path: Path) -> AsyncIterator[None]:
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(
        keep(
            path,
            retention_s=1e6,
            max_rows=10**6,
            stop=stop,
            ready=ready.set,
            round_s=0.1,
            clock=lambda: NOON,  # of the entries: by the clock on the wall they are to be purged
        )
    )
    await ready.wait()
    try:
        yield
    finally:
        stop.set()
        await task


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if seen():
                return
            await asyncio.sleep(0.05)


async def until_set_aside(path: Path) -> Path:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = [
                one for one in path.parent.glob(f"{path.name}.damaged-*") if one.name[-4] != "-"
            ]
            if found and path.exists() and not schema.suspicion(path):
                return found[0]
            await asyncio.sleep(0.05)


async def test_one_that_rots_is_set_aside_and_what_waits_goes_into_the_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    schema.prepare(path)
    async with await JournalWriter.open(path, batch_s=0.01) as worker, keeping(path):
        await fill(worker, 300)
        await asyncio.to_thread(spoil, path)
        entry = make_entry()
        worker.append(entry)
        aside = await until_set_aside(path)
        await until(lambda: not worker.waiting)
        await fill(worker, 5)
        assert worker.lost == 0
        assert await worker.get(entry.id) is not None, "it waited in memory"
        assert await worker.count() == 6
    assert aside.stat().st_size
    assert "begun anew" in caplog.text
    record = store_birth.read_record(tmp_path, path.name)
    assert record is not None
    assert "set aside" in record.lost
    assert schema.prepare(path) is None, "nobody who left the old one has harmed the new one"
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 6


async def test_damage_that_a_reader_meets_is_looked_at_by_the_keeper(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with filled(path, 300):
        pass
    await asyncio.to_thread(spoil, path)
    async with await JournalReader.open(path) as reader:
        with pytest.raises(StoreError, match="damaged"):
            await reader.recent(100)
        assert "damaged" in schema.suspicion(path)
        async with watch_journal(path, asyncio.Event()):
            await until_set_aside(path)
        assert not reader.in_place()


async def test_a_sound_journal_stays_whatever_somebody_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    async with filled(path, 50) as worker:
        schema.mark_suspect(path, "it is damaged, says somebody")
        async with watch_journal(path, asyncio.Event()):
            await until(lambda: not schema.suspicion(path))
        assert await worker.count() == 50
    assert not list(tmp_path.glob("journal.db.damaged*"))
    assert "all of it can be read" in caplog.text


async def test_one_that_is_taken_away_is_begun_anew_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    async with filled(path, 10) as worker:
        for one in tmp_path.glob("journal.db*"):
            one.unlink()
        await fill(worker, 3)
        assert await worker.count() == 3
    assert "begun anew" in caplog.text
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 3


async def test_two_writers_leave_one_that_is_set_aside_and_neither_harms_the_new_one(
    tmp_path: Path,
) -> None:
    """SQLite takes a log away by its name when the last connection to a file closes: it must not be
    the new file's.
    """
    path = tmp_path / "journal.db"
    async with filled(path, 300) as first, await JournalWriter.open(path, batch_s=0.01) as second:
        await fill(second, 300)
        await asyncio.to_thread(spoil, path)
        schema.mark_suspect(path, "damaged")
        assert await asyncio.to_thread(schema.prepare, path) is not None
        await fill(first, 3)
        await fill(second, 4)
        assert await first.count() == 7
        assert (first.lost, second.lost) == (0, 0)
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 7
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_the_index_follows_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.prepare(path)
    stop = asyncio.Event()
    following = IndexFollower(JournalIndex(tmp_path / "index", path), retry_s=0.1)
    task = asyncio.create_task(following.run(stop))
    async with filled(path, 20) as worker:
        await asyncio.to_thread(spoil, path)
        schema.mark_suspect(path, "damaged")
        assert await asyncio.to_thread(schema.prepare, path) is not None
        entry = make_entry()
        worker.append(entry)
        await until(lambda: bool(following.index.find(entry.shingles, since=0.0, most=10)))
    stop.set()
    await task
    following.close()


def put_aside(path: Path) -> Path:
    """As `schema.prepare` does with a damaged one.

    This one is sound, so that it can be looked into afterwards.
    """
    with hold(path.with_suffix(".lock"), "a test", patience_s=PATIENCE_S):
        aside = set_aside(path, "damaged", time.time())
        schema.open_writer(path).close()
    return aside


async def test_what_was_being_written_as_it_was_set_aside_goes_into_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sets it aside waits some seconds for the one who writes, not for ever: a disk may
    take longer.
    """
    monkeypatch.setattr("oborona.sqlite_file.BUSY_S", 0.05)
    path, insert, written = tmp_path / "journal.db", batch_insert.insert, asyncio.Event()

    async def slow(*arguments: Any) -> int:
        added = await insert(*arguments)
        if not written.is_set():
            await asyncio.to_thread(put_aside, path)
            written.set()
        return added

    async with filled(path, 1) as worker:
        monkeypatch.setattr(batch_insert, "insert", slow)
        worker.append(make_entry())
        worker.append(entry := make_entry())
        await worker.flush()
        assert written.is_set()
        assert await worker.get(entry.id) == entry
        assert await worker.count() == 2
        assert worker.written == 3


async def test_what_a_dead_process_left_is_not_passed_over_for_what_the_old_one_had(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    entries = [make_entry() for _ in range(5)]
    async with await JournalWriter.open(path, batch_s=0.01) as worker:
        for one in entries:
            worker.append(one)
        await worker.flush()
        await asyncio.to_thread(put_aside, path)
        spool = JournalSpool(
            tmp_path / state_files.JOURNAL_SPOOL
        )  # of a process that was killed after SQLite had them
        before = set((tmp_path / state_files.JOURNAL_SPOOL).iterdir())
        for one in entries:
            spool.append(rows.pack(one))
        (left,) = set((tmp_path / state_files.JOURNAL_SPOOL).iterdir()) - before
        spool.close(written=False)
        await until(lambda: not left.exists())
        assert await worker.count() == len(entries)


async def test_the_new_one_knows_the_policy_in_force(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path, batch_s=0.01) as worker:
        worker.append_policy("1", {"A": "x"})
        worker.append_policy("2", {"A": "y"})
        await fill(worker, 1)
        await asyncio.to_thread(put_aside, path)
        await fill(worker, 1)
        assert await worker.policies() == {"2": {"A": "y"}}


async def test_who_is_started_while_it_is_damaged_begins_a_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker, or the keeper itself, that died and is started again: nobody else may be there to
    look.
    """
    path = tmp_path / "journal.db"
    async with filled(path, 300) as worker:
        await asyncio.to_thread(spoil, path)
        async with await JournalWriter.open(path, batch_s=0.01) as another:
            await fill(another, 3)
        await fill(worker, 2)
        assert await worker.count() == 5
    assert "was set aside whole" in caplog.text
    record = store_birth.read_record(tmp_path, path.name)
    assert record is not None
    assert "damaged" in record.lost
