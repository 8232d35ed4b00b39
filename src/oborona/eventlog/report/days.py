"""Figures of days: thresholds that were made of them, and what passes over them found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Final

from oborona.eventlog.batch.threshold_book import LEAP_DAYS, EventThreshold, threshold_leap
from oborona.eventlog.daily.book import PassedDay
from oborona.eventlog.report.figures import PassFigure, ThresholdFigure
from oborona.eventlog.report.span import ReportSpan
from oborona.eventlog.report.streams import share

MOST_EVENTS: Final = 24  # with a chart of their own
ANEW: Final = "the day was written anew since, and is to be gone over again"


def moment_of(date: str) -> float:
    """Return the first second of a day, Unix seconds; 0 where it is none."""
    try:
        return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def thresholds(
    history: Sequence[EventThreshold], span: ReportSpan
) -> tuple[tuple[ThresholdFigure, ...], int]:
    """Return the thresholds of the events that matter most, and how many events are left out.

    Those come first that leapt, then those that most persons had. A piece of several days has its
    last threshold, or the last that leapt.

    Args:
        history: of all events, by event and day.
        span: in days.
    """
    found = list[tuple[bool, int, str, list[ThresholdFigure]]]()
    for name, group in groupby(history, attrgetter("event")):
        figures = _pieces(list(group), span)
        if figures:
            leapt = any(one.leapt for one in figures)
            found.append((not leapt, -max(one.persons for one in figures), name, figures))
    found.sort(key=lambda one: one[:3])
    shown = sorted(found[:MOST_EVENTS], key=lambda one: one[2])
    left_out = len(found) - len(shown)
    return tuple(figure for *_, figures in shown for figure in figures), left_out


def _pieces(days: list[EventThreshold], span: ReportSpan) -> list[ThresholdFigure]:
    figures = [
        ThresholdFigure(
            event=one.event,
            date=one.date,
            threshold=round(one.threshold, 1),
            persons=one.people,
            most=round(one.most, 1),
            leapt=threshold_leap(days[max(0, place + 1 - LEAP_DAYS) : place + 1]) is not None,
        )
        for place, one in enumerate(days)
        if moment_of(one.date) >= span.first
    ]
    return [
        next((one for one in reversed(piece) if one.leapt), piece[-1])
        for piece in span.pieces(figures, lambda one: moment_of(one.date)).values()
    ]


def passes(found: Sequence[PassedDay], span: ReportSpan) -> tuple[PassFigure, ...]:
    """Return what the last pass over each day found.

    Args:
        found: one of each day.
        span: in days.
    """
    figures = []
    for ones in span.pieces(found, lambda one: moment_of(one.date)).values():
        told = [one for one in ones if one.rows >= 0]
        of_all, revised = sum(one.rows for one in told), sum(one.revised for one in told)
        why = next((one.why for one in ones if one.why), ANEW if len(told) < len(ones) else "")
        figures.append(
            PassFigure(
                date=ones[0].date,
                days=len(ones),
                rows=of_all,
                revised=revised,
                share=share(revised, of_all),
                marked=sum(one.marked for one in told),
                persons=sum(one.persons for one in told),
                why=why,
            )
        )
    return tuple(figures)
