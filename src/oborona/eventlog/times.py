"""Times of events, as microseconds since the epoch."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

_MICRO: Final = 1_000_000
_MOST_S: Final = 253_402_300_800.0  # the year 10000: no calendar writes a later one


def microseconds(seconds: float) -> int | None:
    """Return Unix seconds as microseconds; None where they are no time of this calendar."""
    if not math.isfinite(seconds) or not -_MOST_S < seconds < _MOST_S:
        return None
    return round(seconds * _MICRO)


def parse_time(value: object) -> int | None:
    """Return the time that a value tells; None where it tells none.

    Args:
        value: Unix seconds, or a text: these, or a time of ISO 8601, which is in UTC where it names
            no zone.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return microseconds(value) if abs(value) < _MOST_S else None
    if isinstance(value, datetime):
        return _of(value)
    text = str(value).strip()[:64]
    try:
        return microseconds(float(text))
    except ValueError:
        pass
    try:
        return _of(datetime.fromisoformat(text))
    except ValueError:
        return None


def _of(moment: datetime) -> int | None:
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return microseconds(zoned.timestamp())
