"""What one machine of a site does for all, now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

TURN_S: Final = 10.0  # between looks whether it is this machine's turn


async def step_in_turn(
    step: Callable[[], Awaitable[None]], is_mine: Callable[[], bool], every_s: float
) -> None:
    """Do something again and again while it is this machine's turn, for ever.

    Args:
        step: does it once.
        is_mine: whether it is its turn.
        every_s: seconds between two times.
    """
    while True:
        if mine := is_mine():
            await step()
        await asyncio.sleep(every_s if mine else TURN_S)
