"""Adds labels to the counters: the hashes of a message are counted as complained of, pardoned, or
seen at a trap.

    note that it begins → add or subtract → hand over to the spool → note that it is done

A label counts once, under the time of its first count.  A label that is withdrawn, replaced or set
aside has its counts subtracted at that time, exactly; a label that is restored is counted there
again.

The counters and the notes are two files.  A process that is killed between the two notes leaves up
to a hundred labels in doubt.  These stay as they are: they may be counted or not, but never twice,
and nothing is subtracted that may not be there.  A power failure may lose the last second of the
spool, as of all counts.  If a label counted in that second is withdrawn later, its counts are
subtracted from those of others, but never below zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from oborona.counters.window import BUCKET_S, BUCKETS_A_DAY, DAYS
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.effect_outbox import CountedEffect, EffectChange, EffectOutbox
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_outbox import LabelCountChange, LabelOutbox
from oborona.policy.local_clients import direction_of_pieces
from oborona.policy.ports import CounterAdder, CounterCorrector
from oborona.types import Amounts, CountedPieces, CounterPrefix

AT_ONCE: Final = 100  # words
KEPT_S: Final = (DAYS + 1) * BUCKETS_A_DAY * BUCKET_S  # then it is out of every window
FORGET_S: Final = 3600.0  # between two looks for what is
FORGET_ROWS: Final = 1000  # in one transaction
EFFECTS_AT_ONCE: Final = 500
NEWS_S: Final = 86_400.0  # that it is told which words were counted
_COUNTS: Final = {
    CountedEffect.READ: (Amounts(reads=1), CounterPrefix.IN),
    CountedEffect.DELETED: (Amounts(seen=1), CounterPrefix.DELETED),
    CountedEffect.FORGIVEN: (Amounts(spam=1), CounterPrefix.IN),
}
"""What an effect adds to each piece of its message, and where."""


class FlushableCounters(CounterAdder, CounterCorrector, Protocol):
    """Counters that buffer their additions until `flush`."""

    @property
    def stuck(self) -> bool:
        """Whether what was added waits in memory: the last try to hand it over failed."""
        ...

    def flush(self, now: float) -> int:
        """Hand over what was added.

        Raises:
            StoreError: it can't be written; it stays in memory. Said once; then `stuck` tells.
        """
        ...


class LabelCounter:
    """Adds labels to the counters and subtracts them; one for the lifetime of its counters.

    Args:
        counters: nobody else adds to them.
    """

    def __init__(self, counters: FlushableCounters) -> None:
        self._counters = counters
        self._under_way: Sequence[LabelCountChange] = ()  # added, and not known to be handed over
        self._effects: Sequence[EffectChange] = ()  # the same
        self._forgot_at = 0.0

    def step(self, connection: FeedbackConnection, now: float) -> int:
        """Count or take back some of the words that are to be; return how many.

        Args:
            connection: to the file of people's word.
            now: Unix seconds.

        Raises:
            StoreError: a store can't be written; what is under way is handed over, and noted, by a
                later call.
        """
        ledger, effects = LabelOutbox(connection), EffectOutbox(connection)
        if not self._under_way and not self._effects:
            self._under_way = ledger.begin(AT_ONCE, now)
            for change in self._under_way:
                self._make(change)
            self._effects = effects.begin(EFFECTS_AT_ONCE, now)
            for due in self._effects:
                self._effect(due)
        done = len(self._under_way) + len(self._effects)
        if done:
            self._counters.flush(now)
            if self._counters.stuck:
                return 0
            if self._under_way:
                ledger.end(self._under_way, now)
                self._under_way = ()
            if self._effects:
                effects.end(self._effects)
                self._effects = ()
        elif abs(now - self._forgot_at) >= FORGET_S:
            self._forgot_at = now
            ledger.forget(now - KEPT_S)
            effects.forget(now - KEPT_S)
            while ledger.forget_news(now - NEWS_S, FORGET_ROWS) == FORGET_ROWS:
                pass
        return done

    def _make(self, change: LabelCountChange) -> None:
        if change.wanted:
            self._counters.add(
                CountedPieces(shingles=change.pieces, pairs=()),
                amounts_of(change),
                change.at,
                direction_of_pieces(change.pieces),
            )
        else:
            self._counters.take_back(
                change.pieces, amounts_of(change), change.at, direction_of_pieces(change.pieces)
            )

    def _effect(self, due: EffectChange) -> None:
        """Count an effect, or take it back; what is forgiven is taken back by being counted."""
        amounts, prefix = _COUNTS[due.kind]
        if prefix is CounterPrefix.IN:
            prefix = direction_of_pieces(due.pieces)
        if due.wanted is not (due.kind is CountedEffect.FORGIVEN):
            self._counters.add(
                CountedPieces(shingles=due.pieces, pairs=()), amounts, due.at, prefix
            )
        else:
            self._counters.take_back(due.pieces, amounts, due.at, prefix)


def amounts_of(change: LabelCountChange) -> Amounts:
    """Return what a word adds to each piece of its message."""
    if change.source is LabelSource.TRAP:
        return Amounts(traps=1)
    return Amounts(complaints=1) if change.kind is LabelKind.SPAM else Amounts(pardons=1)
