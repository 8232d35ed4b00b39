"""The keeper's process: purges the journal and what hangs on it, and keeps the index and the search
files up with the journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from oborona import state_files
from oborona.config import Settings
from oborona.errors import StoreError
from oborona.journal.index.follower import IndexFollower
from oborona.journal.index.index import JournalIndex
from oborona.journal.words.follower import SearchFollower
from oborona.journal.words.writer import SearchWriter
from oborona.metrics import Gauge
from oborona.recheck.keeper import STEP_ROWS, keep
from oborona.recheck.moves import MoveStore
from oborona.telemetry.trouble import TroubleNotice

HOUR_S: Final = 3600.0
LAG_S: Final = 600.0  # what is followed is kept so much longer than it is looked for
AGAIN_S: Final = 60.0  # between attempts to open what can't be opened
BEHIND: Final = Gauge(
    "oborona_journal_behind_seconds",
    "For how long the index and the search files have not been up with the journal; 0 while they "
    "are.",
    ("follower",),
)

log = logging.getLogger("oborona.keeper")

Look = Callable[[JournalIndex], Coroutine[Any, Any, None]]


async def keep_journal(
    settings: Settings,
    state: Path,
    stop: asyncio.Event,
    ready: Callable[[], None],
    look: Look | None = None,
    *,
    again_s: float = AGAIN_S,
) -> None:
    """Be the keeper until told to stop.

    Args:
        settings: of the site.
        state: folder of the stores; its journal is prepared.
        stop: set to end it.
        ready: called once the journal is open.
        look: takes the second look with an index, until `stop`; None = none is taken.
        again_s: seconds between attempts to open what can't be opened.

    Raises:
        StoreError: the journal can't be opened.
    """
    journal, window_s = settings.journal, settings.recheck.window_hours * HOUR_S
    beside = JournalDependents(settings, state, stop, look)
    beside.open()
    opening = asyncio.create_task(beside.open_all(again_s), name="opening")
    try:
        await keep(
            state / state_files.JOURNAL,
            retention_s=journal.retention_hours * HOUR_S,
            max_rows=journal.max_rows,
            evidence_s=max(journal.evidence_hours * HOUR_S, window_s),
            window_s=window_s + LAG_S,
            refused_s=journal.refused_hours * HOUR_S,
            stop=stop,
            ready=ready,
            beside=beside.purge,
        )
    finally:
        stop.set()
        await asyncio.wait({opening})
        await beside.close()


class JournalDependents:
    """What hangs on the journal: its index, followed and looked into, search files, and the moves.
    What can't be opened stops nothing else.

    Args:
        settings: of the site.
        state: folder of the stores.
        stop: set to end it.
        look: takes the second look with the index, until `stop`; None = none is taken.
    """

    def __init__(
        self, settings: Settings, state: Path, stop: asyncio.Event, look: Look | None
    ) -> None:
        self._settings = settings
        self._state = state
        self._stop = stop
        self._look = look
        self._window_s = settings.recheck.window_hours * HOUR_S + LAG_S
        self._retention_s = settings.journal.retention_hours * HOUR_S
        self._following: IndexFollower | None = None
        self._search: SearchFollower | None = None
        self._moves: MoveStore | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        BEHIND.set_function(self._behind)
        self._no_index = TroubleNotice(
            "no index: delivered mail is not judged again", "there is an index again"
        )
        self._no_search = TroubleNotice(
            "no search files: searches read the journal", "there are search files again"
        )
        self._no_moves = TroubleNotice("moves are not purged", "moves are purged again")

    def _behind(self) -> dict[tuple[str], float]:
        followers = {("index",): self._following, ("search",): self._search}
        return {name: one.behind_s for name, one in followers.items() if one is not None}

    def open(self) -> bool:
        """Open what is not open; return whether all is."""
        if self._following is None:
            self._try(self._open_index, self._no_index)
        if self._search is None:
            self._try(self._open_search, self._no_search)
        if self._moves is None:
            self._try(self._open_moves, self._no_moves)
        return None not in (self._following, self._search, self._moves)

    async def open_all(self, again_s: float) -> None:
        """Try again until all is open, or until told to stop."""
        while not self._stop.is_set() and not self.open():
            try:
                async with asyncio.timeout(again_s):
                    await self._stop.wait()
            except TimeoutError:
                continue

    async def purge(self, now: float) -> int:
        """Let one step of what is old go; return how much of it went where more may be.

        Raises:
            StoreError: it can't be.
        """
        if self._following is not None:
            await self._following.purge(now, self._window_s)
        if self._moves is None:
            return 0
        return await asyncio.to_thread(
            partial(self._moves.purge, now, retention_s=self._retention_s, limit=STEP_ROWS)
        )

    async def close(self) -> None:
        """Close all, once who works with it has ended."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._following is not None:
            self._following.close()
        if self._search is not None:
            self._search.close()
        if self._moves is not None:
            self._moves.close()

    @staticmethod
    def _try(opening: Callable[[], None], trouble: TroubleNotice) -> None:
        try:
            opening()
        except StoreError as error:
            trouble.failed(error)
        except Exception as error:
            log.exception("fault in opening a store")
            trouble.failed(error)
        else:
            trouble.over()

    def _open_index(self) -> None:
        index = JournalIndex(
            self._state / state_files.INDEX,
            self._state / state_files.JOURNAL,
            max_bytes=self._settings.journal.index_mib << 20,
        )
        self._following = IndexFollower(index)
        self._tasks.add(asyncio.create_task(self._following.run(self._stop), name="index"))
        if self._look is not None:
            self._tasks.add(asyncio.create_task(self._look(index), name="recheck"))

    def _open_search(self) -> None:
        self._search = SearchFollower(
            SearchWriter(self._state / state_files.SEARCH, self._state / state_files.JOURNAL)
        )
        self._tasks.add(asyncio.create_task(self._search.run(self._stop), name="search"))

    def _open_moves(self) -> None:
        self._moves = MoveStore(self._state / state_files.MOVES)
