"""A span of time as people write it: 90s, 30m, 2h, 7d."""

from __future__ import annotations

import re
from typing import Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"([0-9]{1,6})([smhdw])")


class Span(click.ParamType[float]):
    """Seconds, out of a number with a unit."""

    name = "span"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, int | float):
            return float(value)
        found = _SPAN.fullmatch(value.strip().lower())
        if found is None:
            self.fail(f"{value!r}: write a number with s, m, h, d or w, such as 2h", param, ctx)
        return float(int(found[1]) * _UNITS[found[2]])
