"""The follower makes search files as mail comes, says once that it can't, and once that it can."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.words.day_chunks import PART
from oborona.journal.words.days import days_in
from oborona.journal.words.follower import SearchFollower
from oborona.journal.words.writer import SearchWriter
from oborona.sqlite_file import ERRORS
from tests.journal.entries import NOON, make_entry

PATIENCE_S = 60.0


async def test_it_follows_through_trouble(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, folder = tmp_path / "journal.db", tmp_path / "search"
    clock = count(NOON, 600).__next__  # ten minutes go by with each look
    follower = SearchFollower(SearchWriter(folder, path), clock=clock, pause_s=0.01, retry_s=0.05)
    stop = asyncio.Event()
    task = asyncio.create_task(follower.run(stop))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not caplog.records:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)  # some attempts more
            assert "there is no journal" in caplog.text
            schema.prepare(path)
            async with await JournalWriter.open(path) as journal:
                for place in range(PART + 70):
                    journal.append(make_entry(time=NOON + place))
            while not known(folder):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.02)
    finally:
        stop.set()
        await task
        follower.close()
    said = [one.levelno for one in caplog.records if one.name == "oborona.search"]
    assert said == [logging.ERROR, logging.WARNING]


def known(folder: Path) -> int:
    """Return how many messages are in search files."""
    total = 0
    for path in days_in(folder).values():
        with suppress(*ERRORS):
            db = sqlite3.connect(path)
            total += db.execute("SELECT ifnull(sum(rows), 0) FROM part").fetchone()[0]
            db.close()
    return total
