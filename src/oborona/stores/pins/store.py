"""Pins, notes and who did what; any number of processes use one file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from oborona.errors import StoreError
from oborona.reputation.pins import MAX_PINS, Pin
from oborona.stores.pins.pin_reader import IN_FORCE, ReadablePins, StandingPin
from oborona.stores.pins.rows import (
    CHANGE_COLUMNS,
    PIN_COLUMNS,
    PinAction,
    PinChange,
    row_of,
    to_signed,
)
from oborona.stores.pins.schema import SHARED
from oborona.types import Shingle

# what was done is kept: over a year, so that last year's can be looked at
LOG_S: Final = 400 * 86_400.0
CLEARED_S: Final = 86_400.0  # a cleared or expired row is kept: who follows has seen it by then
MAX_TEXT: Final = 1000  # characters of a name, reason or note
LAST_TIME: Final = 253_402_300_800.0  # Unix seconds of the end of the year 9999

_PUT: Final = (
    f"INSERT INTO pin ({PIN_COLUMNS}, origin, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - names of ours
    " ON CONFLICT (type, hash) DO UPDATE SET name = excluded.name, flag = excluded.flag, reason = excluded.reason,"
    " by = excluded.by, since = excluded.since, until = excluded.until, origin = excluded.origin,"
    " changed = excluded.changed"
)


class PinStore(ReadablePins):
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

    def put_back(self, was: StandingPin, *, by: str, reason: str, now: float) -> None:
        """Put a pin in force again as it was, with its author and its time.

        Args:
            was: as it was.
            by: who puts it back, for the log.
            reason: why.
            now: Unix seconds.
        """
        pin = was.pin
        _check(pin.name, pin.reason, pin.by, was.origin, by, reason, times=(pin.since, pin.until))
        with self._change(now) as number:
            self._db.execute(_PUT, (*row_of(pin), was.origin, number))
            self._log(
                PinChange(
                    at=now, by=by, what=PinAction.PIN, reason=reason,
                    entity=pin.shingle, name=pin.name, flag=pin.flag.value, until=pin.until,
                )
            )  # fmt: skip

    def clear(self, entity: Shingle, name: str, *, by: str, reason: str, now: float) -> Pin | None:
        """Drop the pin of an entity.

        Return it, None where none was in force: then nothing is done.
        """
        _check(name, reason, by)
        with self._change(now) as number:
            pin = self.of(entity, now)
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

    def _in_force(self, now: float) -> int:
        (number,) = self._db.execute(
            f"SELECT count(*) FROM pin WHERE {IN_FORCE}",  # noqa: S608 - a literal
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
