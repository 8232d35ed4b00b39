"""Takes over the journal's spools of dead processes, in whichever process writes the journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.journal.rows import unpack_asks
from oborona.journal.spool import OrphanSpool, orphan_spools
from oborona.journal.spool_record import PolicyRow, Waiting

AT_ONCE: Final = 500  # rows in one transaction, as of the journal itself

Write = Callable[[Sequence[Waiting], Mapping[str, Mapping[str, str]]], Awaitable[int]]
"""Writes rows, and what the rules of policies ask; returns how many entries were not there yet.

Raises StoreError.
"""

_log = logging.getLogger("oborona.journal")


async def take_over(folder: Path, write: Write) -> None:
    """Write what is left, now and again, until cancelled.

    What can't be written waits, and is said once.

    Args:
        folder: of the spools.
        write: writes into the journal; a row that is there already stays as it is.
    """
    trouble_told = ""
    # a death moves no stamp; a look costs some 0.1 ms
    with Doorbell(folder, anyway=lambda: True) as bell:
        while True:
            await bell.rung()
            trouble_told = await _look(folder, write, trouble_told)


async def _look(folder: Path, write: Write, trouble_told: str) -> str:
    """Take over what is there; return the trouble that was told."""
    try:
        unread: StoreError | None = None
        for spool in orphan_spools(folder):
            with closing(spool):
                try:
                    await _take_over_file(spool, write)
                except StoreError as error:  # those behind it do not wait for it
                    unread = unread or error
        if unread is not None:
            raise unread  # noqa: TRY301 - what is said of any of them
        trouble_told = ""
    except StoreError as error:
        if str(error) != trouble_told:
            trouble_told = str(error)
            _log.error("journal: what a dead process has left waits: %s", error)
    except Exception as error:  # noqa: BLE001 - the barrier of this task
        if str(error) != trouble_told:
            trouble_told = str(error)
            _log.error(
                "journal: a fault of ours; what a dead process has left waits", exc_info=error
            )
    return trouble_told


async def _take_over_file(file: OrphanSpool, write: Write) -> None:
    """Write the rows of a file, then remove it: killed between the two, the next one writes none of
    them twice.
    """
    records = await asyncio.to_thread(file.rows)
    policies = {row.version: unpack_asks(row.asks) for row in records if isinstance(row, PolicyRow)}
    rows = [row for row in records if not isinstance(row, PolicyRow)]
    entries = 0
    for at in range(0, len(rows), AT_ONCE):
        entries += await write(rows[at : at + AT_ONCE], policies)
    await asyncio.to_thread(file.remove)
    if entries:
        _log.warning(
            "journal: %s: %d entries of a process that died are written", file.path.name, entries
        )
