"""A span of time as people write it: 90s, 30m, 2h, 7d."""

from __future__ import annotations

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
