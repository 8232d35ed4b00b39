"""Pins: an analyst's judgement of an entity, which overrides the judgement on its past; pure.

A pin has a flag, a reason, who said it and until when. One is in force for an entity at a time: the
next one takes its place. It speaks of the one entity alone: that of an address says nothing of its
network, and that of a network is asked for only where the address has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import msgspec

from oborona.reputation.flag import ReputationFlag
from oborona.types import Shingle

MAX_PINS: Final = 50_000  # in force at once: each worker holds all of them, some 400 octets each


class Pin(msgspec.Struct, frozen=True):
    """What an analyst has said of an entity."""

    type: int  # of its shingle
    hash: int
    name: str  # of the entity, as it was typed or read; empty = not known
    flag: ReputationFlag
    reason: str
    by: str  # who said it
    since: float  # Unix seconds
    until: float = 0.0  # Unix seconds; 0 = for ever

    @property
    def shingle(self) -> Shingle:
        """The entity."""
        return Shingle(self.type, self.hash)

    @property
    def say(self) -> str:
        """The pin in words: what stands in a verdict's reason."""
        return f"set to {self.flag} by {self.by}: {self.reason}"

    def expired(self, now: float) -> bool:
        """Tell whether it is over at Unix time `now`."""
        return 0 < self.until <= now


class Pins(Protocol):
    """The pins in force."""

    def of(self, shingle: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force at Unix time `now`.

        None where there is none.
        """
        ...

    def none_of(self, shingles: Sequence[Shingle]) -> bool:
        """Tell whether none of some entities is pinned, as in most messages: one look instead of
        one for each.
        """
        ...


class NoPins:
    """Nobody has said anything."""

    def of(self, shingle: Shingle, now: float) -> Pin | None:
        """Return None."""
        return None

    def none_of(self, shingles: Sequence[Shingle]) -> bool:
        """Return True."""
        return True


class PinTable:
    """Pins by entity.

    Args:
        pins: of several of one entity the last counts.
    """

    def __init__(self, pins: Iterable[Pin] = ()) -> None:
        self._pins = {pin.shingle: pin for pin in pins}

    def __len__(self) -> int:
        return len(self._pins)

    def of(self, shingle: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force at Unix time `now`.

        None where there is none.
        """
        pin = self._pins.get(shingle)
        return None if pin is None or pin.expired(now) else pin

    def none_of(self, shingles: Sequence[Shingle]) -> bool:
        """Tell whether none of some entities is pinned; a pin that is over may still be one."""
        return not self._pins or self._pins.keys().isdisjoint(shingles)

    def put(self, pin: Pin) -> None:
        """Take a pin, in the place of the entity's last one."""
        self._pins[pin.shingle] = pin

    def drop(self, shingle: Shingle) -> None:
        """Forget the pin of an entity; nothing happens where there is none."""
        self._pins.pop(shingle, None)

    def forget(self, now: float) -> None:
        """Forget what is over at Unix time `now`."""
        self._pins = {shingle: pin for shingle, pin in self._pins.items() if not pin.expired(now)}

    def flags(self, now: float) -> dict[str, int]:
        """Return how many are in force at Unix time `now`, by flag."""
        counted = Counter(
            pin.flag.value for pin in tuple(self._pins.values()) if not pin.expired(now)
        )
        return {flag.value: counted[flag.value] for flag in ReputationFlag}
