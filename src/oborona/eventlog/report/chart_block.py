"""What all charts of a report have in common: figures become points, and have a table below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from oborona.eventlog.report.charts import ChartPoint
from oborona.eventlog.report.figure_tables import figure_table, folded
from oborona.eventlog.report.span import HOUR_S
from oborona.eventlog.slots import DAY_S
from oborona.page import NONE, Markup, element, figure

Figure = TypeVar("Figure", bound=msgspec.Struct)


def length(seconds: float) -> str:
    """Return a time in words, such as 4 hours."""
    for unit, name in ((DAY_S, "day"), (HOUR_S, "hour"), (60, "minute"), (1, "second")):
        if seconds >= unit:
            return f"{seconds / unit:g} {name}{'' if seconds == unit else 's'}"
    return f"{seconds:g} seconds"


def chart_block(
    title: str,
    pictures: Sequence[tuple[Markup, str]],
    sort: type[msgspec.Struct],
    rows: Sequence[msgspec.Struct],
) -> Markup:
    """Return pictures, and the table of their figures.

    Args:
        title: above them.
        pictures: each with what it shows.
        sort: what figures they are.
        rows: the figures; where there are none it is said.
    """
    inner = (
        (
            *(figure(picture, told) for picture, told in pictures),
            folded("Figures", figure_table(title, sort, rows)),
        )
        if rows
        else (element("p", NONE, "Nothing in this time."),)
    )
    return element("div", NONE, element("h3", NONE, title), *inner)


def chart_points(
    rows: Sequence[Figure],
    value: Callable[[Figure], float],
    note: Callable[[Figure], str],
    *,
    middle: Callable[[Figure], float | None] = lambda _: None,
    is_odd: Callable[[Figure], bool] = lambda _: False,
) -> list[ChartPoint]:
    """Return figures as a chart takes them, each by the time or the day that it is of.

    Args:
        rows: the figures.
        value: what is shown of each.
        note: what is said of it.
        middle: a second value.
        is_odd: it needs a look.
    """
    points = []
    for one in rows:
        at = getattr(one, "time", "") or getattr(one, "date", "")
        points.append(
            ChartPoint(
                start=datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp(),
                value=value(one),
                note=f"{at}: {note(one)}",
                middle=middle(one),
                is_odd=is_odd(one),
            )
        )
    return points


def highest(points: Sequence[ChartPoint]) -> float:
    """Return the greatest value; of none it is nothing."""
    return max((point.value for point in points), default=0.0)
