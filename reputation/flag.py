"""The four words for what is to be expected of an address, a sender or an entity."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ReputationFlag(StrEnum):
    """What is to be expected of whoever it is said of; best first."""

    GOOD = "good"
    UNKNOWN = "unknown"
    POOR = "poor"
    BAD = "bad"

    @property
    def order(self) -> int:
        """0 for good to 3 for bad."""
        return _ORDER[self]


_ORDER: Final = {flag: order for order, flag in enumerate(ReputationFlag)}
