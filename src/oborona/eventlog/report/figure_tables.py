"""The figures of a report as tables of a page, for whoever can't see its charts: all of them, as
exactly as the object has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from oborona.eventlog.report import figures as of
from oborona.page import NONE, Markup, element, table

NOTHING: Final = "\N{EN DASH}"
_TITLES: Final = MappingProxyType(
    {
        "again": "begun again",
        "aside": "set aside",
        "cpu_s": "CPU, s",
        "days": "days",
        "delivered": "delivered at",
        "far": "far from usual",
        "late": "late",
        "longest_s": "longest, s",
        "median_s": "median, s",
        "most": "most",
        "per_table": "per table",
        "persons": "persons",
        "repaired": "slots written anew",
        "shadow": "in shadow",
        "tables": "tables",
        "time": "from (UTC)",
        "waits_s": "waits, s",
    }
)


def figure_table(
    caption: str, sort: type[msgspec.Struct], rows: Sequence[msgspec.Struct]
) -> Markup:
    """Return a table of figures, a column for each member.

    Args:
        caption: what it shows.
        sort: what figures they are.
        rows: the figures.
    """
    names = sort.__struct_fields__
    cells = ([figure_text(name, getattr(row, name)) for name in names] for row in rows)
    return table(caption, [_TITLES.get(name, name) for name in names], cells)


def totals_table(logs: Sequence[of.LogFigures]) -> Markup:
    """Return a table of all logs at a glance."""
    names = of.LogTotals.__struct_fields__
    cells = (
        [log.log, *(figure_text(name, getattr(log.totals, name)) for name in names)] for log in logs
    )
    titles = ["log", *(_TITLES.get(name, name) for name in names)]
    return table("All of the time", titles, cells)


def figure_text(name: str, value: object) -> str:
    """Return a figure as text.

    Args:
        name: of the member.
        value: of it.
    """
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2%}" if name == "share" else f"{value:.1f}"
    return str(value)


def folded(summary: str, *inner: Markup, is_open: bool = False) -> Markup:
    """Return what is shown once somebody asks for it."""
    wide = element("div", {"class": "wide"}, *inner)
    state = {"open": "open"} if is_open else NONE
    return element("details", state, element("summary", NONE, summary), wide)
