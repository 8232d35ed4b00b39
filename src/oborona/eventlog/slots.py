"""Slots of five minutes, and the names of tables, which begin with one.

A table is called by the slot in which it was delivered, in UTC: `2026-11-23T10:05`. Where several
files come in one slot each is a table: the slot, a point, and a word that tells them apart.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

SLOT_S: Final = 300
DAY_S: Final = 86_400
MINUTE: Final = "%Y-%m-%dT%H:%M"
_NAME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d[05])(?:\.([A-Za-z0-9][A-Za-z0-9_-]{0,99}))?", re.ASCII
)


def slot_name(start: int) -> str:
    """Return the name of a slot.

    Args:
        start: Unix seconds, its first.
    """
    return datetime.fromtimestamp(start, UTC).strftime(MINUTE)


def slot_start(now: float) -> int:
    """Return the first second of the slot that a time is in, both in Unix seconds."""
    return int(now // SLOT_S) * SLOT_S


def slot_span(table: str) -> tuple[float, float]:
    """Return the first second of a table's slot, and the first after it; errors as of
    `delivered_at`.
    """
    start = delivered_at(table)
    return start, start + SLOT_S


def day_span(date: str) -> tuple[float, float]:
    """Return the first second of a day, such as 2026-11-23, and the first after it."""
    start = datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    return start, start + DAY_S


def delivered_at(table: str) -> int:
    """Return the first second of the slot that a table's name begins with.

    Raises:
        ValueError: it is no name of a table.
    """
    match = _NAME.fullmatch(table)
    if match is None:
        raise ValueError(f"{table[:120]!r} is no name of a table; one begins as 2026-11-23T10:05")
    return int(datetime.strptime(match[1], MINUTE).replace(tzinfo=UTC).timestamp())
