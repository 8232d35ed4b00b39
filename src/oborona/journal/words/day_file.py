"""One day's search file: which messages may have which runs of letters.

    part    a thousand messages that follow each other: up to which id, how many, and their ids
    chunk   one part, or 32 of them, or all of a day that is over: up to which id
    slices  of each chunk (`journal.words.slices`): a bit for each of its messages, in order
    late    messages that were written when their part was here already: always read
    state   the journal's birth, and whether the day is over and all of it is here

A part has the messages after the last one of the part before.  All parts of a chunk but the last
one are full.  The larger a chunk, the less is read of slices; so that nothing waits for one, parts
are chunks until there are enough of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona.errors import StoreError
from oborona.journal.words.day_answers import DayAnswers, DayStretch
from oborona.journal.words.day_chunks import IDS, PARTS, kept_counts, kept_ids, read_ids
from oborona.journal.words.days import day_in_name, day_of, first_of
from oborona.journal.words.slices import COMMON, SLICES, AskedWays, asked_of_day
from oborona.sqlite_file import (
    ERRORS,
    SqliteFileDamaged,
    SqliteFormat,
    checked_version,
    closed_on_error,
    connect,
    explained_error,
    migrate,
)

APPLICATION_ID: Final = 0x4F425344  # "OBSD"
_TABLES: Final = (
    """
    CREATE TABLE part (
        number INTEGER PRIMARY KEY, -- in order of ids
        last INTEGER NOT NULL,      -- verdict.id
        rows INTEGER NOT NULL,      -- with those that came late
        ids BLOB NOT NULL           -- 8 octets each, little-endian
    )
    """,
    "CREATE UNIQUE INDEX part_last ON part (last, rows)",
    """
    CREATE TABLE chunk (
        number INTEGER PRIMARY KEY, -- of its first part
        last INTEGER NOT NULL,
        parts INTEGER NOT NULL,
        counts BLOB                 -- of messages of each slice, 4 octets; NULL: of one part
    )
    """,
    # number of chunk, times how many slices there are, and that of the slice
    "CREATE TABLE slices (place INTEGER PRIMARY KEY, bits BLOB NOT NULL)",
    "CREATE TABLE late (id INTEGER PRIMARY KEY)",
    """
    CREATE TABLE state (
        birth TEXT NOT NULL,
        over INTEGER NOT NULL,
        common BLOB NOT NULL        -- a bit for each place of runs that are common
    )
    """,
)
# files of the versions before are not made new: they are made again
FORMAT: Final = SqliteFormat(APPLICATION_ID, ((), (), _TABLES), "a search file")
_PAGE: Final = 16_384  # octets: what is read of slices lies together
_CACHE_KIB: Final = 256  # of who reads: a fortnight's files may be open, for some at once
_NEWEST: Final = len(FORMAT.migrations)


class SearchPart(msgspec.Struct, frozen=True):
    """A part: its messages have ids above the first number, up to the second."""

    after: int
    last: int
    rows: int


class SearchDay:
    """A day's file, open; for one thread at a time, and closed.

    Args:
        path: of the file; its name is the day.
        birth: of the journal.
        write: it is made where there is none.

    Raises:
        SqliteFileDamaged: it is damaged, or of another journal; methods raise it too. To who
            writes, one of an older Oborona is.
        StoreError: there is none, or one of an older Oborona, or it can't be opened.
    """

    def __init__(self, path: Path, birth: str, *, write: bool = False) -> None:
        self.path = path
        self._first = first_of(day_in_name(path))
        self._birth = birth
        self._db = connect(path, write=write, absent="" if write else "there is no search file")
        with closed_on_error(self._db, path):
            version = checked_version(self._db, path, FORMAT)
            if 0 < version < _NEWEST:
                raise _of_older(path, write=write)
            if write:
                self._db.execute(f"PRAGMA page_size = {_PAGE}")  # of a file that is new
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                migrate(self._db, FORMAT)
                if version == 0:
                    self._db.execute("INSERT INTO state VALUES (?, 0, x'')", (birth,))
            elif version == 0:
                raise SqliteFileDamaged(f"{path}: is not finished")
            else:
                self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self.look()

    def look(self) -> None:
        """See how far it goes by now.

        Raises:
            SqliteFileDamaged: it is damaged, or of another journal.
        """
        try:
            row = self._db.execute("SELECT birth, over, common FROM state").fetchone()
            last = self._db.execute("SELECT max(last) FROM part").fetchone()[0]
        except ERRORS as error:
            raise self._fault(error) from error
        if row is None or row[0] != self._birth:
            raise SqliteFileDamaged(f"{self.path}: is of another journal")
        if last is not None and day_of(last) != day_of(self._first):
            raise SqliteFileDamaged(f"{self.path}: is damaged (it has messages of another day)")
        if last is not None and len(row[2]) != COMMON // 8:
            raise SqliteFileDamaged(f"{self.path}: is damaged (common runs)")
        self.over = bool(row[1])  # the day is, and all of it is here
        self.common: bytes = row[2]
        """Which runs are common in its mail; empty where nothing is here yet."""
        self.last: int = self._first - 1 if last is None else last
        """The highest id that is known, or the one before the day."""

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def add(self, ids: Sequence[int], slices: Sequence[bytes], common: bytes) -> None:
        """Add a part, and join parts where there are enough: all or nothing.

        Args:
            ids: of its messages, in order; `PART`, fewer only where no more come of the day.
            slices: of them.
            common: the runs that are common in the day, the same for all its parts.
        """
        with self._transaction():
            if not self.common:
                self._db.execute("UPDATE state SET common = ?", (common,))
            number = self._db.execute(
                "INSERT INTO part (last, rows, ids) VALUES (?, ?, ?)",
                (ids[-1], len(ids), kept_ids(ids)),
            ).lastrowid
            assert number is not None
            self._db.execute("INSERT INTO chunk VALUES (?, ?, 1, NULL)", (number, ids[-1]))
            self._db.executemany(
                "INSERT INTO slices VALUES (?, ?)",
                [(number * SLICES + place, bits) for place, bits in enumerate(slices)],
            )
            self._join(PARTS)
        self.last, self.common = ids[-1], common

    def finish(self) -> None:
        """The day is over: make the file small and of one piece."""
        try:
            with self._transaction():
                self._join(2, whole=True)
                self._db.execute("UPDATE state SET over = 1")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with suppress(sqlite3.OperationalError):  # somebody reads it: it stays as it is
                self._db.execute("PRAGMA journal_mode = DELETE")
        except ERRORS as error:
            raise explained_error(error, self.path) from error
        self.over = True

    def reopen(self) -> None:
        """More of the day came when it was over."""
        with self._transaction():
            self._db.execute("UPDATE state SET over = 0")
        self.over = False

    def parts(self, above: int = 0) -> list[SearchPart]:
        """Return parts with messages from an id on, in order."""
        found, after = list[SearchPart](), self._first - 1
        try:
            for last, number in self._db.execute("SELECT last, rows FROM part ORDER BY last"):
                if last >= above:
                    found.append(SearchPart(after, last, number))
                after = last
        except ERRORS as error:
            raise self._fault(error) from error
        return found

    def note_late(self, part: SearchPart, ids: Iterable[int]) -> None:
        """Note which of the messages that a part has by now it had not when it was written.

        Args:
            part: of this file.
            ids: of all its messages.
        """
        now = list(ids)
        with self._transaction():
            sql = "SELECT ids FROM part WHERE last = ?"
            known = set(read_ids(self._db.execute(sql, (part.last,)).fetchone()[0]))
            late = [(number,) for number in now if number not in known]
            self._db.executemany("INSERT OR IGNORE INTO late VALUES (?)", late)
            self._db.execute("UPDATE part SET rows = ? WHERE last = ?", (len(now), part.last))

    def answers(
        self, asked: AskedWays, after: int, last: int, ids: Iterable[int] = ()
    ) -> Generator[DayStretch, None, None]:
        """Yield which messages may answer, the newest first.

        Args:
            asked: of at least one condition.
            after: messages with ids above it are wanted.
            last: and no higher ones.
            ids: messages that are wanted, too.
        """
        try:
            self._db.execute("BEGIN")  # all of one moment; each look by itself would cost as much
            try:
                slices = asked_of_day(asked, self.common) if self.common else ()
                yield from DayAnswers(self._db, self._first, slices, ids).between(after, last)
            finally:
                self._db.execute("ROLLBACK")
        except ERRORS as error:
            raise self._fault(error) from error
        except (TypeError, ValueError) as error:
            raise SqliteFileDamaged(f"{self.path}: is damaged ({error})") from error

    def _join(self, least: int, *, whole: bool = False) -> None:
        """Join the last chunks where there are so many, those of one part each, or `whole` all; all
        but the last one must be full.
        """
        chunks = list[int]()
        for number, parts, full in self._db.execute(
            "SELECT c.number, c.parts, length(p.ids) = ? FROM chunk c "
            "JOIN part p ON p.number = c.number + c.parts - 1 ORDER BY c.number DESC",
            (IDS,),
        ):
            if (parts > 1 and not whole) or (chunks and not full):
                break
            chunks.append(number)
        if len(chunks) < least:
            return
        first, last, parts = self._db.execute(
            "SELECT min(number), max(last), sum(parts) FROM chunk WHERE number >= ?", (chunks[-1],)
        ).fetchone()
        marks, counts = ", ".join("?" * len(chunks)), list[int]()
        for place in range(SLICES):  # one after the other: all of a day are some hundred megabytes
            places = [number * SLICES + place for number in chunks]
            sql = f"SELECT bits FROM slices WHERE place IN ({marks}) ORDER BY place"  # noqa: S608 - marks
            bits = b"".join(row[0] for row in self._db.execute(sql, places))
            self._db.execute(f"DELETE FROM slices WHERE place IN ({marks})", places)  # noqa: S608 - marks
            self._db.execute("INSERT INTO slices VALUES (?, ?)", (first * SLICES + place, bits))
            counts.append(int.from_bytes(bits, "little").bit_count())
        self._db.execute("DELETE FROM chunk WHERE number >= ?", (first,))
        row = (first, last, parts, kept_counts(counts))
        self._db.execute("INSERT INTO chunk VALUES (?, ?, ?, ?)", row)

    def _fault(self, error: Exception) -> StoreError:
        """Return what an error of SQLite's means."""
        # a table is gone, or what is read is no text
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF == sqlite3.SQLITE_ERROR:
            return SqliteFileDamaged(f"{self.path}: is damaged ({error})")
        return explained_error(error, self.path)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is written within is there as a whole, or not at all."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
        except ERRORS as error:
            raise self._fault(error) from error


def _of_older(path: Path, *, write: bool) -> StoreError:
    """Return that a file is of an older Oborona: nothing of it is of use."""
    kind = SqliteFileDamaged if write else StoreError
    return kind(f"{path}: is of an older Oborona")
