"""Charts of days: thresholds that were made of them, and what passes over them found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from oborona.eventlog.report import figures as of
from oborona.eventlog.report.axis import count_axis, share_axis
from oborona.eventlog.report.chart_block import chart_block, chart_points, highest, length
from oborona.eventlog.report.charts import LOW, ChartFrame, bar_chart, line_chart
from oborona.eventlog.report.span import ReportSpan
from oborona.eventlog.slots import DAY_S
from oborona.page import Markup, element, figure

OTHERS: Final = "(others)"


def threshold_charts(rows: Sequence[of.ThresholdFigure], left_out: int, span: ReportSpan) -> Markup:
    """Return a chart for each event.

    Args:
        rows: by event and day.
        left_out: events.
        span: in days.
    """
    charts = [
        _threshold(name or OTHERS, list(group), span)
        for name, group in groupby(rows, attrgetter("event"))
    ]
    more = f" {left_out} more events are left out." if left_out else ""
    told = (
        "Events of a person in a day from which on he is abnormal, by the day that it was made "
        f"of; a triangle stands over a leap.{more}"
    )
    drawn = element("div", {"class": "many"}, *charts)
    return chart_block("Thresholds", ((drawn, told),), of.ThresholdFigure, rows)


def _threshold(name: str, rows: Sequence[of.ThresholdFigure], span: ReportSpan) -> Markup:
    points = chart_points(
        rows,
        lambda one: one.threshold,
        lambda one: f"{one.date}: {one.threshold}, {one.persons} persons, most {one.most}",
        is_odd=lambda one: one.leapt,
    )
    leaps = sum(one.leapt for one in rows)
    frame = ChartFrame(span, count_axis(highest(points)), LOW)
    told = f"{name}: {rows[-1].threshold} on {rows[-1].date}; leaps: {leaps}"
    return figure(line_chart(frame, points, told), told)


def pass_charts(rows: Sequence[of.PassFigure], span: ReportSpan) -> Markup:
    """Return what passes found, day by day; arguments as of `threshold_charts`."""
    piece = "a day" if span.piece_s == DAY_S else length(span.piece_s)
    points = chart_points(
        rows,
        lambda one: one.share,
        lambda one: f"{one.revised} of {one.rows} rows, {one.share:.2%} {one.why}",
        is_odd=lambda one: bool(one.why),
    )
    told = (
        f"Share of the rows of {piece} that the pass over it gave out again with more rules. A "
        "triangle: it was given up, or is to be done again."
    )
    drawn = bar_chart(ChartFrame(span, share_axis(highest(points))), points, told)
    points = chart_points(rows, lambda one: one.persons, lambda one: f"{one.persons} persons")
    told_of_persons = f"Persons who were caught on {piece}."
    frame = ChartFrame(span, count_axis(highest(points)))
    caught = bar_chart(frame, points, told_of_persons)
    pictures = ((drawn, told), (caught, told_of_persons))
    return chart_block("Passes over days", pictures, of.PassFigure, rows)
