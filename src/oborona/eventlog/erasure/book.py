"""What is known of erasures, and the counts of rows that they change.

The rows of a slot that came from tables of five minutes which are gone by now are taken from its
count by a line of the erasure's own among the slot's tables: `~1` of the first erasure, with a
number below zero. It goes away where the tables are there and tell less themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from oborona.eventlog.batch.store import EventShare, LogStore
from oborona.eventlog.daily.book import DAY
from oborona.eventlog.tables.row_total import RowTotal, added, opposite
from oborona.eventlog.tables.table_file import TableMismatch

STREAM: Final = "5min"
SCRUBBED: Final = "the reason named a person who was taken out"
_REMOVED: Final = msgspec.json.Decoder(dict[str, int])
_LEFT: Final = msgspec.json.Decoder(tuple[str, ...])
_COLUMNS: Final = "id, person, asked, begun, done, removed, unread"


class PersonErasure(msgspec.Struct, frozen=True, kw_only=True):
    """That a person is taken out of a log."""

    id: int
    person: int | None  # keyed hash; None = done, and nothing tells any more who it was
    asked: float  # Unix seconds
    begun: float | None = None
    done: float | None = None
    removed: Mapping[str, int] = {}  # rows, by kind of table
    unread: tuple[str, ...] = ()  # tables that can't be read: nobody knows whose rows they have


class NewTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What a table of five minutes has when an erasure is done."""

    name: str
    removed: int  # rows
    source: RowTotal
    checked: RowTotal | None  # None = it is not checked
    marked: int
    fired: Mapping[str, int]
    shares: Sequence[EventShare]


