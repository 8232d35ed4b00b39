"""The file of charts as the keeper writes it: what each look at the processes brought is added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from oborona.sqlite_file import SharedSqliteFile, SqliteFileDamaged, closed_on_error
from oborona.stores.charts import schema
from oborona.stores.charts.differences import ProcessCount, counted_since, differences, spread
from oborona.stores.charts.schema import DAY_S, DAYS_KEPT, TEN_S, TENS_KEPT
from oborona.stores.charts.sources import other_of, room_of

MOST_BEYOND: Final = 4000  # names that are remembered for tomorrow's room
TWICE: Final = 2  # so much larger than what has room must be what is to take its place

_ADD: Final = (
    "INSERT INTO {} VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = value + excluded.value"
)
_LARGEST: Final = (
    "INSERT INTO {} VALUES (?1, ?2, ?3)"
    " ON CONFLICT DO UPDATE SET value = max(value, excluded.value)"
)
_TABLES: Final = (("ten", TEN_S), ("day", DAY_S))


class ChartSample(msgspec.Struct, frozen=True, kw_only=True):
    """One look at what the processes say.

    Args:
        time: of the look, Unix seconds.
        processes: what each has counted.
        queues: how large something is now, by series.
        dated: Unix seconds of ten minutes → what was found of them, by series.
        place: in the journal, up to which `dated` was found; None = it was not read.
        quiet_at: until when nothing had been counted, as far as is known.
    """

    time: float
    processes: dict[str, ProcessCount] = {}
    queues: dict[str, int] = {}
    dated: dict[int, dict[str, int]] = {}
    place: int | None = None
    quiet_at: float = 0.0


class TakenSample(NamedTuple):
    """What a look brought."""

    changed: bool  # anything was counted, or waits that did not
    full: frozenset[str]  # what had no room for a series, and was not told before


class ChartStore(SharedSqliteFile):
    """The open file; to be used by one thread at a time, and closed.

    Args:
        path: its folder exists.
        make: begin one where there is none.

    Raises:
        StoreError: as of `SharedSqliteFile`.
    """

    shared = schema.SHARED

    def __init__(self, path: Path, *, make: bool = True) -> None:
        super().__init__(path, make=make)
        self._series: dict[str, int] = {}
        self._used: dict[str, int] = {}  # room → series that have it
        self._told: set[str] = set()
        self._waiting: dict[str, int] = {}
        self._day = -1  # for which there was room made
        with self.told() as db, closed_on_error(db, path):
            self._check(db)
            self._know(db)

    def place(self) -> int | None:
        """Return up to where the journal was read; None = it was not."""
        rows = self.rows("SELECT mark FROM mark WHERE process = 'journal'")
        return int(rows[0][0]) if rows else None

    def take(self, sample: ChartSample) -> TakenSample:
        """Add what is new in a look: all of it, or on an error nothing.

        Of processes that are seen first by a file without marks nothing is: how long they counted
        is not known.
        """
        try:
            with self.transaction() as db:
                taken = self._take(db, sample)
        except BaseException:
            # names that were given within are not in the file
            self._series.clear()
            raise
        self._waiting = sample.queues
        return taken

    def _take(self, db: sqlite3.Connection, sample: ChartSample) -> TakenSample:
        if not self._series:
            self._know(db)
        marks = dict(db.execute("SELECT process, mark FROM mark"))
        full = set[str]()
        changed = not marks
        if self._day != sample.time // DAY_S:
            self._make_room(db, sample.time)
            self._day = int(sample.time // DAY_S)
        if sample.place is not None:
            db.execute("INSERT OR REPLACE INTO mark VALUES ('journal', ?)", (str(sample.place),))
        for process, now in sample.processes.items():
            before = _mark(marks.get(process))
            if before == now:
                continue
            new = differences(before, now) if marks else {}
            since = counted_since(before, now, sample.quiet_at)
            for name, count in new.items():
                ident = self._ident(db, name, count, full)
                for table, width in _TABLES:
                    parts = ((ident, *part) for part in spread(count, since, now.time, width))
                    db.executemany(_ADD.format(table), parts)
            changed |= bool(new) or before is None or before.pid != now.pid
            mark = msgspec.json.encode(now).decode()
            db.execute("INSERT OR REPLACE INTO mark VALUES (?, ?)", (process, mark))
        for start, counts in sample.dated.items():
            for name, count in counts.items():
                ident = self._ident(db, name, count, full)
                for table, width in _TABLES:
                    db.execute(_ADD.format(table), (ident, start // width, count))
                changed = True
        self._take_queues(db, sample, full)
        waits = {name for name, size in sample.queues.items() if size != self._waiting.get(name, 0)}
        untold = frozenset(full - self._told)
        self._told |= full
        return TakenSample(changed or bool(waits), untold)

    def _take_queues(self, db: sqlite3.Connection, sample: ChartSample, full: set[str]) -> None:
        for name, size in sample.queues.items():
            if not size and name not in self._series:
                continue
            ident = self._ident(db, name, size, full, most=True)
            for table, width in _TABLES:
                db.execute(_LARGEST.format(table), (ident, int(sample.time // width), size))

    def _check(self, db: sqlite3.Connection) -> None:
        """Refuse what SQLite takes for sound and nobody of ours wrote."""
        (wrong,) = db.execute(
            "SELECT (SELECT count(*) FROM series WHERE typeof(name) != 'text' OR name NOT LIKE '%/%')"
            " + (SELECT count(*) FROM mark WHERE typeof(mark) != 'text' OR"
            " process = 'journal' AND mark GLOB '*[^0-9]*')"
        ).fetchone()
        if wrong:
            raise SqliteFileDamaged(f"{self.path}: is damaged ({wrong} rows are none of ours)")

    def _know(self, db: sqlite3.Connection) -> None:
        self._series = dict(db.execute("SELECT name, id FROM series"))
        self._used = {}
        for name in self._series:
            if name != other_of(name):
                room, _ = room_of(name)
                self._used[room] = self._used.get(room, 0) + 1

    def _ident(
        self,
        db: sqlite3.Connection,
        name: str,
        count: int,
        full: set[str],
        *,
        most: bool = False,
    ) -> int:
        """Return the number of a series, or of the one in which it is summed."""
        known = self._series.get(name)
        if known is not None:
            return known
        other, (room, places) = other_of(name), room_of(name)
        if name != other:
            if self._used.get(room, 0) >= places:
                full.add(room)
                db.execute(
                    "INSERT INTO beyond SELECT ?1, ?2 WHERE"
                    " EXISTS (SELECT 1 FROM beyond WHERE name = ?1)"
                    " OR (SELECT count(*) FROM beyond) < ?3"
                    " ON CONFLICT DO UPDATE SET value = value + excluded.value",
                    (name, count, MOST_BEYOND),
                )
                return self._ident(db, other, count, full, most=most)
            self._used[room] = self._used.get(room, 0) + 1
        made = db.execute("INSERT INTO series (name, most) VALUES (?, ?)", (name, int(most)))
        ident = self._series[name] = int(made.lastrowid or 0)
        return ident

    def _make_room(self, db: sqlite3.Connection, now: float) -> None:
        """Forget what is old; what was larger than a series that has room takes its place."""
        for table, width, kept in (("ten", TEN_S, TENS_KEPT), ("day", DAY_S, DAYS_KEPT)):
            db.executemany(
                f"DELETE FROM {table} WHERE series = ? AND bucket <= ?",  # noqa: S608 - names of ours
                [(ident, int(now // width) - kept) for ident in self._series.values()],
            )
        day = int(now // DAY_S)
        gone = db.execute(
            "SELECT id FROM series WHERE NOT EXISTS (SELECT 1 FROM day WHERE series = id)"
        ).fetchall()
        db.executemany("DELETE FROM series WHERE id = ?", gone)
        for small, large in self._outgrown(db, day):
            other = self._ident(db, other_of(small), 0, set())
            for table, _ in _TABLES:
                db.execute(
                    f"INSERT INTO {table} SELECT ?1, bucket, value FROM {table}"  # noqa: S608 - names of ours
                    " WHERE series = ?2 ON CONFLICT DO UPDATE SET value = value + excluded.value",
                    (other, self._series[small]),
                )
                db.execute(f"DELETE FROM {table} WHERE series = ?", (self._series[small],))  # noqa: S608 - names of ours
            db.execute("UPDATE series SET name = ? WHERE id = ?", (large, self._series[small]))
        db.execute("DELETE FROM beyond")
        self._know(db)

    def _outgrown(self, db: sqlite3.Connection, day: int) -> Iterator[tuple[str, str]]:
        """Yield series that have room, and what was more than twice as large the last days."""
        beyond: dict[str, list[tuple[int, str]]] = {}
        for name, value in db.execute("SELECT name, value FROM beyond"):
            beyond.setdefault(room_of(name)[0], []).append((value, name))
        for room, names in beyond.items():
            sizes = sorted(
                db.execute(
                    "SELECT coalesce((SELECT sum(value) FROM day WHERE series = id"
                    " AND bucket >= ?), 0), name FROM series WHERE name LIKE ? AND NOT most",
                    (day - 1, f"{room}/%"),
                ).fetchall()
            )
            small = (row for row in sizes if row[1] != other_of(row[1]))
            for (large, new), (least, old) in zip(sorted(names, reverse=True), small, strict=False):
                if large <= TWICE * least:
                    break
                yield old, new


def _mark(text: Any) -> ProcessCount | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=ProcessCount)
    except msgspec.DecodeError:  # of another version
        return None
