"""What is known of event logs: how far each was exported and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from oborona.eventlog.batch.schema import SHARED
from oborona.eventlog.suppression.quiet_rule import QuietRule, read_quiet_rules, written
from oborona.sqlite_file import SharedSqliteFile

OTHERS: Final = ""
"""The key under which the threshold of all other events stands."""
SHADOW: Final = " (shadow)"  # behind the name of a rule that marks nothing, in `fired`
_THRESHOLDS: Final = msgspec.json.Decoder(dict[str, float])
_NAMES: Final = msgspec.json.Decoder(tuple[str, ...])
_FIRED: Final = msgspec.json.Decoder(dict[str, int])
_SOURCE: Final = "name, delivered, rows, checksum, why"
_BATCH: Final = (
    "id, log, tables, rules, thresholds, suppressed, begun, tries, remembered, done, cpu_s"
)
_CHECKED: Final = "name, batch, rows, checksum, marked, fired, done"


class FollowedLog(NamedTuple):
    """How far a log of our own was exported."""

    place: int  # of the last event that is in a table
    slot: int  # Unix seconds: first of the slot that is next
    origin: str  # of the store; empty = unknown


class DropState(StrEnum):
    """What became of a file that others dropped."""

    MET = "met"  # its table is not there yet
    TAKEN = "taken"
    AGAIN = "again"  # it came again with the same rows
    ASIDE = "aside"  # it can't be used


class DroppedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the folder of a log."""

    file: str
    size: int
    changed: int  # nanoseconds since the epoch
    seen: float  # Unix seconds
    name: str  # of its table
    state: DropState = DropState.MET
    why: str = ""
    broken: int = 0  # rows that were left out
    tries: int = 0  # how often it was begun to be read


class SourceTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of `stream/5min`."""

    name: str
    delivered: float  # Unix seconds
    rows: int
    checksum: str
    why: str = ""  # it was set aside


class LogBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Tables that are checked together, and all that the outcome hangs on."""

    id: int
    log: str
    tables: tuple[str, ...]
    rules: str  # version of the rules
    thresholds: Mapping[str, float]  # by event; `OTHERS`
    suppressed: tuple[QuietRule, ...] = ()  # none of one that is done
    begun: float  # Unix seconds
    tries: int = 0  # how often it was begun again
    remembered: float | None = None
    done: float | None = None
    cpu_s: float | None = None


