"""The figures of a report: what an analyst or a duty officer is shown of each log.

Times are UTC, as names of tables are, and those of the beginning of a piece; seconds have one digit
behind the point, shares four: the page and the object show the same.
"""

from __future__ import annotations

from typing import Final

import msgspec

MOST_LISTED: Final = 200  # tables that wait, and what was set aside


class DelayFigure(msgspec.Struct, frozen=True, kw_only=True):
    """How long tables waited for their check that were delivered in a piece of time."""

    time: str
    tables: int
    median_s: float
    longest_s: float
    late: int  # tables that waited longer than they may


class BatchFigure(msgspec.Struct, frozen=True, kw_only=True):
    """How long batches took that were done in a piece of time."""

    time: str
    batches: int
    tables: int
    median_s: float
    longest_s: float
    cpu_s: float  # of all of them
    again: int  # batches that were begun more than once


class MergeFigure(msgspec.Struct, frozen=True, kw_only=True):
    """How long after their delivery tables were merged in a piece of time."""

    time: str
    merges: int
    tables: int
    rows: int
    median_s: float
    longest_s: float
    repaired: int  # slots that were written anew


class RowFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the checked tables that were delivered in a piece of time."""

    time: str
    tables: int
    rows: int
    per_table: float  # mean
    most: int  # of one table
    marked: int
    share: float  # marked rows of all


class RuleFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that a rule marked, or would have."""

    rule: str
    shadow: bool
    rows: int
    share: float  # of all rows


class HourFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that were delivered in an hour."""

    time: str
    rows: int
    usual: float | None  # median of that hour on the days before; None: too few of them
    far: bool  # it is told


class ThresholdFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold of an event."""

    event: str  # empty = all others
    date: str  # of the day that it was made of
    threshold: float
    persons: int  # that it was made of
    most: float  # events of any of them
    leapt: bool


class PassFigure(msgspec.Struct, frozen=True, kw_only=True):
    """What the last passes over days found."""

    date: str  # the first of them
    days: int
    rows: int
    revised: int
    share: float  # revised rows of all
    marked: int
    persons: int  # who were caught
    why: str  # one was given up; empty = none was


class AsideFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A table, a file or a day that was set aside."""

    name: str
    why: str


class WaitingFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A table that is not checked."""

    table: str
    delivered: str
    rows: int
    waits_s: float
    late: bool


class LogTotals(msgspec.Struct, frozen=True, kw_only=True):
    """A log at a glance, over all of the time."""

    tables: int  # that were delivered and checked
    late: int
    longest_s: float
    rows: int
    marked: int
    share: float
    waiting: int
    aside: int
    trouble: str  # what keeps it from being worked on; empty = nothing


class LogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a log."""

    log: str
    totals: LogTotals
    delays: tuple[DelayFigure, ...]
    batches: tuple[BatchFigure, ...]
    merges: dict[str, tuple[MergeFigure, ...]]  # by period
    rows: tuple[RowFigure, ...]
    rules: tuple[RuleFigure, ...]
    hours: tuple[HourFigure, ...]
    thresholds: tuple[ThresholdFigure, ...]
    thresholds_left_out: int  # events
    passes: tuple[PassFigure, ...]
    waiting: tuple[WaitingFigure, ...]
    aside: tuple[AsideFigure, ...]


class ReportFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a report."""

    made: str
    days: int
    piece_s: int  # of what is not by hour or by day
    late_s: float  # that a delivered table may wait for its check
    logs: tuple[LogFigures, ...]
