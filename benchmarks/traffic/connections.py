"""Connections as columns: when, from where, of what kind, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

DAY_S: Final = 86_400.0
WEEKEND: Final = 0.3  # of a working day's good mail
_HOURS: Final = np.array(
    [1, 1, 1, 1, 1, 2, 4, 8, 12, 13, 13, 12, 11, 12, 12, 12, 11, 9, 7, 6, 5, 4, 3, 2], float
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Kind(IntEnum):
    """Of a connection, the good ones first."""

    SMALL = 0
    COMPANY = 1
    PROVIDER = 2
    GOOD_BURST = 3  # tickets, alarms, notices
    NEWSLETTER = 4
    DISLIKED = 5
    UNIVERSITY = 6
    FORWARDER = 7
    LIST = 8
    NEW_OWNER = 9  # good, where spam came from
    BOT = 10
    SNOWSHOE = 11
    BURST = 12
    STEADY = 13
    WARMED = 14
    HACKED = 15  # through a provider
    INFECTED = 16  # through a university
    RELAYED = 17  # through forwarders and lists
    SOLD = 18  # an address that was good

    @property
    def spam(self) -> bool:
        """Tell which these are."""
        return self >= Kind.BOT

    @property
    def words(self) -> str:
        """What people read."""
        return _WORDS[self]


_WORDS: Final = (
    "small sender", "company", "large provider", "burst of good mail", "newsletter", "disliked newsletter",
    "university", "forwarder", "mailing list", "new owner of a bad address", "bot in a pool", "snowshoe",
    "burst from a fresh address", "steady spammer", "warmed-up bot", "hacked customer of a provider",
    "infected machine of a university", "relayed by forwarder or list", "new owner of a good address",
)  # fmt: skip


class Connections(NamedTuple):
    """Columns of the same length."""

    time: Floats  # seconds from the first midnight
    address: Ints  # 32 bits
    kind: Ints
    campaign: Ints  # messages of one number share their fate at the filter
    sender: Ints  # who is behind it

    def where(self, which: Flags) -> Connections:
        """Return some of them."""
        return Connections(
            self.time[which],
            self.address[which],
            self.kind[which],
            self.campaign[which],
            self.sender[which],
        )


class Made:
    """What is made, piece by piece, with numbers for its senders and campaigns."""

    def __init__(self) -> None:
        self._parts: list[Connections] = []
        self.campaigns = 0
        self.senders = 0

    def sender(self) -> int:
        """Return a new one's number."""
        self.senders += 1
        return self.senders - 1

    def campaign(self) -> int:
        """Return a new one's number."""
        self.campaigns += 1
        return self.campaigns - 1

    def add(self, time: Floats, address: Any, kind: Kind, *, campaign: Any, sender: Any) -> None:
        """Add connections; what is one for all may be given once."""
        count = len(time)
        full = [
            np.broadcast_to(np.asarray(one, np.int64), (count,))
            for one in (address, int(kind), campaign, sender)
        ]
        self._parts.append(Connections(time, *full))

    def all(self, until: float) -> Connections:
        """Return all before a moment, in the order of time."""
        return joined(self._parts, until)


def joined(parts: Iterable[Connections], until: float) -> Connections:
    """Return several as one, in the order of time, what lies outside left out."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    order = order[(columns[0][order] >= 0) & (columns[0][order] < until)]
    return Connections(*(column[order] for column in columns))


def office(rng: np.random.Generator, rate: float, begin: float, end: float) -> Floats:
    """Return moments at a rate a working day, in days `begin` to `end`: by daylight, few at
    weekends.
    """
    first = int(begin)
    days = np.arange(first, max(first + 1, int(np.ceil(end))))
    counts = rng.poisson(rate * np.where(days % 7 >= 5, WEEKEND, 1.0))
    hours = rng.choice(24, size=counts.sum(), p=_HOURS / _HOURS.sum())
    found: Floats = (np.repeat(days, counts) + (hours + rng.random(len(hours))) / 24) * DAY_S
    within: Floats = found[(found >= begin * DAY_S) & (found < end * DAY_S)]
    return within


def evenly(rng: np.random.Generator, count: int, begin: float, end: float) -> Floats:
    """Return moments at any hour between two, in seconds."""
    return np.sort(rng.uniform(begin, end, count))
