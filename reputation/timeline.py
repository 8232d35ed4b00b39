"""The past of one address, sender or entity as judgements read it: 144 buckets of ten minutes, 14
days, and what happened beside the mail.

The counters keep it all: the entity's own record, the `seen` of its records under the prefixes
`refused`, `first` and `deleted`, and the distinct recipients of a day, which a unique pair counts.
`entity_history` lays these beside each other, so that one bucket says all of one time.

    buckets   the last 24 hours, oldest first; the current one, which may have just begun, is the
              last
    days      14 of UTC, oldest first; today, as far as it has come, is the last

Both windows hold the same mail: today's buckets are in today, and the older ones in yesterday.  So
`before` gives the thirteen days before today less what lies in the last 24 hours: two parts without
overlap.

Weighed sums: the last 24 hours count whole, what was before them halves every GOOD_HALF_LIFE days,
or every BAD_HALF_LIFE days where it is held against somebody, and what is older than the window is
forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from oborona.types import Metric

# Past NamedTuple's own constructor, which costs more than the rest: 158 of these are laid out for
# each past.
_new: Final = tuple.__new__

BUCKETS: Final = 144  # of ten minutes, as the counters keep them: a day
DAYS: Final = 14
GOOD_HALF_LIFE: Final = 3.0  # days
BAD_HALF_LIFE: Final = 2.5
AGES: Final = range(DAYS - 1, 0, -1)  # days, of the days before today, oldest first
GOOD_AGING: Final = tuple(2 ** (-age / GOOD_HALF_LIFE) for age in AGES)
BAD_AGING: Final = tuple(2 ** (-age / BAD_HALF_LIFE) for age in AGES)
HOUR: Final = 6  # buckets


class CounterTimeline(Protocol):
    """A time-line as counters give it."""

    @property
    def buckets(self) -> list[list[int]]:
        """144 of ten minutes, oldest first, each [Metric]."""
        ...

    @property
    def days(self) -> list[list[int]]:
        """14, oldest first, each [Metric]."""
        ...


class TimelineBucket(NamedTuple):
    """What one period counted, each 0 or more."""

    seen: int = 0
    spam: int = 0
    complaints: int = 0
    pardons: int = 0
    reads: int = 0
    traps: int = 0
    refused: int = 0  # before their content: no evidence
    first: int = 0  # to somebody who had had none from this sender for two weeks
    deleted: int = 0  # by their readers, unread
    # of these the ones that were new in their day: a day's are its distinct recipients
    recipients: int = 0

    @property
    def good(self) -> int:
        """Mail that was neither found to be spam nor complained of nor in a trap, as far as it was
        said in the same period.
        """
        return max(0, self.seen - self.spam - self.complaints - self.traps)


class DecayedSums(NamedTuple):
    """Sums, the old worth less."""

    passed: float = 0.0  # messages that were not found to be spam
    spam: float = 0.0
    complaints: float = 0.0
    traps: float = 0.0
    pardons: float = 0.0
    reads: float = 0.0
    deleted: float = 0.0
    first: float = 0.0


NOTHING: Final = TimelineBucket()


class EntityHistory(msgspec.Struct, frozen=True, dict=True):
    """The time-line of one entity."""

    # 144 of ten minutes, oldest first; none where nothing is known
    buckets: tuple[TimelineBucket, ...] = ()
    days: tuple[TimelineBucket, ...] = ()  # 14, oldest first, today last

    @cached_property
    def came(self) -> npt.NDArray[np.float64]:
        """Messages in each bucket of the last 24 hours."""
        return np.array([bucket[0] for bucket in self.buckets], np.float64)

    @cached_property
    def day(self) -> TimelineBucket:
        """The last 24 hours."""
        return total(self.buckets)

    @cached_property
    def hour(self) -> TimelineBucket:
        """The last hour."""
        return total(self.buckets[-HOUR:])

    @cached_property
    def fortnight(self) -> TimelineBucket:
        """All that is known."""
        return total(self.days)

    @cached_property
    def before(self) -> tuple[TimelineBucket, ...]:
        """The thirteen days before today, oldest first, without the last 24 hours."""
        if not self.days:
            return ()
        today, yesterday = self.days[-1], self.days[-2]
        if yesterday is NOTHING or not any(yesterday):
            return self.days[:-1]
        since = [max(0, day - part) for day, part in zip(self.day, today, strict=True)]
        older = TimelineBucket(
            *(max(0, whole - part) for whole, part in zip(yesterday, since, strict=True))
        )
        return (*self.days[:-2], older)

    @cached_property
    def settled(self) -> EntityHistory:
        """The same without the good mail of the last 24 hours, of which nobody has had time to say
        anything; what speaks against it stays.
        """
        if not self.days:
            return self
        buckets = tuple(
            [bucket if bucket is NOTHING else _against(bucket) for bucket in self.buckets]
        )
        return EntityHistory(buckets, (*self.before, total(buckets)))

    @cached_property
    def older(self) -> DecayedSums:
        """What was before the last 24 hours."""
        passed = spam = complaints = traps = pardons = reads = deleted = first = 0.0
        for day, good, bad in zip(self.before, GOOD_AGING, BAD_AGING, strict=False):
            if day is NOTHING:
                continue
            passed += good * max(0, day.seen - day.spam)
            spam += bad * day.spam
            complaints += bad * day.complaints
            traps += bad * day.traps
            pardons += good * day.pardons
            reads += good * day.reads
            deleted += good * day.deleted
            first += good * day.first
        return DecayedSums(passed, spam, complaints, traps, pardons, reads, deleted, first)

    @cached_property
    def weighed(self) -> DecayedSums:
        """All that is known."""
        day, older = self.day, self.older
        return DecayedSums(
            older.passed + max(0, day.seen - day.spam),
            older.spam + day.spam,
            older.complaints + day.complaints,
            older.traps + day.traps,
            older.pardons + day.pardons,
            older.reads + day.reads,
            older.deleted + day.deleted,
            older.first + day.first,
        )


def _against(bucket: TimelineBucket) -> TimelineBucket:
    return bucket._replace(seen=bucket.seen - bucket.good, recipients=0)


def total(buckets: Sequence[TimelineBucket]) -> TimelineBucket:
    """Return the sum of some buckets."""
    some = [bucket for bucket in buckets if bucket is not NOTHING]
    return TimelineBucket(*map(sum, zip(*some, strict=True))) if some else NOTHING


def entity_history(
    line: CounterTimeline,
    *,
    refused: CounterTimeline | None = None,
    first: CounterTimeline | None = None,
    deleted: CounterTimeline | None = None,
    recipients: CounterTimeline | None = None,
) -> EntityHistory:
    """Return what is known of an entity as one time-line.

    Args:
        line: of its record under the prefix `in`, or `out` for what is judged by what it sends.
        refused: of its record under that prefix; None where nobody asked.
        first: of its record under that prefix.
        deleted: of its record under that prefix.
        recipients: of the shingle that counts its distinct recipients.
    """
    beside = (refused, first, deleted, recipients)
    return EntityHistory(
        _merge_columns(
            line.buckets, [None if other is None else other.buckets for other in beside]
        ),
        _merge_columns(line.days, [None if other is None else other.days for other in beside]),
    )


def _merge_columns(
    rows: list[list[int]], beside: Sequence[list[list[int]] | None]
) -> tuple[TimelineBucket, ...]:
    if all(other is None for other in beside):
        return tuple(
            [_new(TimelineBucket, (*row, 0, 0, 0, 0)) if any(row) else NOTHING for row in rows]
        )
    seen = Metric.SEEN
    columns = [repeat(0) if other is None else [row[seen] for row in other] for other in beside]
    aligned = zip(rows, zip(*columns, strict=False), strict=False)
    return tuple(
        [
            _new(TimelineBucket, (*row, *also)) if any(row) or any(also) else NOTHING
            for row, also in aligned
        ]
    )
