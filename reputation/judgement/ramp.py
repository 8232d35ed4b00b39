"""How a value becomes a part of one: 0 up to a line, 1 from another line on, straight or by its
logarithm between them.
"""

from __future__ import annotations

from math import log


def ramp(value: float, start: float, full: float) -> float:
    """Return 0 at `start` to 1 at `full`, straight between them."""
    return min(1.0, max(0.0, (value - start) / (full - start)))


def steps(value: float, start: float, full: float) -> float:
    """Return 0 at `start` to 1 at `full`, equal steps for equal ratios; both above 0."""
    return 0.0 if value <= start else min(1.0, log(value / start) / log(full / start))
