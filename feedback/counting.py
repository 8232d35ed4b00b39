"""What people's word adds to the counters: the pieces of a message are complained of, pardoned, or came to a trap.

Each word counts once.  The counters and the store are two files: who is killed between them counts a word's pieces a second time; what a word counted is
kept with it, so that it can be taken back.
"""

from __future__ import annotations

from typing import Final, Protocol

from oborona.feedback.lessons import Lessons, Said
from oborona.feedback.word import Kind, Source
from oborona.policy.ports import CounterWriter
from oborona.types import Amounts, Pieces

AT_ONCE: Final = 100  # words


class Flushed(CounterWriter, Protocol):
    """Counters that wait in memory until they are handed over."""

    def flush(self, now: float) -> int:
        """Hand over what was added.

        Raises:
            StoreError: it can't be written; it stays in memory.
        """
        ...


def count(lessons: Lessons, counters: Flushed, now: float) -> int:
    """Count the pieces of words that are not counted yet, some of them; return of how many words.

    Raises:
        StoreError: a store can't be written; what was added is counted, and noted at the next call.
    """
    words = lessons.uncounted(AT_ONCE)
    for word in words:
        counters.add(Pieces(shingles=word.pieces, pairs=()), amounts_of(word), now)
    if words:
        counters.flush(now)
        lessons.counted(word.id for word in words)
    return len(words)


def amounts_of(word: Said) -> Amounts:
    """Return what a word adds to each piece of its message."""
    if word.source is Source.TRAP:
        return Amounts(traps=1)
    return Amounts(complaints=1) if word.kind is Kind.SPAM else Amounts(pardons=1)
