"""Times as people write and read them: a span (90s, 30m, 2h, 7d), a moment."""

from __future__ import annotations

import time

import click

from oborona.journal.query import parse_span


class DurationParam(click.ParamType[float]):
    """Seconds, out of a number with a unit."""

    name = "span"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, int | float):
            return float(value)
        span = parse_span(value)
        if span is None:
            self.fail(f"{value!r}: write a number with s, m, h, d or w, such as 2h", param, ctx)
        return span


def shown_time(at: float) -> str:
    """Return a time for people, by the clock of this machine; empty for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