class EventShare(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a checked table that belongs to one slot of event time."""

    period: str
    slot: str
    rows: int
    checksum: str  # of all columns


class CheckedTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of `checked/stream/5min`."""

    name: str
    batch: int
    rows: int
    checksum: str  # of the columns that its source has
    marked: int  # rows that fired a rule
    fired: Mapping[str, int]  # rows by rule
    done: float  # Unix seconds
    shares: tuple[EventShare, ...] = ()  # by event time; `MergeBook` reads them back


class LogStore(SharedSqliteFile):
    """The file of event logs, open; for one thread at a time."""

    shared = SHARED

    def logs(self) -> list[str]:
        """Return the names of all logs that have had a table or a file."""
        return [
            name
            for (name,) in self.rows(
                "SELECT log FROM source_table UNION SELECT log FROM dropped_file ORDER BY 1"
            )
        ]

    def followed(self, log: str) -> FollowedLog | None:
        """Return how far a log was exported; None where nothing was."""
        rows = self.rows("SELECT place, slot, origin FROM followed WHERE log = ?", (log,))
        return FollowedLog(*rows[0]) if rows else None

    def follow(self, log: str, followed: FollowedLog) -> None:
        """Write down how far a log was exported."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO followed VALUES (?, ?, ?, ?)", (log, *followed))

    def deliver(self, log: str, table: SourceTable) -> None:
        """Write down a table whose file is there."""
        with self.transaction() as db:
            db.execute(
                f"INSERT OR REPLACE INTO source_table (log, {_SOURCE}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - names of ours
                (log, *msgspec.structs.astuple(table)),
            )

    def source(self, log: str, name: str) -> SourceTable | None:
        """Return a table of a log; None where there is none of the name."""
        tables = self.sources(log, names=(name,))
        return tables[0] if tables else None

    def sources(
        self, log: str, *, names: Sequence[str] | None = None, since: float = 0.0
    ) -> list[SourceTable]:
        """Return tables of a log in the order of their names.

        Args:
            log: its name.
            names: these alone; None = all.
            since: Unix seconds: what was delivered earlier is left out.
        """
        rows = self.rows(
            f"SELECT {_SOURCE} FROM source_table WHERE log = ? AND delivered >= ?"  # noqa: S608 - names of ours
            " AND (? IS NULL OR name IN (SELECT value FROM json_each(?))) ORDER BY name",
            (log, since, *(None if names is None else _text(names),) * 2),
        )
        return [
            SourceTable(name=name, delivered=delivered, rows=count, checksum=checksum, why=why)
            for name, delivered, count, checksum, why in rows
        ]

    def due(self, log: str, most: int) -> tuple[str, ...]:
        """Return the names of the first tables that are not checked and can be."""
        rows = self.rows(
            "SELECT name FROM source_table s WHERE log = ? AND why = '' AND NOT EXISTS"
            " (SELECT 1 FROM checked_table c WHERE c.log = s.log AND c.name = s.name)"
            " ORDER BY name LIMIT ?",
            (log, most),
        )
        return tuple(name for (name,) in rows)

    def begin(self, batch: LogBatch) -> LogBatch:
        """Write down a batch; return it with its number."""
        with self.transaction() as db:
            number = db.execute(
                "INSERT INTO batch (log, tables, rules, thresholds, suppressed, begun)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    batch.log,
                    _text(batch.tables),
                    batch.rules,
                    _text(dict(batch.thresholds)),
                    written(batch.suppressed),
                    batch.begun,
                ),
            ).lastrowid
        return msgspec.structs.replace(batch, id=number)

    def unfinished(self, log: str) -> LogBatch | None:
        """Return the batch of a log that was begun and is not done."""
        found = self._batches("WHERE log = ? AND done IS NULL ORDER BY id LIMIT 1", (log,))
        return found[0] if found else None

    def retry(self, batch: LogBatch) -> None:
        """Write down that a batch is begun again: its process ended in the middle of it."""
        with self.transaction() as db:
            db.execute("UPDATE batch SET tries = tries + 1 WHERE id = ?", (batch.id,))

    def batches(self, log: str, most: int) -> list[LogBatch]:
        """Return the last batches of a log that are done, the latest first."""
        return self._batches(
            "WHERE log = ? AND done IS NOT NULL ORDER BY id DESC LIMIT ?", (log, most)
        )

    def remember(self, batch: LogBatch, now: float) -> None:
        """Write down that the histories of a batch are there."""
        with self.transaction() as db:
            db.execute("UPDATE batch SET remembered = ? WHERE id = ?", (now, batch.id))

    def remembered(self, batch: LogBatch, since: str) -> list[str]:
        """Return the names of the tables whose histories a batch sees beside its own.

        Args:
            batch: none that came after it counts, and the same come however often it is asked.
            since: the name of a slot; tables of earlier ones are left out.
        """
        rows = self.rows(
            "SELECT name FROM checked_table WHERE log = ? AND batch < ? AND name >= ? ORDER BY name",
            (batch.log, batch.id, since),
        )
        return [name for (name,) in rows]

    def newest(self, batch: LogBatch) -> str | None:
        """Return the last name of a table that was checked before a batch; None = none was."""
        ((name,),) = self.rows(
            "SELECT max(name) FROM checked_table WHERE log = ? AND batch < ?", (batch.log, batch.id)
        )
        return None if name is None else str(name)

    def finish(
        self, batch: LogBatch, tables: Sequence[CheckedTable], now: float, cpu_s: float
    ) -> None:
        """Write down that a batch is done, and its tables: all or nothing."""
        with self.transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO checked_table (log, {_CHECKED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - names of ours
                [
                    (
                        batch.log,
                        table.name,
                        table.batch,
                        table.rows,
                        table.checksum,
                        table.marked,
                        _text(dict(table.fired)),
                        table.done,
                    )
                    for table in tables
                ],
            )
            db.executemany(
                "INSERT OR REPLACE INTO event_slot (log, period, slot, name, rows, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (batch.log, share.period, share.slot, table.name, share.rows, share.checksum)
                    for table in tables
                    for share in table.shares
                ],
            )
            db.execute(
                "UPDATE batch SET done = ?, cpu_s = ?, suppressed = '[]' WHERE id = ?",
                (now, cpu_s, batch.id),
            )

    def drop(self, batch: LogBatch, aside: Mapping[str, str], now: float) -> None:
        """Give a batch up: some of its tables can't be read, the others are due again.

        Args:
            batch: it is done, with no tables.
            aside: why, by the name of a table.
            now: Unix seconds.
        """
        with self.transaction() as db:
            db.executemany(
                "UPDATE source_table SET why = ? WHERE log = ? AND name = ?",
                [(why, batch.log, name) for name, why in aside.items()],
            )
            db.execute(
                "UPDATE batch SET done = ?, tables = '[]', suppressed = '[]' WHERE id = ?",
                (now, batch.id),
            )

    def checked(self, log: str, since: float = 0.0, *, name: str = "") -> list[CheckedTable]:
        """Return the checked tables of a log in the order of their names.

        Args:
            log: its name.
            since: Unix seconds: what was checked earlier is left out.
            name: that table alone; empty = all.
        """
        return [
            CheckedTable(
                name=one,
                batch=batch,
                rows=count,
                checksum=checksum,
                marked=marked,
                fired=_FIRED.decode(fired),
                done=done,
            )
            for one, batch, count, checksum, marked, fired, done in self.rows(
                f"SELECT {_CHECKED} FROM checked_table WHERE log = ? AND done >= ?"  # noqa: S608 - names of ours
                " AND ? IN ('', name) ORDER BY name",
                (log, since, name),
            )
        ]

    def checked_table(self, log: str, name: str) -> CheckedTable | None:
        """Return a checked table of a log; None where there is none of the name."""
        found = self.checked(log, name=name)
        return found[0] if found else None

    def note_file(self, log: str, file: DroppedFile) -> None:
        """Write down what became of a file."""
        with self.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO dropped_file"
                " (log, file, size, changed, seen, name, state, why, broken, tries)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (log, *msgspec.structs.astuple(file)),
            )

    def set_aside(
        self, log: str, since: float = 0.0, files_since: float | None = None
    ) -> list[tuple[str, str]]:
        """Return the tables, the files and the days of a log that were set aside, each with why.

        Args:
            log: its name.
            since: Unix seconds: tables that were delivered earlier are left out.
            files_since: files that were met earlier are; None = as tables.
        """
        return [
            (name, why)
            for name, why in self.rows(
                "SELECT name, why FROM (SELECT 0 AS sort, name, why FROM source_table"
                " WHERE log = ? AND why != '' AND delivered >= ?"
                " UNION ALL SELECT 1, file, why FROM dropped_file"
                " WHERE log = ? AND state = ? AND seen >= ?"
                " UNION ALL SELECT 2, 'day ' || date, why FROM day_pass"
                " WHERE log = ? AND why != '' AND begun >= ?) ORDER BY sort, name",
                (
                    *(log, since),
                    *(log, DropState.ASIDE, since if files_since is None else files_since),
                    *(log, since),
                ),
            )
        ]

    def files(self, log: str) -> dict[str, DroppedFile]:
        """Return the files of a log that were met, by name."""
        return {
            file: DroppedFile(
                file=file,
                size=size,
                changed=changed,
                seen=seen,
                name=name,
                state=DropState(state),
                why=why,
                broken=broken,
                tries=tries,
            )
            for file, size, changed, seen, name, state, why, broken, tries in self.rows(
                "SELECT file, size, changed, seen, name, state, why, broken, tries FROM dropped_file"
                " WHERE log = ? ORDER BY file",
                (log,),
            )
        }

    def _batches(self, where: str, values: tuple[object, ...]) -> list[LogBatch]:
        return [
            LogBatch(
                id=number,
                log=log,
                tables=_NAMES.decode(tables),
                rules=rules,
                thresholds=_THRESHOLDS.decode(thresholds),
                suppressed=read_quiet_rules(suppressed),
                begun=begun,
                tries=tries,
                remembered=remembered,
                done=done,
                cpu_s=cpu_s,
            )
            for (
                number,
                log,
                tables,
                rules,
                thresholds,
                suppressed,
                begun,
                tries,
                remembered,
                done,
                cpu_s,
            ) in self.rows(
                f"SELECT {_BATCH} FROM batch {where}",  # noqa: S608 - texts of ours
                values,
            )
        ]


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
