"""The index is kept up with the journal, and trouble is told once, and once when it is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from oborona.journal import schema
from oborona.journal.index.follower import IndexFollower
from oborona.journal.index.index import JournalIndex
from oborona.journal.journal import JournalWriter
from oborona.recheck.keeper import keep
from oborona.recheck.moves import MoveStore
from tests.journal.entries import NOON
from tests.journal.index.test_index import HOT, ids_of, messages
from tests.recheck.test_moves import wanted

PATIENCE_S = 60.0


@asynccontextmanager
async def followed(place: Path) -> AsyncIterator[tuple[JournalIndex, IndexFollower]]:
    index = JournalIndex(place / "index", place / "journal.db")
    # five seconds go by with each look: every third writes to the disk
    clock = count(NOON, 5).__next__
    following, stop = IndexFollower(index, clock=clock, retry_s=0.02), asyncio.Event()
    task = asyncio.create_task(following.run(stop))
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield index, following
    finally:
        stop.set()
        await task
        following.close()


async def until(there: Callable[[], bool]) -> None:
    """Wait for something that tells nobody that it is there."""
    while not there():  # noqa: ASYNC110 - a file tells nobody
        await asyncio.sleep(0.01)


async def found(index: JournalIndex, number: int) -> list[int]:
    """Return what is found once it is so much."""
    await until(lambda: len(index.find([HOT], since=0, most=100)) >= number)
    return index.find([HOT], since=0, most=100)


async def test_what_is_journaled_is_found_while_it_follows(tmp_path: Path) -> None:
    schema.prepare(tmp_path / "journal.db")
    async with (
        followed(tmp_path) as (index, _),
        await JournalWriter.open(tmp_path / "journal.db") as journal,
    ):
        sent = messages(20)
        for number, entry in enumerate(sent, 1):
            journal.append(entry)
            if number in (5, 20):
                await journal.flush()
                assert await found(index, number) == ids_of(sent[:number])


async def test_trouble_is_told_once_and_its_end_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with followed(tmp_path) as (index, following):
        await until(lambda: bool(caplog.records))
        await asyncio.sleep(0.2)  # some attempts more
        assert following.behind_s > 0
        sent = messages(3)
        schema.prepare(tmp_path / "journal.db")
        async with await JournalWriter.open(tmp_path / "journal.db") as journal:
            for entry in sent:
                journal.append(entry)
        assert await found(index, 3) == ids_of(sent)
        await until(lambda: following.behind_s == 0)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    assert "there is no journal" in caplog.text
    assert "follows the journal again" in caplog.text


async def test_a_fault_of_ours_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    schema.prepare(tmp_path / "journal.db")
    with monkeypatch.context() as patched:
        patched.setattr("oborona.journal.index.index.index_pieces.rows", lambda *_: 1 / 0)
        async with (
            followed(tmp_path) as (index, _),
            await JournalWriter.open(tmp_path / "journal.db") as journal,
        ):
            sent = messages(3)
            for entry in sent:
                journal.append(entry)
            await journal.flush()
            await until(lambda: "ZeroDivisionError" in caplog.text)
            patched.undo()
            assert await found(index, 3) == ids_of(sent)


async def test_the_keeper_purges_index_and_moves_with_the_journal(tmp_path: Path) -> None:
    path, stop = tmp_path / "journal.db", asyncio.Event()
    schema.prepare(path)
    with MoveStore(tmp_path / "recheck.db") as moves:
        moves.decide([wanted(1)], now=NOON - 5000)
        moves.decide([wanted(2)], now=NOON)
        async with (
            followed(tmp_path) as (index, following),
            await JournalWriter.open(path) as journal,
        ):
            for entry in [*messages(3, start=NOON - 3 * 3600), *messages(2, own=50)]:
                journal.append(entry)
            await journal.flush()
            await found(index, 5)
            await until(lambda: len(list((tmp_path / "index").glob("*.pieces"))) == 2)

            async def beside(now: float) -> int:
                await following.purge(now, 3600)
                return moves.purge(now, retention_s=4000, limit=100)

            keeper = asyncio.create_task(
                keep(
                    path,
                    retention_s=4000,
                    max_rows=100,
                    window_s=3600,
                    stop=stop,
                    clock=lambda: NOON,
                    round_s=0.02,
                    beside=beside,
                )
            )
            await until(lambda: index.rows == 4 and len(moves.last(9)) == 1)
            assert await journal.count() == 2
            stop.set()
            await keeper
