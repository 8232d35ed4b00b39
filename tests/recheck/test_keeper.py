"""The keeper holds the journal within its limits, and stops when it is told to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oborona.ident import JournalIdGenerator
from oborona.journal.journal import JournalWriter
from oborona.recheck.keeper import STEP_ROWS, keep
from tests.journal.entries import NOON, make_entry

DAY_S = 86_400.0


async def keeping(path: Path, *, retention_s: float, max_rows: int, until_left: int) -> None:
    """Run the keeper at NOON until so many entries are left, then stop it."""
    stop, ready = asyncio.Event(), asyncio.Event()
    keeper = asyncio.create_task(
        keep(
            path,
            retention_s=retention_s,
            max_rows=max_rows,
            stop=stop,
            ready=ready.set,
            clock=lambda: NOON,
            round_s=0.05,
        )
    )
    async with asyncio.timeout(20):
        await ready.wait()
        async with await JournalWriter.open(path) as journal:
            while await journal.count() != until_left:  # noqa: ASYNC110 - a file tells nobody that it changed
                await asyncio.sleep(0.02)
        stop.set()
        await keeper


class Clock:
    """Says what a test tells it, and how often it was asked."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now

    async def seen(self, times: int = 5) -> None:
        """Wait until the keeper has looked some times more, and so has done what it does."""
        until = self.looks + times
        while self.looks < until:  # noqa: ASYNC110 - the keeper tells nobody
            await asyncio.sleep(0.01)


async def filled(path: Path, ages_s: list[float]) -> None:
    numbers = JournalIdGenerator(
        1
    )  # its own: ids follow no clock backwards, and other tests have moved on
    async with await JournalWriter.open(path) as journal:
        for age_s in ages_s:
            journal.append(make_entry(id=numbers.next(NOON - age_s), time=NOON - age_s))


async def test_what_is_too_old_goes_in_several_steps(tmp_path: Path) -> None:
    await filled(tmp_path / "journal.db", [5000.0] * (STEP_ROWS + 50) + [10.0] * 5)
    await keeping(tmp_path / "journal.db", retention_s=3600, max_rows=10_000, until_left=5)


async def test_what_is_too_much_goes_the_oldest_first(tmp_path: Path) -> None:
    await filled(tmp_path / "journal.db", [float(age) for age in range(30, 0, -1)])
    await keeping(tmp_path / "journal.db", retention_s=3600, max_rows=10, until_left=10)
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        assert {NOON - entry.time for entry in await journal.recent(20)} == {
            float(age) for age in range(1, 11)
        }


async def test_a_clock_that_jumps_purges_nothing_until_it_has_lasted_an_hour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock, stop = tmp_path / "journal.db", Clock(NOON), asyncio.Event()
    await filled(path, [30.0, 20.0, 10.0])
    keeper = asyncio.create_task(
        keep(path, retention_s=14 * DAY_S, max_rows=100, stop=stop, clock=clock, round_s=0.01)
    )
    async with asyncio.timeout(20), await JournalWriter.open(path) as journal:
        for now in (
            NOON,
            NOON + 20 * DAY_S,
            NOON + 20 * DAY_S + 1800,
            NOON + 60,
            NOON - 20 * DAY_S,
        ):
            clock.now = now
            await clock.seen()
            assert await journal.count() == 3
        assert "nothing is purged" in caplog.text
        for later_s in range(0, 5000, 600):
            clock.now = NOON + 20 * DAY_S + later_s
            await clock.seen()
        while await journal.count():  # noqa: ASYNC110 - a file tells nobody that it changed
            await asyncio.sleep(0.01)
        stop.set()
        await keeper


async def test_a_start_with_a_wrong_clock_purges_nothing(tmp_path: Path) -> None:
    path, clock, stop = tmp_path / "journal.db", Clock(NOON + 400 * DAY_S), asyncio.Event()
    await filled(path, [10.0])
    keeper = asyncio.create_task(
        keep(path, retention_s=DAY_S, max_rows=100, stop=stop, clock=clock, round_s=0.01)
    )
    async with asyncio.timeout(20), await JournalWriter.open(path) as journal:
        await clock.seen()
        assert await journal.count() == 1
        stop.set()
        await keeper
