"""What it costs to lay out a time-line and to judge it: CPU of one, in microseconds.

    python benchmarks/judged.py

Four pasts: nothing known, a message or two a day, an office, and something of everything in each of
the 158 buckets. Each is judged cold, as a scan does it: nothing of it was looked at before. The
best of many short rounds counts, for what else a machine does makes it only slower.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from oborona.counters.window import BUCKETS_A_DAY, DAYS, Timeline
from oborona.reputation.judgement.judge import judge
from oborona.reputation.timeline import EntityHistory, entity_history

ROUNDS: Final = 300
EACH: Final = 5
SITES: Final = {
    "nothing": (0.0, 1),
    "a message or two a day": (0.01, 2),
    "an office": (0.3, 20),
    "all at most": (1.0, 5000),
}
"""How many of the buckets have mail, and how much of it they have at most."""


def line(full: float, most: int, chance: random.Random) -> Timeline:
    """Return a time-line by chance."""

    def row(full: float, most: int) -> list[int]:
        if chance.random() >= full:
            return [0] * 6
        seen = chance.randint(1, most)
        return [seen, seen // 10, chance.randrange(2), 0, seen // 2, 0]

    return Timeline(
        buckets=[row(full, most) for _ in range(BUCKETS_A_DAY)],
        days=[
            row(1.0 if full else 0.0, round(full * BUCKETS_A_DAY * most) + 1) for _ in range(DAYS)
        ],
    )


def best(made: Callable[[], object]) -> float:
    """Return the CPU of one call in µs, at its best."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        for _ in range(EACH):
            made()
        taken.append(time.process_time_ns() - began)
    return min(taken) / EACH / 1000


def main() -> None:
    """Time, and print."""
    chance = random.Random(1)  # noqa: S311 - the same pasts each time
    print(f"{'':26}laid out   judged   µs CPU")
    for name, (full, most) in SITES.items():
        own, first, deleted, recipients = (line(full, most, chance) for _ in range(4))
        whole = entity_history(own, first=first, deleted=deleted, recipients=recipients)
        laid = best(
            partial(entity_history, own, first=first, deleted=deleted, recipients=recipients)
        )
        judged = best(lambda: judge(EntityHistory(whole.buckets, whole.days)))  # noqa: B023
        print(f"{name:26}{laid:8.0f} {judged:8.0f}")


if __name__ == "__main__":
    main()
