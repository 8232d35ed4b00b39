"""Figures of tables as they came and were checked: delay, time, rows, rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from statistics import median
from typing import Final, NamedTuple

from oborona.eventlog.batch.store import SHADOW, CheckedTable, SourceTable
from oborona.eventlog.report.book import BatchTime, MergeTime
from oborona.eventlog.report.figures import (
    BatchFigure,
    DelayFigure,
    HourFigure,
    MergeFigure,
    RowFigure,
    RuleFigure,
)
from oborona.eventlog.report.span import HOUR_S, ReportSpan
from oborona.eventlog.row_volume import DAYS, LEAST_DAYS, far_from_usual
from oborona.eventlog.slots import DAY_S, slot_name


class CheckedDelay(NamedTuple):
    """A checked table, and how it was checked."""

    table: CheckedTable
    delivered: float  # Unix seconds
    delay_s: float  # that it waited for its check


_DELIVERED: Final = attrgetter("delivered")
_DONE: Final = attrgetter("done")


def checks(
    sources: Mapping[str, SourceTable], checked: Sequence[CheckedTable]
) -> list[CheckedDelay]:
    """Return checked tables with their delays; those whose source is not given are left out."""
    return [
        CheckedDelay(table, source.delivered, max(0.0, table.done - source.delivered))
        for table in checked
        if (source := sources.get(table.name)) is not None
    ]


def delays(
    found: Sequence[CheckedDelay], span: ReportSpan, late_s: float
) -> tuple[DelayFigure, ...]:
    """Return how long tables waited, by when they were delivered."""
    figures = []
    for time, tables in span.pieces(found, _DELIVERED).items():
        waited = [one.delay_s for one in tables]
        figures.append(
            DelayFigure(
                time=time,
                tables=len(tables),
                median_s=round(median(waited), 1),
                longest_s=round(max(waited), 1),
                late=sum(one > late_s for one in waited),
            )
        )
    return tuple(figures)


def batches(found: Sequence[BatchTime], span: ReportSpan) -> tuple[BatchFigure, ...]:
    """Return how long batches took, by when they were done."""
    figures = []
    for time, ones in span.pieces(found, _DONE).items():
        took = [max(0.0, one.done - one.begun) for one in ones]
        figures.append(
            BatchFigure(
                time=time,
                batches=len(ones),
                tables=sum(one.tables for one in ones),
                median_s=round(median(took), 1),
                longest_s=round(max(took), 1),
                cpu_s=round(sum(one.cpu_s for one in ones), 1),
                again=sum(one.tries > 0 for one in ones),
            )
        )
    return tuple(figures)


def merges(
    found: Sequence[MergeTime], delivered: Mapping[str, float], span: ReportSpan
) -> tuple[MergeFigure, ...]:
    """Return how long after their delivery tables were merged, by when they were.

    Args:
        found: of one period.
        delivered: when each table was, Unix seconds.
        span: of the report.
    """
    figures = []
    for time, ones in span.pieces(found, _DONE).items():
        waited = [
            max(0.0, one.done - delivered[name])
            for one in ones
            for name in one.tables
            if name in delivered
        ]
        figures.append(
            MergeFigure(
                time=time,
                merges=len(ones),
                tables=sum(len(one.tables) for one in ones),
                rows=sum(one.rows for one in ones),
                median_s=round(median(waited or [0.0]), 1),
                longest_s=round(max(waited, default=0.0), 1),
                repaired=sum(one.repaired for one in ones),
            )
        )
    return tuple(figures)


def rows(found: Sequence[CheckedDelay], span: ReportSpan) -> tuple[RowFigure, ...]:
    """Return the rows of checked tables, by when these were delivered."""
    figures = []
    for time, tables in span.pieces(found, _DELIVERED).items():
        counts = [one.table.rows for one in tables]
        marked = sum(one.table.marked for one in tables)
        figures.append(
            RowFigure(
                time=time,
                tables=len(tables),
                rows=sum(counts),
                per_table=round(sum(counts) / len(tables), 1),
                most=max(counts),
                marked=marked,
                share=share(marked, sum(counts)),
            )
        )
    return tuple(figures)


def rules(found: Sequence[CheckedDelay]) -> tuple[RuleFigure, ...]:
    """Return the rows that each rule marked, or would have, most first."""
    fired = Counter[str]()
    for one in found:
        for name, count in one.table.fired.items():
            fired[name] += count
    of_all = sum(one.table.rows for one in found)
    return tuple(
        RuleFigure(
            rule=name.removesuffix(SHADOW),
            shadow=name.endswith(SHADOW),
            rows=count,
            share=share(count, of_all),
        )
        for name, count in sorted(fired.items(), key=lambda one: (-one[1], one[0]))
    )


def hours(sources: Sequence[SourceTable], span: ReportSpan) -> tuple[HourFigure, ...]:
    """Return the rows of each whole hour beside what is usual then.

    Args:
        sources: delivered in the span or on the seven days before.
        span: in hours.
    """
    counts = Counter[int]()
    for table in sources:
        counts[span.start(table.delivered)] += table.rows
    if not counts:
        return ()
    whole = min(counts) + HOUR_S  # the log may have begun in the middle of its first hour
    figures = []
    for start in range(max(span.first, whole), span.start(span.last), HOUR_S):
        days = (start - day * DAY_S for day in range(1, DAYS + 1))
        before = [counts[day] for day in days if day >= whole]
        enough = len(before) >= LEAST_DAYS
        figures.append(
            HourFigure(
                time=slot_name(start),
                rows=counts[start],
                usual=round(float(median(before)), 1) if enough else None,
                far=enough and far_from_usual(counts[start], before) is not None,
            )
        )
    return tuple(figures)


def share(part: int, whole: int) -> float:
    """Return a part of a whole; of nothing it is none."""
    return round(part / whole, 4) if whole else 0.0
