"""Rows of the store of pins as what they mean."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.types import Shingle

PIN_COLUMNS: Final = "type, hash, name, flag, reason, by, since, until"
CHANGE_COLUMNS: Final = "at, by, what, type, hash, name, flag, until, reason"
_SIGN: Final = 1 << 63
_WHOLE: Final = 1 << 64


class PinAction(StrEnum):
    """The kinds of changes."""

    PIN = "pin"
    CLEAR = "clear"  # of a pin
    FORGET = "forget"  # of counts
    NOTE = "note"
    FORGIVE = "forgive"  # counts of a verdict were taken back
    IMPORT = "import"  # pins of another machine


class PinChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change, with who made it."""

    at: float  # Unix seconds
    by: str
    what: PinAction
    reason: str
    entity: Shingle | None = None  # None: it was about no one entity
    name: str = ""  # of the entity, or the message's id
    flag: str = ""  # of a pin
    until: float = 0.0  # of a pin, Unix seconds; 0 = for ever


class PinNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note on an entity."""

    at: float  # Unix seconds
    by: str
    text: str


class PinStoreChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes in the store."""

    version: int
    pins: list[Pin]
    gone: list[Shingle]
    unknown: int  # pins that this version can't read
    whole: bool = False  # `pins` is all there is, what else is known is gone


def to_signed(number: int) -> int:
    """Return an unsigned number of 64 bits as SQLite keeps it."""
    return number - _WHOLE if number >= _SIGN else number


def to_unsigned(number: int) -> int:
    """Return what `to_signed` was given."""
    return number + _WHOLE if number < 0 else number


def pin_of(row: tuple[Any, ...]) -> Pin:
    """Return the pin of a row in the order of PIN_COLUMNS.

    Raises:
        StoreError: it is none that this version knows.
    """
    kind, number, name, flag, reason, by, since, until = row
    try:
        return Pin(
            type=int(kind),
            hash=to_unsigned(int(number)),
            name=str(name),
            flag=ReputationFlag(flag),
            reason=str(reason),
            by=str(by),
            since=float(since),
            until=float(until),
        )
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"the manual override of {name!r} is none that this Oborona knows: {error}"
        ) from error


def row_of(pin: Pin) -> tuple[Any, ...]:
    """Return a pin in the order of PIN_COLUMNS."""
    return (
        pin.type,
        to_signed(pin.hash),
        pin.name,
        pin.flag.value,
        pin.reason,
        pin.by,
        pin.since,
        pin.until,
    )


def change_of(row: tuple[Any, ...]) -> PinChange:
    """Return the change of a row in the order of CHANGE_COLUMNS.

    Raises:
        StoreError: it is none that this version knows.
    """
    at, by, action, kind, number, name, flag, until, reason = row
    entity = None if kind is None else Shingle(int(kind), to_unsigned(int(number)))
    try:
        return PinChange(
            at=at,
            by=by,
            what=PinAction(action),
            entity=entity,
            name=name,
            flag=flag,
            until=until,
            reason=reason,
        )
    except ValueError as error:
        raise StoreError(f"what {by!r} did is nothing that this Oborona knows: {error}") from error
