"""The keeper's process: the index is kept up, all is purged, and what is broken beside the journal
stops neither.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import Settings
from oborona.daemon.keeper.journal import keep_journal
from oborona.journal import schema
from oborona.journal.index.index import JournalIndex
from oborona.journal.journal import JournalWriter
from tests.journal.index.test_index import HOT, ids_of, messages

PATIENCE_S = 60.0
OLD_S = 400 * 3600.0


def nothing(_: Path) -> None:
    pass


def no_index(state: Path) -> None:
    (state / state_files.INDEX).write_text("a file where a folder should be")


def no_search(state: Path) -> None:
    (state / state_files.SEARCH).write_text("a file where a folder should be")


def no_moves(state: Path) -> None:
    (state / state_files.MOVES).write_bytes(b"not a database at all, " * 1000)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (nothing, ""),
        (no_index, "no index"),
        (no_search, "no search files"),
        (no_moves, "moves are not purged"),
    ],
)
async def test_what_is_broken_beside_the_journal_keeps_it_from_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: Callable[[Path], None], told: str
) -> None:
    schema.prepare(tmp_path / state_files.JOURNAL)
    broken(tmp_path)
    now, stop, ready = time.time(), asyncio.Event(), asyncio.Event()
    seen: list[JournalIndex] = []

    async def look(index: JournalIndex) -> None:
        seen.append(index)
        await stop.wait()

    async with await JournalWriter.open(tmp_path / state_files.JOURNAL) as journal:
        sent = messages(3, start=now - 60)
        for entry in [*messages(2, start=now - OLD_S, own=50), *sent]:
            journal.append(entry)
        await journal.flush()
        keeper = asyncio.create_task(keep_journal(Settings(), tmp_path, stop, ready.set, look))
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
            while await journal.count() > len(sent):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.02)
            while seen and seen[0].find([HOT], since=now - 90, most=9) != ids_of(sent):  # noqa: ASYNC110 - the same
                await asyncio.sleep(0.02)
            stop.set()
            await keeper
    assert told in caplog.text
    assert bool(seen) == (broken is not no_index)


@pytest.mark.parametrize(
    ("broken", "mended", "told"),
    [
        (no_index, state_files.INDEX, "there is an index again"),
        (no_moves, state_files.MOVES, "moves are purged again"),
    ],
)
async def test_what_is_mended_is_opened_while_the_keeper_runs(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    broken: Callable[[Path], None],
    mended: str,
    told: str,
) -> None:
    schema.prepare(tmp_path / state_files.JOURNAL)
    broken(tmp_path)
    stop, ready, looked = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def look(index: JournalIndex) -> None:
        looked.set()
        while index.find([HOT], since=0.0, most=9) != ids_of(sent):  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)
        await stop.wait()

    now = time.time()
    async with await JournalWriter.open(tmp_path / state_files.JOURNAL) as journal:
        sent = messages(3, start=now - 60)
        for entry in sent:
            journal.append(entry)
        await journal.flush()
        keeper = asyncio.create_task(
            keep_journal(Settings(), tmp_path, stop, ready.set, look, again_s=0.02)
        )
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
            await asyncio.sleep(0.2)  # some attempts
            (tmp_path / mended).unlink()
            while told not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.02)
            await looked.wait()
            stop.set()
            await keeper
    assert caplog.text.count(told) == 1
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1
