"""A process writes what it has to say of itself, again and again.

Trouble with the file is told once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from oborona.errors import StoreError
from oborona.telemetry import status
from oborona.telemetry.log import event


async def write_periodically(
    state: Path, say: Callable[[], status.WorkerStatus | status.ProcessStatus], log: logging.Logger
) -> None:
    """Write a status every few seconds, until cancelled.

    Args:
        state: folder.
        say: returns what there is to say now.
        log: gets trouble.
    """
    trouble = ""
    while True:
        try:
            status.write_status(state, say())
            trouble = ""
        except StoreError as error:
            if str(error) != trouble:
                event(log, logging.WARNING, "no status for metrics", error=error)
            trouble = str(error)
        await asyncio.sleep(status.WRITE_S)
