"""The keeper: maintenance on a clock, by one process alone.

The journal, its index and the moves are kept within their age and number, in steps of milliseconds
with pauses between, so that workers never wait for it.  A clock that jumped by more than a day,
either way, also against the newest entry at the start, is not trusted until the new time has lasted
an hour; until then nothing is purged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from oborona.counters.clock import SteadyClock
from oborona.counters.window import bucket_of
from oborona.errors import StoreError
from oborona.journal.journal import REFUSED_S, WINDOW_S, JournalWriter
from oborona.journal.watch import watch_journal

STEP_ROWS: Final = 200  # a step's write lock is held for some milliseconds
STEP_PAUSE_S: Final = 0.05  # between steps while there is something to do
ROUND_S: Final = 30.0  # between looks when there is nothing

log = logging.getLogger("oborona.keeper")


async def keep(
    path: Path,
    *,
    retention_s: float,
    max_rows: int,
    stop: asyncio.Event,
    ready: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.time,
    round_s: float = ROUND_S,
    evidence_s: float | None = None,
    window_s: float = WINDOW_S,
    refused_s: float = REFUSED_S,
    beside: Callable[[float], Awaitable[int]] | None = None,
) -> None:
    """Purge the journal, and what hangs on it, until told to stop.

    Nothing goes while the clock has jumped.

    Args:
        path: the journal.
        retention_s: seconds that an entry is kept.
        max_rows: entries kept at most, the newest.
        stop: set to end it, within a step.
        ready: called once the journal is open.
        clock: Unix seconds.
        round_s: seconds between looks.
        evidence_s: seconds that its evidence is kept; None = as long as the entry.
        window_s: of the second look.
        refused_s: seconds that references of refusals are kept.
        beside: purges what hangs on the journal, by Unix seconds, in a step; returns 0 where there
            is no more.

    Raises:
        StoreError: the journal can't be opened; trouble later is logged, and tried again.
    """
    async with await JournalWriter.open(path) as journal, watch_journal(path, stop):
        newest = await journal.recent(1)
        steady = SteadyClock(bucket_of(newest[0].time) if newest else None)
        jumped = False  # said once
        ready()
        while not stop.is_set():
            now, removed = clock(), 0
            try:
                if steady.believes(bucket_of(now)):
                    removed = await journal.purge(
                        now,
                        retention_s=retention_s,
                        max_rows=max_rows,
                        limit=STEP_ROWS,
                        evidence_s=evidence_s,
                        window_s=window_s,
                        refused_s=refused_s,
                    )
                    jumped = False
                    if beside is not None:
                        removed += await beside(now)
                elif not jumped:
                    log.warning(
                        "the clock is over a day from where it was: nothing is purged for an hour"
                    )
                    jumped = True
            except StoreError as error:
                log.error("not purged: %s", error)  # noqa: TRY400 - the error says where; no fault of ours
            try:
                async with asyncio.timeout(STEP_PAUSE_S if removed else round_s):
                    await stop.wait()
            except TimeoutError:
                continue
