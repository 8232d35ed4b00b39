"""Moments as answers of the desk have them."""

from __future__ import annotations

from datetime import UTC, datetime


def shown_utc(at: float) -> str:
    """Return a time as ISO 8601 has it, UTC, to the second; of no time that a calendar has, a word
    for it.
    """
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"
