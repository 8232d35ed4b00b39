"""Charts of whatever is counted: series by what their names begin with, of a day, two weeks, or all
days that are kept.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec
from aiohttp import web

from oborona.console.bar_chart import bar_chart
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.overview import clock
from oborona.console.visit import Visit
from oborona.people.rights import Right

DAY_S: Final = 86_400.0
DRAWN: Final = 5  # series by their own colours; the others are one
MOST_NAME: Final = 400  # characters


class ChartSpan(msgspec.Struct, frozen=True):
    """How far back a chart looks.

    Args:
        name: translated where it is shown.
        seconds: that it looks back.
        step: of the desk's answer.
        bars: times of the answer that are one bar.
        form: of the time of a bar.
    """

    name: str
    seconds: float
    step: str
    bars: int
    form: str


SPANS: Final = {
    "day": ChartSpan(marked("24 hours"), DAY_S, "10m", 1, "%H:%M"),
    "fortnight": ChartSpan(marked("14 days"), 14 * DAY_S, "10m", 18, "%m-%d %H:%M"),
    "all": ChartSpan(marked("400 days"), 400 * DAY_S, "1d", 4, "%Y-%m-%d"),
}


class ChartLineShown(msgspec.Struct, frozen=True, kw_only=True):
    """One series."""

    name: str
    kind: str
    total: int
    values: list[int | None]


class ShownChart(msgspec.Struct, frozen=True, kw_only=True):
    """Series over the same times."""

    first: int
    step: int
    times: int
    series: list[ChartLineShown]
    unknown: list[str] = []
    begins: int | None = None


class NamedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One that there is."""

    name: str
    kind: str


class KnownSeries(msgspec.Struct, frozen=True, kw_only=True):
    """All that there are."""

    series: list[NamedSeries] = []


@page("GET", "/charts", Right.STATUS, menu=marked("Charts"), order=80, whole=True)
async def show_charts(visit: Visit) -> web.Response:
    """Show the series whose names begin so.

    Raises:
        DeskError: the desk does not answer.
    """
    prefix = visit.query("series")[:MOST_NAME].strip("/ ")
    chosen = visit.query("span") if visit.query("span") in SPANS else "day"
    span = SPANS[chosen]
    known = await visit.part("charts.series", {}, KnownSeries)
    chart, told = None, ""
    if known is not None and prefix:
        try:
            chart = await _read(visit, prefix, span)
        except DeskError as error:
            if error.status != 422:
                raise
            told = error.text
    if chart is not None and visit.query("as") == "json":
        return visit.json("chart", chart)
    if chart is not None and visit.query("as") == "csv":
        heads = ["time", *(one.name for one in chart.series)]
        rows = (
            [chart.first + number * chart.step, *(one.values[number] for one in chart.series)]
            for number in range(chart.times)
        )
        return visit.csv("chart", heads, rows)
    names = [one.name for one in known.series] if known is not None else []
    return visit.render(
        "charts/page.html",
        422 if told else 200,
        prefix=prefix,
        chosen=chosen,
        spans=SPANS,
        known=known,
        groups=sorted({name.partition("/")[0] for name in names}),
        found=chart,
        chart=drawn(chart, span) if chart is not None and chart.series else None,
        told=told,
    )


async def _read(visit: Visit, prefix: str, span: ChartSpan) -> ShownChart | None:
    """Return series; None: their store is away.

    Raises:
        DeskError: it can't be asked so.
    """
    from_now = {"series": [prefix], "step": span.step, "since": time.time() - span.seconds}
    return await visit.part("charts.read", from_now, ShownChart)


def drawn(found: ShownChart, span: ChartSpan) -> object:
    """Return a chart of the largest series; the others are one."""
    ranked = sorted(found.series, key=lambda one: (-one.total, one.name))
    shown, rest = ranked[:DRAWN], ranked[DRAWN:]
    lines = [(one.name, one.kind, one.values) for one in shown]
    if rest:
        sums: list[int | None] = [
            sum(one.values[n] or 0 for one in rest) for n in range(found.times)
        ]
        lines.append((_("all others"), "sum", sums))
    columns, labels = [], []
    for begin in range(0, found.times, span.bars):
        pieces = [
            (kind, [v or 0 for v in values[begin : begin + span.bars]])
            for _name, kind, values in lines
        ]
        columns.append([max(piece) if kind == "most" else sum(piece) for kind, piece in pieces])
        labels.append(clock(found.first + begin * found.step, span.form))
    return bar_chart([name for name, _kind, _values in lines], labels, columns)
