"""A process that nobody needs rests: it ends, and its supervisor starts it again when somebody
connects.

It starts as a fork of a parent that has loaded everything, so that nobody waits for it; what it
held in memory for those who are gone is given back.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from oborona.doors.acceptor import Acceptor

REST_S: Final = 600.0  # longer than whoever types lets a connection be idle


async def needed(server: Acceptor, stop: asyncio.Event, rest_s: float | None) -> None:
    """Return when the process is told to stop, or nobody has been connected for so long.

    Args:
        server: its door.
        stop: is set to stop it.
        rest_s: seconds; None = it never rests.
    """
    if rest_s is None:
        await stop.wait()
        return
    rested = asyncio.create_task(server.rested(rest_s))
    told = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((rested, told), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (rested, told):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