class ErasureBook:
    """The part of the file of event logs that is about erasures.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def ask(self, persons: Iterable[int], now: float) -> list[int]:
        """Write down that persons are to be taken out; return the numbers of their erasures."""
        numbers = []
        with self._store.transaction() as db:
            for person in persons:
                cursor = db.execute(
                    "INSERT INTO erasure (log, person, asked) VALUES (?, ?, ?)",
                    (self._log, person, now),
                )
                numbers.append(cursor.lastrowid or 0)
        return numbers

    def all(self) -> list[PersonErasure]:
        """Return all erasures, the first first."""
        return [
            PersonErasure(
                id=number,
                person=person,
                asked=asked,
                begun=begun,
                done=done,
                removed=_REMOVED.decode(removed),
                unread=_LEFT.decode(unread),
            )
            for number, person, asked, begun, done, removed, unread in self._store.rows(
                f"SELECT {_COLUMNS} FROM erasure WHERE log = ? ORDER BY id",  # noqa: S608 - names of ours
                (self._log,),
            )
        ]

    def open(self, *, begun: bool) -> PersonErasure | None:
        """Return the first erasure that is not done.

        Args:
            begun: only one that was begun.
        """
        for erasure in self.all():
            if erasure.done is None and not (begun and erasure.begun is None):
                return erasure
        return None

    def begin(self, erasure: PersonErasure, now: float) -> None:
        """Write down that tables are being changed."""
        with self._store.transaction() as db:
            db.execute("UPDATE erasure SET begun = ? WHERE id = ?", (now, erasure.id))

    def take(self, erasure: PersonErasure, period: str, removed: Mapping[str, RowTotal]) -> None:
        """Take rows from what slots have, before they are removed; the same again changes nothing.

        Args:
            erasure: it is begun.
            period: whose slots.
            removed: rows that are removed, by slot; empty = they have been.
        """
        with self._store.transaction() as db:
            fresh = 0
            for slot, total in removed.items():
                fresh += total.rows * max(0, db.execute(
                    "INSERT OR IGNORE INTO event_slot (log, period, slot, name, rows, checksum, merge)"
                    " VALUES (?, ?, ?, ?, ?, ?, 0)",
                    (self._log, period, slot, _line(erasure), -total.rows, opposite(total.checksum)),
                ).rowcount)  # fmt: skip
            self._count(erasure, period, fresh)

    def write(self, erasure: PersonErasure, totals: NewTotals) -> None:
        """Write down what a table of five minutes has from now on, before it is changed.

        Raises:
            TableMismatch: a slot has not had the rows that the table gave it; nothing is written.
        """
        with self._store.transaction() as db:
            db.execute(
                "UPDATE source_table SET rows = ?, checksum = ? WHERE log = ? AND name = ?",
                (*totals.source, self._log, totals.name),
            )
            if totals.checked is not None:
                db.execute(
                    "UPDATE checked_table SET rows = ?, checksum = ?, marked = ?, fired = ?"
                    " WHERE log = ? AND name = ?",
                    (
                        *totals.checked,
                        totals.marked,
                        msgspec.json.encode(totals.fired).decode(),
                        self._log,
                        totals.name,
                    ),
                )
            self._share(erasure, totals)
            self._count(erasure, STREAM, totals.removed)

    def scrub(self, texts: Sequence[str]) -> None:
        """Remove reasons that name a person, of what was set aside.

        Args:
            texts: of which one must be in a reason, whatever its case.
        """
        with self._store.transaction() as db:
            for text in texts:
                for kind in ("source_table", "dropped_file"):
                    db.execute(
                        f"UPDATE {kind} SET why = ? WHERE log = ? AND instr(lower(why), lower(?))",  # noqa: S608 - names of ours
                        (SCRUBBED, self._log, text),
                    )

    def finish(self, erasure: PersonErasure, unread: Sequence[str], now: float) -> None:
        """Write down that a person is gone, and forget who it was."""
        with self._store.transaction() as db:
            self._less_revised(erasure)
            for kind in ("fraud_person", "person_word", "suppression"):
                db.execute(
                    f"DELETE FROM {kind} WHERE log = ? AND person = ?",  # noqa: S608 - names of ours
                    (self._log, erasure.person),
                )
            db.execute(
                "DELETE FROM event_slot WHERE log = ? AND name = ? AND rows = 0",
                (self._log, _line(erasure)),
            )
            db.execute(
                "UPDATE erasure SET done = ?, person = NULL, unread = ? WHERE id = ?",
                (now, msgspec.json.encode(unread).decode(), erasure.id),
            )

    def _less_revised(self, erasure: PersonErasure) -> None:
        """Take the person's part from what passes changed of days.

        Rows were taken from days as they are, and tables have lost them as they were checked. Where
        both are the same rows, what is left of the line is the difference that a pass made.
        """
        with self._store.transaction() as db:
            for slot, checksum in db.execute(
                "SELECT slot, checksum FROM event_slot"
                " WHERE log = ? AND period = ? AND name = ? AND rows = 0",
                (self._log, DAY, _line(erasure)),
            ).fetchall():
                for number, change in db.execute(
                    "SELECT id, change FROM day_pass WHERE log = ? AND date = ? AND change != ''"
                    " AND revised > 0 ORDER BY id DESC LIMIT 1",
                    (self._log, slot),
                ).fetchall():
                    db.execute(
                        "UPDATE day_pass SET change = ? WHERE id = ?",
                        (added((change, checksum)), number),
                    )

    def _share(self, erasure: PersonErasure, totals: NewTotals) -> None:
        """Write down what slots have of a table; what is merged was taken from them already."""
        left = {(share.period, share.slot): share for share in totals.shares}
        with self._store.transaction() as db:
            for period, slot, rows, checksum, merge in db.execute(
                "SELECT period, slot, rows, checksum, merge FROM event_slot"
                " WHERE log = ? AND name = ?",
                (self._log, totals.name),
            ).fetchall():
                share = left.get((period, slot))
                new = RowTotal(share.rows, share.checksum) if share else RowTotal(0, added(()))
                place = (self._log, period, slot)
                db.execute(
                    "UPDATE event_slot SET rows = ?, checksum = ?"
                    " WHERE log = ? AND period = ? AND slot = ? AND name = ?",
                    (*new, *place, totals.name),
                )
                if merge is None or rows == new.rows:
                    continue
                taken = db.execute(
                    "SELECT rows, checksum FROM event_slot"
                    " WHERE log = ? AND period = ? AND slot = ? AND name = ?",
                    (*place, _line(erasure)),
                ).fetchall()
                if not taken:
                    raise TableMismatch(f"{period} {slot} lacks rows that {totals.name} gave it")
                ((lacks, checksums),) = taken
                db.execute(
                    "UPDATE event_slot SET rows = ?, checksum = ?"
                    " WHERE log = ? AND period = ? AND slot = ? AND name = ?",
                    (
                        lacks + rows - new.rows,
                        added((checksums, checksum, opposite(new.checksum))),
                        *place,
                        _line(erasure),
                    ),
                )

    def _count(self, erasure: PersonErasure, kind: str, rows: int) -> None:
        with self._store.transaction() as db:
            ((text,),) = db.execute(
                "SELECT removed FROM erasure WHERE id = ?", (erasure.id,)
            ).fetchall()
            counts = _REMOVED.decode(text)
            counts[kind] = counts.get(kind, 0) + rows
            db.execute(
                "UPDATE erasure SET removed = ? WHERE id = ?",
                (msgspec.json.encode(counts).decode(), erasure.id),
            )


def _line(erasure: PersonErasure) -> str:
    """Return the name under which an erasure stands among the tables of a slot."""
    return f"~{erasure.id}"
