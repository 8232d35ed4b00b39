"""What is known of tables by event time: what is to be merged, and what was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.periods import DAY
from oborona.eventlog.tables.row_total import RowTotal, added

_SLOTS: Final = msgspec.json.Decoder(dict[str, tuple[str, ...]])


class SlotMerge(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are appended in one commit."""

    id: int
    log: str
    period: str
    slots: Mapping[str, tuple[str, ...]]  # each with the checked tables whose rows of it are taken

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables of which rows are taken, in order."""
        return tuple(sorted({name for names in self.slots.values() for name in names}))


class MergeBook:
    """The part of the file of event logs that is about merging.

    Args:
        store: the file.
        log: name of a log.
        period: whose tables.
    """

    def __init__(self, store: LogStore, log: str, period: str) -> None:
        self._store = store
        self._log = log
        self._period = period

    def ready(self, until: float, most: int) -> dict[str, tuple[str, ...]]:
        """Return slots for which nothing has come lately, each with the tables to be merged.

        Args:
            until: Unix seconds: slots for which a table was checked later are left out.
            most: tables; those of the first names are taken.
        """
        rows = self._store.rows(
            "SELECT slot, name FROM event_slot e WHERE log = ? AND period = ? AND merge IS NULL"
            " AND slot NOT IN (SELECT o.slot FROM event_slot o JOIN checked_table c"
            " ON c.log = o.log AND c.name = o.name"
            " WHERE o.log = e.log AND o.period = e.period AND o.merge IS NULL AND c.done > ?)"
            " ORDER BY name, slot",
            (self._log, self._period, until),
        )
        taken = frozenset(sorted({name for _, name in rows})[:most])
        slots: dict[str, tuple[str, ...]] = {}
        for slot, name in rows:
            if name in taken:
                slots[slot] = (*slots.get(slot, ()), name)
        return slots

    def begin(self, slots: Mapping[str, Sequence[str]], now: float) -> SlotMerge:
        """Write down what is to be appended."""
        with self._store.transaction() as db:
            number = db.execute(
                "INSERT INTO merge (log, period, slots, begun) VALUES (?, ?, ?, ?)",
                (self._log, self._period, msgspec.json.encode(slots).decode(), now),
            ).lastrowid
        return SlotMerge(
            id=number or 0,
            log=self._log,
            period=self._period,
            slots={slot: tuple(names) for slot, names in slots.items()},
        )

    def unfinished(self) -> SlotMerge | None:
        """Return what was begun and is not done."""
        for number, slots in self._store.rows(
            "SELECT id, slots FROM merge WHERE log = ? AND period = ? AND done IS NULL",
            (self._log, self._period),
        ):
            return SlotMerge(
                id=number, log=self._log, period=self._period, slots=_SLOTS.decode(slots)
            )
        return None

    def finish(self, merge: SlotMerge, rows: int, repaired: Sequence[str], now: float) -> None:
        """Write down that rows were appended: all or nothing."""
        with self._store.transaction() as db:
            db.executemany(
                "UPDATE event_slot SET merge = ?"
                " WHERE log = ? AND period = ? AND slot = ? AND name = ?",
                [
                    (merge.id, self._log, self._period, slot, name)
                    for slot, names in merge.slots.items()
                    for name in names
                ],
            )
            db.execute(
                "UPDATE merge SET done = ?, rows = ?, repaired = ? WHERE id = ?",
                (now, rows, msgspec.json.encode(repaired).decode(), merge.id),
            )

    def names(self, merge: SlotMerge, slot: str) -> tuple[str, ...]:
        """Return the tables of all rows that a slot has when a merge is done."""
        return tuple(sorted({*merge.slots[slot], *self.merged(slot)}))

    def merged(self, slot: str) -> tuple[str, ...]:
        """Return the tables whose rows of a slot are merged."""
        found = self._store.rows(
            "SELECT name FROM event_slot WHERE log = ? AND period = ? AND slot = ?"
            " AND merge IS NOT NULL ORDER BY name",
            (self._log, self._period, slot),
        )
        return tuple(name for (name,) in found)

    def total(self, slots: Mapping[str, Sequence[str]], revised: int = 0) -> RowTotal:
        """Return the rows that tables have of slots, as they were when they were checked.

        Args:
            slots: each with its tables.
            revised: the number of the last pass whose revisions are among the rows; 0 = none.
        """
        counts, checksums = 0, list[str]()
        for slot, names in slots.items():
            for rows, checksum in self._store.rows(
                "SELECT rows, checksum FROM event_slot WHERE log = ? AND period = ? AND slot = ?"
                " AND name IN (SELECT value FROM json_each(?))",
                (self._log, self._period, slot, msgspec.json.encode(names).decode()),
            ):
                counts += rows
                checksums.append(checksum)
            if self._period == DAY.name:
                checksums += (
                    change
                    for (change,) in self._store.rows(
                        "SELECT change FROM day_pass"
                        " WHERE log = ? AND date = ? AND id <= ? AND change != ''",
                        (self._log, slot, revised),
                    )
                )
        return RowTotal(counts, added(checksums))

    def forget_revisions(self, slot: str) -> None:
        """Forget what passes changed in a slot that was written anew: it is to be passed again."""
        if self._period == DAY.name:
            with self._store.transaction() as db:
                db.execute(
                    "UPDATE day_pass SET rows = -1, change = '' WHERE log = ? AND date = ?",
                    (self._log, slot),
                )

    def open_tables(self) -> frozenset[str]:
        """Return the names of tables that have rows which are not merged yet."""
        return frozenset(
            name
            for (name,) in self._store.rows(
                "SELECT DISTINCT name FROM event_slot"
                " WHERE log = ? AND period = ? AND merge IS NULL",
                (self._log, self._period),
            )
        )

    def forget(self, before: str) -> None:
        """Forget slots whose partitions are removed.

        Args:
            before: slots that are less are forgotten, if all of their rows are merged.
        """
        with self._store.transaction() as db:
            db.execute(
                "DELETE FROM event_slot WHERE log = ? AND period = ? AND slot < ?"
                " AND merge IS NOT NULL",
                (self._log, self._period, before),
            )
