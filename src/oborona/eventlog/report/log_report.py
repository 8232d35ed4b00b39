"""All figures of a report, read from the book of event logs alone: no table is opened, and the
packages that compute over them are not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.batch.threshold_book import ThresholdBook
from oborona.eventlog.daily.book import DAY, DayPassBook
from oborona.eventlog.lateness import MOST
from oborona.eventlog.report import days as of_days
from oborona.eventlog.report import streams
from oborona.eventlog.report.book import MergeTime, TimeBook
from oborona.eventlog.report.figures import (
    MOST_LISTED,
    AsideFigure,
    LogFigures,
    LogTotals,
    MergeFigure,
    ReportFigures,
    WaitingFigure,
)
from oborona.eventlog.report.span import HOUR_S, ReportSpan, span_of
from oborona.eventlog.row_volume import DAYS
from oborona.eventlog.slots import DAY_S, slot_name

PERIODS: Final = ("30min", DAY)
HOURS_DAYS: Final = 7  # of which each hour is shown


def report_figures(
    store: LogStore,
    logs: Sequence[str],
    troubles: Mapping[str, str],
    *,
    days: int,
    now: float,
    late_s: float,
) -> ReportFigures:
    """Return the figures of logs.

    Args:
        store: what is known of them.
        logs: their names; one may be unknown to the store, and has had no table then.
        troubles: what keeps a log from being worked on, by its name.
        days: that are looked back.
        now: Unix seconds.
        late_s: that a delivered table may wait for its check.

    Raises:
        StoreError: the store can't be read.
    """
    return ReportFigures(
        made=slot_name(int(now)),
        days=days,
        piece_s=span_of(days, now).piece_s,
        late_s=late_s,
        logs=tuple(
            _log_figures(store, log, troubles.get(log, ""), days, now, late_s) for log in logs
        ),
    )


def hours_span(days: int, now: float) -> ReportSpan:
    """Return the time of which each hour is shown; arguments as of `span_of`."""
    return ReportSpan(int((now - min(days, HOURS_DAYS) * DAY_S) // HOUR_S) * HOUR_S, now, HOUR_S)


def _log_figures(
    store: LogStore, log: str, trouble: str, days: int, now: float, late_s: float
) -> LogFigures:
    span, by_hour, by_day = span_of(days, now), hours_span(days, now), span_of(days, now, DAY_S)
    recent = store.sources(log, since=min(span.first, by_hour.first - DAYS * DAY_S))
    sources = {one.name: one for one in recent if one.delivered >= span.first}
    done = streams.checks(sources, store.checked(log, span.first))
    merged = TimeBook(store, log).merges(span.first)
    delivered = _delivered(store, log, merged, {one.name: one.delivered for one in recent})
    aside = store.set_aside(log, span.first)
    waiting = _waiting(store, log, now, late_s)
    lines, left_out = of_days.thresholds(ThresholdBook(store, log).history(), by_day)
    rows, marked = sum(one.table.rows for one in done), sum(one.table.marked for one in done)
    return LogFigures(
        log=log,
        totals=LogTotals(
            tables=len(done),
            late=sum(one.delay_s > late_s for one in done),
            longest_s=round(max((one.delay_s for one in done), default=0.0), 1),
            rows=rows,
            marked=marked,
            share=streams.share(marked, rows),
            waiting=len(waiting),
            aside=len(aside),
            trouble=trouble,
        ),
        delays=streams.delays(done, span, late_s),
        batches=streams.batches(TimeBook(store, log).batches(span.first), span),
        merges={period: _merges(merged, period, delivered, span) for period in PERIODS},
        rows=streams.rows(done, span),
        rules=streams.rules(done),
        hours=streams.hours(recent, by_hour),
        thresholds=lines,
        thresholds_left_out=left_out,
        passes=of_days.passes(
            DayPassBook(store, log).outcomes(slot_name(by_day.first)[:10]), by_day
        ),
        waiting=waiting[:MOST_LISTED],
        aside=tuple(AsideFigure(name=name, why=why) for name, why in aside[:MOST_LISTED]),
    )


def _delivered(
    store: LogStore, log: str, merged: Sequence[MergeTime], known: Mapping[str, float]
) -> dict[str, float]:
    """Return when tables were delivered; some that were merged in the span came before it."""
    older = {name for one in merged for name in one.tables} - known.keys()
    found = store.sources(log, names=sorted(older)) if older else []
    return {**known, **{one.name: one.delivered for one in found}}


def _merges(
    merged: Sequence[MergeTime], period: str, delivered: Mapping[str, float], span: ReportSpan
) -> tuple[MergeFigure, ...]:
    return streams.merges([one for one in merged if one.period == period], delivered, span)


def _waiting(store: LogStore, log: str, now: float, late_s: float) -> tuple[WaitingFigure, ...]:
    return tuple(
        WaitingFigure(
            table=one.name,
            delivered=slot_name(int(one.delivered)),
            rows=one.rows,
            waits_s=round(max(0.0, now - one.delivered), 1),
            late=now - one.delivered > late_s,
        )
        for one in store.sources(log, names=store.due(log, MOST))
    )
