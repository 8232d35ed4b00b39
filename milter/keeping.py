"""The keeper's process: purges the journal and what hangs on it, and keeps the index up with the journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from oborona.config import Settings
from oborona.errors import StoreError
from oborona.milter.worker import JOURNAL
from oborona.recheck import index, moves_schema
from oborona.recheck.following import Following
from oborona.recheck.index import Index
from oborona.recheck.keeper import keep
from oborona.recheck.moves import Moves

HOUR_S: Final = 3600.0
LAG_S: Final = 600.0  # what is followed is kept so much longer than it is looked for

log = logging.getLogger("oborona.keeper")


async def keep_all(
    settings: Settings,
    state: Path,
    stop: asyncio.Event,
    ready: Callable[[], None],
    look: Callable[[Index], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Be the keeper until told to stop.

    Args:
        settings: of the site.
        state: folder of the stores; its journal is prepared.
        stop: set to end it.
        ready: called once the journal is open.
        look: takes the second look with an index, until `stop`; None = none is taken.

    Raises:
        StoreError: the journal can't be opened.
    """
    asked, window_s = settings.journal, settings.recheck.window_hours * HOUR_S
    async with AsyncExitStack() as held:
        following = open_following(settings, state)
        if following is not None:
            held.callback(following.close)
            task = asyncio.create_task(following.run(stop), name="index")
            held.push_async_callback(_ended, stop, task)
            if look is not None:
                looking = asyncio.create_task(look(following.index), name="second look")
                held.push_async_callback(_ended, stop, looking)
        moves = _open_moves(state)
        if moves is not None:
            held.enter_context(moves)
        await keep(
            state / JOURNAL,
            retention_s=asked.retention_hours * HOUR_S,
            max_rows=asked.max_rows,
            evidence_s=max(asked.evidence_hours * HOUR_S, window_s),
            window_s=window_s + LAG_S,
            stop=stop,
            ready=ready,
            following=following,
            moves=moves,
        )


async def _ended(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
    stop.set()
    await asyncio.wait({task})


def open_following(settings: Settings, state: Path) -> Following | None:
    """Return what keeps the index up; None, and an error in the log, where it can't be opened: purging goes on without."""
    try:
        found = Index(state / index.FOLDER, state / JOURNAL, max_bytes=settings.journal.index_mib << 20)
    except StoreError as error:
        log.error("no index: %s; delivered mail is not judged again until the keeper begins anew", error)  # noqa: TRY400 - the error says where
        return None
    return Following(found)


def _open_moves(state: Path) -> Moves | None:
    try:
        return Moves(state / moves_schema.FILE)
    except StoreError as error:
        log.error("moves are not purged: %s", error)  # noqa: TRY400 - the error says where
        return None
