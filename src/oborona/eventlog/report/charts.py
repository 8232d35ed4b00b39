"""Charts as SVG within a page: text stays text, colours are those of the page's style, the same
figures give the same octets.

What matters is told by a shape as well as by a colour: a triangle stands over what needs a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from oborona.eventlog.report.axis import ChartAxis, named_times
from oborona.eventlog.report.span import ReportSpan
from oborona.page import NONE, Markup, element

WIDE: Final = 720.0
LEFT: Final = 56.0  # for names of lines
RIGHT: Final = 8.0
ABOVE: Final = 14.0  # for triangles over what is at the top
BELOW: Final = 22.0  # for names of times
HIGH: Final = 180.0
LOW: Final = 110.0  # of one of many charts
LEAST_WIDE: Final = 1.0  # of a bar
LETTER: Final = 6.5  # how wide one is at most, of names of times
LETTERS: Final = 44  # of a rule's name
ROW: Final = 20.0  # of a rule


class ChartPoint(NamedTuple):
    """What is shown of a piece of time."""

    start: float  # Unix seconds
    value: float
    note: str  # what is said of it
    middle: float | None = None  # a second value, such as a median
    is_odd: bool = False  # it needs a look


class ChartFrame(NamedTuple):
    """Where things stand in a chart."""

    span: ReportSpan
    axis: ChartAxis
    high: float = HIGH

    def left(self, time: float) -> float:
        """Return where a time stands."""
        length = self.span.ends - self.span.first
        return LEFT + (WIDE - LEFT - RIGHT) * (time - self.span.first) / length

    def middle(self, point: ChartPoint) -> float:
        """Return where the middle of a piece stands."""
        return self.left(self.span.start(point.start) + self.span.piece_s / 2)

    def bar(self) -> float:
        """Return how wide a bar is."""
        wide = self.left(self.span.first + self.span.piece_s) - LEFT
        return max(LEAST_WIDE, min(wide * 0.8, 24.0))

    def top(self, value: float) -> float:
        """Return where a value stands."""
        return ABOVE + (self.high - ABOVE - BELOW) * (1 - self.axis.height(value))

    def picture(self, told: str, marks: Sequence[Markup]) -> Markup:
        """Return the chart with its lines and names.

        Args:
            told: what it shows, for those who can't see it.
            marks: what stands in it.
        """
        parts = []
        for value, name in self.axis.lines:
            parts.append(_line("grid", LEFT, WIDE - RIGHT, self.top(value)))
            parts.append(_words(LEFT - 6, self.top(value) + 4, name, "end"))
        for time, name in named_times(self.span):
            if self.left(time) + LETTER * len(name) <= WIDE:
                parts.append(_words(self.left(time), self.high - 5, name, "start"))
            parts.append(_tick(self.left(time), self.high - BELOW))
        return _picture(self.high, told, [*parts, *marks])


def bar_chart(frame: ChartFrame, points: Sequence[ChartPoint], told: str) -> Markup:
    """Return bars from the bottom up; a second value is a stroke across."""
    marks, bottom, wide = [], frame.high - BELOW, frame.bar()
    for point in points:
        left, top = frame.middle(point) - wide / 2, frame.top(point.value)
        parts = [_box("bar", left, top, wide, bottom - top)]
        if point.middle is not None:
            parts.append(_line("usual", left - 1, left + wide + 1, frame.top(point.middle)))
        marks.append(_noted(frame, point, parts))
    return frame.picture(told, marks)


def range_chart(
    frame: ChartFrame, points: Sequence[ChartPoint], told: str, limit: float | None = None
) -> Markup:
    """Return strokes from the second value up to the first, and a dot at the second.

    Args:
        frame: of the chart.
        points: what is shown.
        told: what it shows, in words.
        limit: a value that has a line across the chart.
    """
    marks, wide = [], frame.bar()
    if limit is not None:
        marks.append(_line("limit", LEFT, WIDE - RIGHT, frame.top(limit)))
    for point in points:
        low = point.value if point.middle is None else point.middle
        left, top, bottom = frame.middle(point), frame.top(point.value), frame.top(low)
        parts = [
            _box("range", left - wide / 2, top, wide, max(bottom - top, 1.0)),
            _dot("middle", left, bottom, max(1.5, wide / 4)),
        ]
        marks.append(_noted(frame, point, parts))
    return frame.picture(told, marks)


def line_chart(frame: ChartFrame, points: Sequence[ChartPoint], told: str) -> Markup:
    """Return a line through all points."""
    places = [(frame.middle(point), frame.top(point.value)) for point in points]
    drawn = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
    marks = [element("polyline", {"class": "line", "points": drawn})]
    for point, (left, top) in zip(points, places, strict=True):
        marks.append(_noted(frame, point, [_dot("dot", left, top, 2.0)]))
    return frame.picture(told, marks)


def name_chart(rows: Sequence[tuple[str, float, str, bool]], told: str) -> Markup:
    """Return bars from the left, the first on top.

    Args:
        rows: each with its name, its value, what is said of it, and whether it counts.
        told: what it shows, in words.
    """
    most = max((value for _, value, _, _ in rows), default=0) or 1
    begin, marks = 300.0, []
    for place, (name, value, note, counts) in enumerate(rows):
        top = place * ROW
        short = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
        wide = max(LEAST_WIDE, (WIDE - begin - 130) * value / most)
        parts = [
            element("title", NONE, f"{name}: {note}"),
            _words(begin - 8, top + 14, short, "end"),
            _box("bar" if counts else "shadow", begin, top + 4, wide, ROW - 8),
            _words(begin + wide + 6, top + 14, note, "start"),
        ]
        marks.append(element("g", NONE, *parts))
    return _picture(max(len(rows), 1) * ROW, told, marks)


def _picture(high: float, told: str, parts: Sequence[Markup]) -> Markup:
    return element(
        "svg",
        {
            "role": "img",
            "aria-label": told,
            "viewBox": f"0 0 {WIDE:g} {high:g}",
            "width": f"{WIDE:g}",
            "height": f"{high:g}",
        },
        *parts,
    )


def _noted(frame: ChartFrame, point: ChartPoint, parts: Sequence[Markup]) -> Markup:
    told = [element("title", NONE, point.note), *parts]
    if point.is_odd:
        left, top = frame.middle(point), frame.top(point.value) - 4
        drawn = f"M{left:.1f} {top:.1f}l-5 -9h10z"
        told.append(element("path", {"class": "odd", "d": drawn}))
    return element("g", NONE, *told)


def _line(sort: str, left: float, right: float, top: float) -> Markup:
    places = {"x1": f"{left:.1f}", "x2": f"{right:.1f}", "y1": f"{top:.1f}", "y2": f"{top:.1f}"}
    return element("line", {"class": sort, **places})


def _tick(left: float, top: float) -> Markup:
    places = {"x1": f"{left:.1f}", "x2": f"{left:.1f}", "y1": f"{top:.1f}", "y2": f"{top + 5:.1f}"}
    return element("line", {"class": "grid", **places})


def _box(sort: str, left: float, top: float, wide: float, high: float) -> Markup:
    places = {
        "x": f"{left:.1f}",
        "y": f"{top:.1f}",
        "width": f"{wide:.1f}",
        "height": f"{high:.1f}",
    }
    return element("rect", {"class": sort, **places})


def _dot(sort: str, left: float, top: float, wide: float) -> Markup:
    return element(
        "circle", {"class": sort, "cx": f"{left:.1f}", "cy": f"{top:.1f}", "r": f"{wide:.1f}"}
    )


def _words(left: float, top: float, words: str, anchor: str) -> Markup:
    places = {"x": f"{left:.1f}", "y": f"{top:.1f}", "text-anchor": anchor}
    return element("text", places, words)
