"""Addresses: pools, rented networks, offices; each with the autonomous system that announces it."""

from __future__ import annotations

from typing import Final

from oborona.types import Client, Envelope, Location

HOSTERS: Final = 12  # companies that rent servers; two of them look away
CARELESS: Final = 2
ISPS: Final = 40
_FIRST: Final = 11 << 24


class Places:
    """Hands out /24 networks, and knows whose they are."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._whose: dict[int, int] = {}

    def network(self, whose: int) -> int:
        """Return the first address of a fresh /24.

        Args:
            whose: number of its autonomous system.
        """
        self._next += 256 * 7  # neighbours by number are none by rent
        self._whose[self._next >> 8] = whose
        return self._next

    def location(self, address: int) -> Location:
        """Return where an address is."""
        return Location(as_number=self._whose.get(address >> 8, 0))


def isp(number: int) -> int:
    """Return the number of an AS of dynamic pools."""
    return 64_500 + number % ISPS


def hoster(number: int) -> int:
    """Return the number of an AS of rented servers; the first ones look away."""
    return 65_000 + number % HOSTERS


def office_as(number: int) -> int:
    """Return the number of an AS of offices, providers and universities."""
    return 66_000 + number


def text(address: int) -> str:
    """Return an address as people write it."""
    return f"{address >> 24 & 255}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def envelope(address: int) -> Envelope:
    """Return what is known of a client at connect."""
    return Envelope(client=Client(ip=text(address)))
