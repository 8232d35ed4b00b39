"""The charts of one log, each with its figures as a table below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oborona.eventlog.report import figures as of
from oborona.eventlog.report.axis import count_axis, share_axis, time_axis
from oborona.eventlog.report.chart_block import chart_block, chart_points, highest, length
from oborona.eventlog.report.charts import (
    ChartFrame,
    ChartPoint,
    bar_chart,
    name_chart,
    range_chart,
)
from oborona.eventlog.report.day_charts import pass_charts, threshold_charts
from oborona.eventlog.report.log_report import hours_span
from oborona.eventlog.report.span import span_of
from oborona.eventlog.slots import DAY_S
from oborona.page import Markup

MOST_RULES: Final = 30  # that have a bar


class LogCharts:
    """The charts of a log.

    Args:
        log: its figures.
        report: that they are of.
        now: when they were read, Unix seconds.
    """

    def __init__(self, log: of.LogFigures, report: of.ReportFigures, now: float) -> None:
        self._log = log
        self._late_s = report.late_s
        self._span = span_of(report.days, now)
        self._hours = hours_span(report.days, now)
        self._days = span_of(report.days, now, DAY_S)

    def all(self) -> Iterator[Markup]:
        """Yield them in the order in which they are looked at."""
        yield self._delays()
        yield self._batches()
        for period, rows in self._log.merges.items():
            yield self._merges(period, rows)
        yield self._rows()
        yield self._rules()
        yield self._volume()
        yield threshold_charts(self._log.thresholds, self._log.thresholds_left_out, self._days)
        yield pass_charts(self._log.passes, self._days)

    def _delays(self) -> Markup:
        rows = self._log.delays
        points = chart_points(
            rows,
            lambda one: one.longest_s,
            lambda one: f"{one.tables} tables, median {one.median_s} s, longest {one.longest_s} s",
            middle=lambda one: one.median_s,
            is_odd=lambda one: one.late > 0,
        )
        frame = ChartFrame(self._span, time_axis([*_seconds(points), self._late_s]))
        told = (
            "From delivery to the checked table: from the median up to the longest of "
            f"{length(self._span.piece_s)}. The dashed line is eventlog.late_minutes "
            f"({length(self._late_s)}); {sum(one.late for one in rows)} tables were later."
        )
        drawn = range_chart(frame, points, told, self._late_s)
        return chart_block("Delay of checks", ((drawn, told),), of.DelayFigure, rows)

    def _batches(self) -> Markup:
        rows = self._log.batches
        points = chart_points(
            rows,
            lambda one: one.longest_s,
            lambda one: (
                f"{one.batches} batches of {one.tables} tables, median {one.median_s} s,"
                f" longest {one.longest_s} s, CPU {one.cpu_s} s, {one.again} begun again"
            ),
            middle=lambda one: one.median_s,
            is_odd=lambda one: one.again > 0,
        )
        told = (
            "From the beginning of a batch to its end: from the median up to the longest of "
            f"{length(self._span.piece_s)}. A triangle: one was begun more than once."
        )
        drawn = range_chart(ChartFrame(self._span, time_axis(_seconds(points))), points, told)
        return chart_block("Time of batches", ((drawn, told),), of.BatchFigure, rows)

    def _merges(self, period: str, rows: Sequence[of.MergeFigure]) -> Markup:
        points = chart_points(
            rows,
            lambda one: one.longest_s,
            lambda one: (
                f"{one.merges} merges of {one.tables} tables, {one.rows} rows, median"
                f" {one.median_s} s, longest {one.longest_s} s, {one.repaired} slots written anew"
            ),
            middle=lambda one: one.median_s,
            is_odd=lambda one: one.repaired > 0,
        )
        told = (
            f"From the delivery of tables until their rows were in {period}: from the median up to "
            f"the longest of {length(self._span.piece_s)}. A triangle: a slot was written anew."
        )
        drawn = range_chart(ChartFrame(self._span, time_axis(_seconds(points))), points, told)
        return chart_block(f"Delay of merges into {period}", ((drawn, told),), of.MergeFigure, rows)

    def _rows(self) -> Markup:
        rows = self._log.rows
        points = chart_points(
            rows,
            lambda one: one.most,
            lambda one: f"{one.tables} tables, {one.per_table} rows each, {one.most} at most",
            middle=lambda one: one.per_table,
        )
        told = "Rows of a table of five minutes: a bar is the most of one, a stroke the mean."
        drawn = bar_chart(ChartFrame(self._span, count_axis(highest(points))), points, told)
        points = chart_points(
            rows,
            lambda one: one.share,
            lambda one: f"{one.marked} of {one.rows} rows, {one.share:.2%}",
        )
        told_of_share = "Share of rows that a live rule marked."
        frame = ChartFrame(self._span, share_axis(highest(points)))
        shares = bar_chart(frame, points, told_of_share)
        pictures = ((drawn, told), (shares, told_of_share))
        return chart_block(
            "Rows of tables, and the share of marked ones", pictures, of.RowFigure, rows
        )

    def _rules(self) -> Markup:
        rows = self._log.rules
        bars = [
            (
                f"{one.rule} (shadow)" if one.shadow else one.rule,
                float(one.rows),
                f"{one.rows} ({one.share:.2%})",
                not one.shadow,
            )
            for one in rows[:MOST_RULES]
        ]
        more = f" {len(rows) - MOST_RULES} more stand below." if len(rows) > MOST_RULES else ""
        told = (
            "Rows that each rule marked in tables of five minutes; empty bars are rules in shadow "
            f"mode, which would have marked as many.{more}"
        )
        return chart_block(
            "Marked rows by rule", ((name_chart(bars, told), told),), of.RuleFigure, rows
        )

    def _volume(self) -> Markup:
        rows = self._log.hours
        points = chart_points(
            rows,
            lambda one: one.rows,
            lambda one: (
                f"{one.rows} rows"
                + ("" if one.usual is None else f", {one.usual} usually")
                + (", far from usual" if one.far else "")
            ),
            middle=lambda one: one.usual,
            is_odd=lambda one: one.far,
        )
        top = max(highest(points), max((point.middle or 0.0 for point in points), default=0.0))
        told = (
            "Rows of each hour of the last days; a stroke is the median of the same hour on the "
            "seven days before, a triangle stands where both are far apart."
        )
        drawn = bar_chart(ChartFrame(self._hours, count_axis(top)), points, told)
        return chart_block("Rows by hour", ((drawn, told),), of.HourFigure, rows)


def _seconds(points: Sequence[ChartPoint]) -> list[float]:
    """Return all times of points: of each its value, and the second one where it has one."""
    return [time for point in points for time in (point.value, point.middle) if time is not None]
