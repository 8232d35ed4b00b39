"""Mail in an order, classified and then taught: what every filter is held to in the same way.

Each message is scored before anything is taught of it. A share of them gets people's word, which
comes after a number of further messages and may be wrong. Which, and which is wrong, is drawn by
the seed, the same for every filter: the 5 % that are taught in one row are among the 20 % of
another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from benchmarks.labelled import Labelled

ORDERS: Final = ("random", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to run a corpus."""

    order: str  # random | time
    seed: int
    feedback: float  # share of messages that get people's word
    delay: int  # messages that come before that word does
    noise: float  # share of words that are wrong

    @property
    def name(self) -> str:
        """The row in one line."""
        return ", ".join(
            f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in asdict(self).items()
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What is done at one place of a stream: a message is scored, then others are taught."""

    message: int  # which is scored
    taught: tuple[tuple[int, bool], ...]  # which are taught then, and as spam or not


class Filter(Protocol):
    """What scores and learns."""

    def scores(self, steps: Sequence[Step]) -> list[float]:
        """Return the score of each step's message, made before the teaching of that step and after
        that of all steps before; higher is spam.
        """
        ...


def ordered(mail: Sequence[Labelled], order: str, seed: int) -> list[int]:
    """Return the numbers of messages in an order."""
    numbers = list(range(len(mail)))
    if order == "time":
        return sorted(numbers, key=lambda number: (mail[number].arrived, mail[number].path))
    random.Random(f"order {seed}").shuffle(numbers)  # noqa: S311 - drawn to be drawn again
    return numbers


def steps(mail: Sequence[Labelled], row: Row) -> list[Step]:
    """Return what is done, in order."""
    chance = random.Random(f"word {row.seed}")  # noqa: S311
    draws = [(chance.random(), chance.random()) for _ in mail]
    order = ordered(mail, row.order, row.seed)
    words = [
        (number, mail[number].spam is not (draws[number][1] < row.noise))
        if draws[number][0] < row.feedback
        else None
        for number in order
    ]
    made = []
    for place, number in enumerate(order):
        word = words[place - row.delay] if place >= row.delay else None
        made.append(Step(number, (word,) if word is not None else ()))
    return made
