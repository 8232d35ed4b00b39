"""A coroutine run to its end, in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Outcome = TypeVar("Outcome")


def finished(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Return what a coroutine returns.

    `asyncio.run` puts SIGINT back when it ends, and Python writes the handler's task out for that,
    its result with it, twice: half a second of CPU where the result is that of a scan.
    """
    outcomes: list[Outcome] = []

    async def main() -> None:
        outcomes.append(await work)

    asyncio.run(main())
    return outcomes[0]
