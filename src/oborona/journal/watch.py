"""Watches the journal's file for the keeper: if the file is gone, or was reported as damaged, it is
checked, and begun anew if it must be.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.journal import schema

# after all of a file was read and was sound: reading it again costs a disk minutes
REST_S: Final = 600.0

log = logging.getLogger("oborona.keeper")


@asynccontextmanager
async def watch_journal(
    path: Path, stop: asyncio.Event, *, rest_s: float = REST_S
) -> AsyncIterator[None]:
    """Have the journal looked after within.

    What its writers have waits meanwhile and goes into the new one.

    Args:
        path: the journal.
        stop: set when nobody is to look any more.
        rest_s: seconds that a file which was found sound is not read again.
    """
    task = asyncio.create_task(_watch(path, stop, rest_s), name="watching")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _is_due(path: Path, *, rests: bool) -> bool:
    return not path.exists() or (not rests and bool(schema.suspicion(path)))


async def _watch(path: Path, stop: asyncio.Event, rest_s: float) -> None:
    trouble_told, rests_until = "", -math.inf
    # a note is another file: it is looked for each second
    with Doorbell(path, anyway=lambda: True) as bell:
        while not stop.is_set():
            await bell.rung()
            if not _is_due(path, rests=time.monotonic() < rests_until):
                continue
            try:
                if await asyncio.to_thread(schema.prepare, path) is None:
                    rests_until = time.monotonic() + rest_s
                trouble_told = ""
            except StoreError as error:
                if str(error) != trouble_told:
                    log.error("the journal can't be looked at: %s", error)  # noqa: TRY400 - the error says where
                trouble_told = str(error)
            except Exception:
                log.exception("the journal can't be looked at: a fault of ours")
                rests_until = time.monotonic() + rest_s
