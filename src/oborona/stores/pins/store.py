"""Pins, notes and who did what; any number of processes use one file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from oborona.errors import StoreError
from oborona.reputation.pins import MAX_PINS, Pin
from oborona.stores.followed_store import FollowedStore
from oborona.stores.pins.rows import (
    CHANGE_COLUMNS,
    PIN_COLUMNS,
    PinAction,
    PinChange,
    PinNote,
    PinStoreChanges,
    change_of,
    pin_of,
    row_of,
    to_signed,
    to_unsigned,
)
from oborona.stores.pins.schema import SHARED
from oborona.types import Shingle

# what was done is kept: over a year, so that last year's can be looked at
LOG_S: Final = 400 * 86_400.0
CLEARED_S: Final = 86_400.0  # a cleared or expired row is kept: who follows has seen it by then
MAX_TEXT: Final = 1000  # characters of a name, reason or note
LAST_TIME: Final = 253_402_300_800.0  # Unix seconds of the end of the year 9999
SHOWN: Final = 50  # changes that are read at once

_PUT: Final = (
    f"INSERT INTO pin ({PIN_COLUMNS}, origin, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - names of ours
    " ON CONFLICT (type, hash) DO UPDATE SET name = excluded.name, flag = excluded.flag, reason = excluded.reason,"
    " by = excluded.by, since = excluded.since, until = excluded.until, origin = excluded.origin,"
    " changed = excluded.changed"
)
_IN_FORCE: Final = "flag != '' AND (until <= 0 OR until > ?)"


class PinStore(FollowedStore):
    """One process's access to the store; see `FollowedStore`."""

    shared = SHARED
    forgets = True

    def put(self, pins: Sequence[Pin], *, origin: str = "", told: str = "") -> None:
        """Pin entities in one transaction: all of them or none.

        Each takes the place of the entity's last pin.

        Args:
            pins: at least one.
            origin: machine or list that they are imported from; empty = somebody here says it.
            told: of an import, the one line that the log has of all.

        Raises:
            StoreError: a text is too long, a time is none, or there would be more in force than
                workers hold; nothing is done.
        """
        for pin in pins:
            _check(pin.name, pin.reason, pin.by, origin, times=(pin.since, pin.until))
        now = max(pin.since for pin in pins)
        with self._change(now) as number:
            self._db.executemany(_PUT, [(*row_of(pin), origin, number) for pin in pins])
            if origin:
                self._log(
                    PinChange(
                        at=now, by=pins[0].by, what=PinAction.IMPORT, name=origin, reason=told
                    )
                )
                return
            for pin in pins:
                self._log(
                    PinChange(
                        at=pin.since, by=pin.by, what=PinAction.PIN, reason=pin.reason,
                        entity=pin.shingle, name=pin.name, flag=pin.flag.value, until=pin.until,
                    )
                )  # fmt: skip

    def clear(self, entity: Shingle, name: str, *, by: str, reason: str, now: float) -> Pin | None:
        """Drop the pin of an entity.

        Return it, None where none was in force: then nothing is done.
        """
        _check(name, reason, by)
        with self._change(now) as number:
            pin = self._of(entity, now)
            if pin is not None:
                self._db.execute(
                    "UPDATE pin SET flag = '', since = ?, changed = ? WHERE type = ? AND hash = ?",
                    (now, number, entity.type, to_signed(entity.hash)),
                )
                self._log(
                    PinChange(
                        at=now, by=by, what=PinAction.CLEAR, reason=reason,
                        entity=entity, name=name or pin.name, flag=pin.flag.value,
                    )
                )  # fmt: skip
        return pin

    def note(self, entity: Shingle, name: str, text: str, *, by: str, now: float) -> None:
        """Write something beside an entity."""
        _check(name, text, by)
        with self.transaction():
            self._db.execute(
                "INSERT INTO note (type, hash, name, text, by, at) VALUES (?, ?, ?, ?, ?, ?)",
                (entity.type, to_signed(entity.hash), name, text, by, now),
            )
            self._log(
                PinChange(at=now, by=by, what=PinAction.NOTE, reason=text, entity=entity, name=name)
            )

    def log(self, change: PinChange) -> None:
        """Write down what was done elsewhere."""
        _check(change.name, change.reason, change.by)
        with self.transaction():
            self._log(change)

    def take_back(self, journal: int, change: PinChange) -> bool:
        """Note that the counts of a message's verdict are taken back.

        Return whether it is the first time: else nothing is noted.

        Who takes them back notes it first: one that fails on the way leaves them counted, and none
        is taken back twice.

        Args:
            journal: the message's id.
            change: what is written to the log.
        """
        _check(change.name, change.reason, change.by)
        with self.transaction():
            cursor = self._db.execute(
                "INSERT INTO taken_back VALUES (?, ?) ON CONFLICT DO NOTHING", (journal, change.at)
            )
            first = cursor.rowcount == 1
            if first:
                self._log(change)
        return first

    def taken_back(self, journal: int) -> bool:
        """Tell whether the counts of a message's verdict were taken back."""
        return bool(self.rows("SELECT 1 FROM taken_back WHERE journal = ?", (journal,)))

    def of(self, entity: Shingle, now: float) -> Pin | None:
        """Return the pin of an entity that is in force; None where there is none."""
        with self.told():
            return self._of(entity, now)

    def all(self, now: float) -> list[Pin]:
        """Return all pins in force, the newest first."""
        sql = f"SELECT {PIN_COLUMNS} FROM pin WHERE {_IN_FORCE} ORDER BY since DESC"  # noqa: S608 - literals above
        return [pin_of(row) for row in self.rows(sql, (now,))]

    def origins(self, now: float) -> dict[Shingle, str]:
        """Return where pins in force come from, empty for those that somebody here said."""
        rows = self.rows(f"SELECT type, hash, origin FROM pin WHERE {_IN_FORCE}", (now,))  # noqa: S608 - literals above
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
            version, changed=f"{select} changed > ?", whole=f"{select} {_IN_FORCE}", now=now
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

    def _of(self, entity: Shingle, now: float) -> Pin | None:
        rows_read = self._db.execute(
            f"SELECT {PIN_COLUMNS} FROM pin WHERE type = ? AND hash = ? AND {_IN_FORCE}",  # noqa: S608 - literals above
            (entity.type, to_signed(entity.hash), now),
        ).fetchone()
        return None if rows_read is None else pin_of(rows_read)

    def _in_force(self, now: float) -> int:
        (number,) = self._db.execute(
            f"SELECT count(*) FROM pin WHERE {_IN_FORCE}",  # noqa: S608 - a literal
            (now,),
        ).fetchone()
        return int(number)

    def _log(self, change: PinChange) -> None:
        kind, number = (None, None) if change.entity is None else change.entity
        values = (
            change.at, change.by, change.what, kind, None if number is None else to_signed(number),
            change.name, change.flag, change.until, change.reason,
        )  # fmt: skip
        self._db.execute(
            f"INSERT INTO change ({CHANGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - literals above
            values,
        )
        self._db.execute("DELETE FROM change WHERE at < ?", (change.at - LOG_S,))

    @contextmanager
    def _change(self, now: float) -> Iterator[int]:
        """A transaction that is one change of pins; yields its number."""
        with self.changing() as number:
            before = self._in_force(now)
            yield number
            self._db.execute(
                "DELETE FROM pin WHERE (flag = '' AND since < ?) OR (0 < until AND until < ?)",
                (now - CLEARED_S, now - CLEARED_S),
            )
            if before < self._in_force(now) > MAX_PINS:
                raise StoreError(
                    f"{self.path}: more than {MAX_PINS:,} manual overrides would be in "
                    f"force; clear some, or let them expire"
                )


def _check(*texts: str, times: Iterable[float] = ()) -> None:
    """Refuse what no file should hold.

    Raises:
        StoreError: a text is too long or no Unicode, or a time is none.
    """
    for text in texts:
        if len(text) > MAX_TEXT:
            raise StoreError(f"a name, reason or note is longer than {MAX_TEXT} characters")
        if not text.isprintable():
            raise StoreError(
                f"{text!r} holds a character that can't be printed, such as a line's end"
            )
    if not all(math.isfinite(at) and 0 <= at <= LAST_TIME for at in times):
        raise StoreError("a time is before 1970 or after 9999")
