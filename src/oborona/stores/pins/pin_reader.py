"""What the store of pins says: pins in force, notes, and who did what."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.reputation.pins import Pin
from oborona.stores.followed_store import FollowedStore
from oborona.stores.pins.rows import (
    CHANGE_COLUMNS,
    PIN_COLUMNS,
    PinChange,
    PinNote,
    PinStoreChanges,
    change_of,
    pin_of,
    to_signed,
    to_unsigned,
)
from oborona.types import Shingle

SHOWN: Final = 50  # changes that are read at once
IN_FORCE: Final = "flag != '' AND (until <= 0 OR until > ?)"


class StandingPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin in force.

    Args:
        pin: itself.
        origin: machine or list that it is imported from; empty = somebody here said it.
    """

    pin: Pin
    origin: str = ""


class ReadablePins(FollowedStore):
    """What is read of a store of pins."""

    def taken_back(self, journal: int) -> bool:
        """Tell whether the counts of a message's verdict were taken back."""
        return bool(self.rows("SELECT 1 FROM taken_back WHERE journal = ?", (journal,)))

    def of(self, entity: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force; None where there is none."""
        standing = self.standing(entity, now)
        return None if standing is None else standing.pin

    def standing(self, entity: Shingle, now: float) -> StandingPin | None:
        """Return the same with where it comes from."""
        sql = f"SELECT {PIN_COLUMNS}, origin FROM pin WHERE type = ? AND hash = ? AND {IN_FORCE}"  # noqa: S608 - literals above
        rows = self.rows(sql, (entity.type, to_signed(entity.hash), now))
        return StandingPin(pin=pin_of(rows[0][:-1]), origin=rows[0][-1]) if rows else None

    def all(self, now: float) -> list[Pin]:
        """Return all pins in force, the newest first."""
        sql = f"SELECT {PIN_COLUMNS} FROM pin WHERE {IN_FORCE} ORDER BY since DESC"  # noqa: S608 - literals above
        return [pin_of(row) for row in self.rows(sql, (now,))]

    def origins(self, now: float) -> dict[Shingle, str]:
        """Return where pins in force come from, empty for those that somebody here said."""
        rows = self.rows(f"SELECT type, hash, origin FROM pin WHERE {IN_FORCE}", (now,))  # noqa: S608 - literals above
        return {Shingle(kind, to_unsigned(number)): origin for kind, number, origin in rows}

    def notes(self, entity: Shingle) -> list[PinNote]:
        """Return what was written beside an entity, oldest first."""
        sql = "SELECT at, by, text FROM note WHERE type = ? AND hash = ? ORDER BY id"
        rows_read = self.rows(sql, (entity.type, to_signed(entity.hash)))
        return [PinNote(at=at, by=by, text=text) for at, by, text in rows_read]

    def changes(self, entity: Shingle | None = None, limit: int = SHOWN) -> list[PinChange]:
        """Return what was done last, newest first; to one entity, where one is given."""
        sql, values = f"SELECT {CHANGE_COLUMNS} FROM change", list[Any]()  # noqa: S608 - literals above
        if entity is not None:
            sql += " WHERE type = ? AND hash = ?"
            values += entity.type, to_signed(entity.hash)
        return [
            change_of(row) for row in self.rows(f"{sql} ORDER BY id DESC LIMIT ?", (*values, limit))
        ]

    def since(self, version: int, now: float) -> PinStoreChanges:
        """Return what has changed since a version; since -1 all that is in force."""
        select = f"SELECT {PIN_COLUMNS} FROM pin WHERE"  # noqa: S608 - literals above
        reading = self.rows_since(
            version, changed=f"{select} changed > ?", whole=f"{select} {IN_FORCE}", now=now
        )
        pins, removed, unknown = list[Pin](), list[Shingle](), 0
        with reading as (number, rows):
            for row in rows:
                try:
                    pins.append(pin_of(row))
                except StoreError:
                    unknown += row[3] != ""  # it was cleared
                    if isinstance(row[0], int) and isinstance(row[1], int):
                        removed.append(Shingle(row[0], to_unsigned(row[1])))
        return PinStoreChanges(
            version=number, pins=pins, gone=removed, unknown=unknown, whole=version < 0
        )
