"""The report as a page of charts: no script, nothing that is fetched, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oborona.eventlog.report import figures as of
from oborona.eventlog.report import log_charts
from oborona.eventlog.report.chart_block import length
from oborona.eventlog.report.figure_tables import figure_table, folded, totals_table
from oborona.eventlog.report.figures import MOST_LISTED, LogFigures, ReportFigures
from oborona.eventlog.slots import DAY_S
from oborona.page import NONE, Markup, element, page

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #d4d4d4; --bar: #1f5fa8; --odd: #b3261e; --usual: #b3541e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --faint: #41454d; --bar: #7db4f0; --odd: #ff8a80; --usual: #ffb680; }
}
body { color: var(--ink); background: var(--paper); }
th, td { border-color: var(--faint); font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.8rem 0 0; } a { color: inherit; }
section { border-top: 2px solid var(--faint); margin-top: 2.5rem; }
summary { cursor: pointer; } .wide { overflow-x: auto; max-height: 30rem; }
.need { border-left: 4px solid var(--odd); padding-left: .8rem; }
.many { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 0 1rem; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.grid { stroke: var(--faint); } .bar, .middle, .dot { fill: var(--bar); } .range { fill: var(--bar); fill-opacity: .4; }
.shadow { fill: none; stroke: var(--bar); stroke-dasharray: 3 2; } .line { fill: none; stroke: var(--bar); stroke-width: 1.5; }
.usual { stroke: var(--usual); stroke-width: 2; } .limit { stroke: var(--odd); stroke-dasharray: 6 4; } .odd { fill: var(--odd); }
@media print { .wide { max-height: none; } }
"""


def report_page(figures: ReportFigures, now: float) -> str:
    """Return the page.

    Args:
        figures: that it shows.
        now: when they were read, Unix seconds.
    """
    logs = figures.logs
    told = (
        f"{length(figures.days * DAY_S)} to {figures.made} UTC. A bar is {length(figures.piece_s)} where nothing "
        "else is said. A triangle stands over what needs a look. Each chart has a table of its figures."
    )
    links = (
        element("li", NONE, element("a", {"href": f"#log-{place}"}, log.log))
        for place, log in enumerate(logs)
    )
    return page(
        f"Event logs, {figures.made}",
        STYLE,
        element("h1", NONE, "Event logs"),
        element("p", NONE, told),
        element("div", {"class": "wide"}, totals_table(logs)) if logs else _nothing("log"),
        element("nav", NONE, element("ul", NONE, *links)) if len(logs) > 1 else "",
        *(_section(place, log, figures, now) for place, log in enumerate(logs)),
    )


def _section(place: int, log: LogFigures, figures: ReportFigures, now: float) -> Markup:
    charts = log_charts.LogCharts(log, figures, now)
    return element(
        "section",
        {"id": f"log-{place}"},
        element("h2", NONE, log.log),
        element("p", {"class": "need"}, f"It waits: {log.totals.trouble}")
        if log.totals.trouble
        else "",
        _listed(
            "Tables that wait for their check", of.WaitingFigure, log.waiting, log.totals.waiting
        ),
        _listed("Set aside", of.AsideFigure, log.aside, log.totals.aside),
        *charts.all(),
    )


def _listed(
    title: str,
    sort: type[of.WaitingFigure | of.AsideFigure],
    rows: Sequence[of.WaitingFigure | of.AsideFigure],
    number: int,
) -> Markup:
    """Return what needs a look by its names."""
    if not rows:
        return element("p", NONE, f"{title}: none.")
    more = f"; the first {MOST_LISTED} are here" if number > len(rows) else ""
    return element(
        "div",
        {"class": "need"},
        folded(f"{title}: {number}{more}", figure_table(title, sort, rows), is_open=True),
    )


def _nothing(what: str) -> Markup:
    return element("p", NONE, f"There is no {what} yet.")
