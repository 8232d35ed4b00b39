"""How many rows a table has with their checksum, and sums of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple


class RowTotal(NamedTuple):
    """How many rows there are, and their checksum."""

    rows: int
    checksum: str


LARGEST: Final = (1 << 64) - 1


def digits(total: int) -> str:
    """Return a checksum as 16 hexadecimal digits."""
    return f"{total:016x}"


def added(totals: Iterable[str]) -> str:
    """Return the checksum of the rows of several tables, all as digits."""
    return digits(sum(int(total, 16) for total in totals) & LARGEST)


def opposite(total: str) -> str:
    """Return the checksum that makes another nothing when both are added, as digits."""
    return digits(-int(total, 16) & LARGEST)
