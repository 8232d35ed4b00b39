"""One message of a sender, as far as limits see it, and hours at which people write."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

import msgspec

DAY_S: Final = 86_400.0
HOUR_S: Final = 3600.0
_HOURS: Final = (1, 1, 1, 1, 1, 2, 4, 8, 12, 13, 13, 12, 11, 12, 12, 12, 11, 9, 7, 6, 5, 4, 3, 2)
"""People's mail by hour of the day, as benchmarks/traffic has it."""


class Letter(NamedTuple):
    """A message that somebody hands in."""

    at: float  # seconds from the first midnight
    login: str
    sender: str  # MAIL FROM
    recipients: tuple[str, ...]
    ip: str
    country: str
    size: int = 8_000  # octets
    text: str = ""  # what it shares with others that are nearly alike; empty: with none
    list_id: str = ""
    caught: bool = False  # its content alone is spam


class Origin(NamedTuple):
    """From where somebody sends."""

    ip: str
    country: str


class Sender(msgspec.Struct, kw_only=True):
    """Who sends: one plan of mail, over one account or several.

    Attributes:
        name: of the plan.
        kind: such as person, newsletter, stolen.
        spam: whether it is spam.
        letters: in the order of time.
        refused: in a row, as far as a program has heard.
        closed: a person has ended it.
    """

    name: str
    kind: str
    spam: bool
    letters: Iterator[Letter]
    refused: int = 0
    closed: bool = False


def is_workday(day: int) -> bool:
    """Tell whether a day since the first Monday is one."""
    return day % 7 < 5


def hour_of_people(rng: Random) -> float:
    """Return when on a day a person writes, in seconds."""
    return (rng.choices(range(24), _HOURS)[0] + rng.random()) * HOUR_S


def poisson(rng: Random, mean: float) -> int:
    """Return a number of events; large means by a normal distribution."""
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    left, number, product = math.exp(-mean), 0, rng.random()
    while product > left:
        number += 1
        product *= rng.random()
    return number


def stranger(rng: Random) -> str:
    """Return an address that nobody here knows."""
    return f"p{rng.randrange(1 << 40):x}@d{rng.randrange(20_000)}.example"


def some_address(rng: Random) -> str:
    """Return an address of the Internet."""
    return f"{rng.randrange(11, 223)}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
