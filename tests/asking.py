"""Inquirers for tests of what stands above them: their DNS is a dictionary, or knows no name at all."""

from __future__ import annotations

import time
from collections.abc import Mapping

from oborona.dns import Answer, Asker, Kind, Outcome, Record
from oborona.milter.inquiry import Inquirer, Means
from oborona.milter.lists import Lists
from oborona.reputation.networks import NOWHERE

Known = Mapping[tuple[str, Kind], Answer | tuple[Record, ...]]


class Book:
    """An asker with all answers at hand.

    Args:
        known: records by name and kind, or a whole answer; any other name does not exist.
    """

    def __init__(self, known: Known | None = None) -> None:
        self._known = dict(known or {})
        self.asked: list[tuple[str, Kind]] = []

    async def ask(self, name: str, kind: Kind) -> Answer:
        self.asked.append((name, kind))
        found = self._known.get((name.lower().rstrip("."), kind), Answer(outcome=Outcome.NO_NAME, ttl=60))
        return found if isinstance(found, Answer) else Answer(outcome=Outcome.FOUND, records=found, ttl=60)


def means(asker: Asker, *, now: float | None = None) -> Means:
    """Return what inquirers work with who ask this asker."""
    wall = time.time if now is None else lambda: now
    return Means(
        asker=lambda: asker,
        lists=Lists(asker, NOWHERE, time.monotonic, wall),
        receiver="mx.test",
        sample=lambda: 0.0,
        clock=wall,
    )


def inquirer(asker: Asker | None = None, *, now: float | None = None) -> Inquirer:
    """Return an inquirer who asks this asker; without one, nothing exists."""
    return Inquirer(means(asker or Book(), now=now))
