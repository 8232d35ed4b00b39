"""The time of day and of the week, in the time zone that a rule names."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def zone(name: str) -> tzinfo:
    """Return a time zone of the IANA database, such as Europe/Moscow.

    Raises:
        ValueError: there is none of this name, or no database.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f'unknown time zone "{name[:60]}"; such as "UTC" or "Europe/Moscow"'
        ) from None


def hour(where: tzinfo, now: float) -> int | None:
    """Return the hour, 0 to 23; None for no time of this calendar."""
    at = _local(where, now)
    return None if at is None else at.hour


def weekday(where: tzinfo, now: float) -> int | None:
    """Return the day of the week, 1 for Monday to 7 for Sunday.

    None for no time of this calendar.
    """
    at = _local(where, now)
    return None if at is None else at.isoweekday()


def _local(where: tzinfo, now: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(now, where)
    except (ValueError, OverflowError, OSError):
        return None
