"""How much one connection or message may ask: so many questions, and so much time in which it waits
for the DNS.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

from oborona.dns import DnsAnswer, DnsAsker, DnsType
from oborona.resolver.chain import failure

BUDGET: Final = "budget"


class CachingAsker(DnsAsker, Protocol):
    """Somebody who can be asked, and has some answers at hand."""

    def known(self, name: str, kind: DnsType) -> DnsAnswer | None:
        """Return the answer if it costs nothing."""
        ...


class BudgetedAsker:
    """An Asker that answers TEMPERROR, why="budget", when the budget is used up.

    Answers at hand cost nothing, and are given even then. Time counts once while several questions
    are under way, and not between them. Nothing is asked twice: what a message was told holds until
    its end, even an answer that may not be kept.

    Args:
        asker: the resolver.
        questions: number.
        seconds: of waiting.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        asker: CachingAsker,
        *,
        questions: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asker = asker
        self._questions = questions
        self._seconds = seconds  # left at `_since`
        self._clock = clock
        self._since = 0.0
        self._waiting = 0
        self._told: dict[tuple[str, DnsType], DnsAnswer] = {}

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        """Return the answer to one question, within what is left of the budget; never raises."""
        answer = self._told.get((name, kind)) or self._asker.known(name, kind)
        if answer is not None:
            return answer
        self._pass_time()
        if self._questions <= 0 or self._seconds <= 0:
            return failure(BUDGET)
        self._questions -= 1
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._asker.ask(name, kind)
        except TimeoutError:
            return failure(BUDGET)
        finally:
            self._pass_time()
            self._waiting -= 1
        self._told[name, kind] = answer
        return answer

    def _pass_time(self) -> None:
        now = self._clock()
        if self._waiting:
            self._seconds -= now - self._since
        self._since = now
