"""Answers kept for a while: those that say something for their TTL, failures for a moment.

`MAX_TTL_S` is short: the recursive resolver beside us keeps an answer for as long as it may be
kept, so that asking again costs one question to it; and a change it knows of (a new key, a
delisting, a cache flushed by the admin) is known here as soon. `FAILURE_S`: a dead zone costs its
deadline once, not for each connection. RFC 9520 section 3.2 asks for a second at least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from oborona.dns import DnsAnswer, DnsOutcome

MAX_TTL_S: Final = 300
FAILURE_S: Final = 2
ROOM: Final = 1024  # octets of text that one entry stands for: a larger answer counts as several


class _Entry(NamedTuple):
    answer: DnsAnswer
    until: float
    size: int


class AnswerCache:
    """Answers by question; the one that was not asked for longest goes first.

    Args:
        entries: room for so many; 0 keeps nothing.
        clock: seconds, monotonic.
    """

    def __init__(self, entries: int, clock: Callable[[], float]) -> None:
        self._room = entries
        self._clock = clock
        self._entries: dict[bytes, _Entry] = {}  # in the order of last use
        self._size = 0

    def __len__(self) -> int:
        """Return how many answers are kept, stale ones included."""
        return len(self._entries)

    def get(self, question: bytes) -> DnsAnswer | None:
        """Return the answer that is kept, with the seconds that it may still be."""
        entry = self._entries.pop(question, None)
        if entry is None:
            return None
        answer, until, size = entry
        left = until - self._clock()
        if left <= 0:
            self._size -= size
            return None
        self._entries[question] = entry
        ttl = 0 if answer.outcome is DnsOutcome.TEMPERROR else int(left)
        return DnsAnswer(
            outcome=answer.outcome, records=answer.records, ttl=ttl, why=answer.why, again=True
        )

    def put(self, question: bytes, answer: DnsAnswer) -> None:
        """Keep an answer, unless it may not be kept."""
        seconds = (
            FAILURE_S if answer.outcome is DnsOutcome.TEMPERROR else min(answer.ttl, MAX_TTL_S)
        )
        size = 1 + sum(map(_octets, answer.records)) // ROOM
        if seconds <= 0 or size > self._room:
            return
        replaced = self._entries.pop(question, None)
        if replaced is not None:
            self._size -= replaced.size
        while self._size + size > self._room:
            oldest = self._entries.pop(next(iter(self._entries)))
            self._size -= oldest.size
        self._entries[question] = _Entry(answer, self._clock() + seconds, size)
        self._size += size


def _octets(record: str | bytes | tuple[int, str]) -> int:
    """What a record takes, roughly: Python's own share included."""
    return 64 + len(record[1] if isinstance(record, tuple) else record)
