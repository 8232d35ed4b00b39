"""One day's search file: which runs of letters are in which block of messages.

    block   some messages that follow each other: up to which id, how many, and whether more came
            later than it was written, so that it must always be read
    grams   FTS5 over what each block has, without its text
    words   FTS5 over the words of its addresses (`journal.words.addresses`); blocks of an older
            Oborona have none
    state   the journal's birth, and whether the day is over and all of it is here

A block has the messages after the last one of the block before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path
from typing import Final

import msgspec

from oborona import ident
from oborona.errors import StoreError
from oborona.journal.schema import SUSPECT
from oborona.journal.words.grams import SearchExpression
from oborona.sqlite_file import (
    ERRORS,
    PARTS,
    SqliteFileDamaged,
    SqliteFormat,
    checked_version,
    closed_on_error,
    connect,
    explained_error,
    migrate,
    part_of,
)

APPLICATION_ID: Final = 0x4F425344  # "OBSD"
DAY_S: Final = 86_400
FORMAT: Final = SqliteFormat(
    APPLICATION_ID,
    (
        (
            """
            CREATE TABLE block (
                place INTEGER PRIMARY KEY, -- in order of ids; of grams, too
                last INTEGER NOT NULL,     -- verdict.id
                rows INTEGER NOT NULL,
                unsure INTEGER NOT NULL DEFAULT 0
            )
            """,
            "CREATE INDEX block_last ON block (last)",
            "CREATE INDEX block_unsure ON block (place) WHERE unsure",
            """
            CREATE VIRTUAL TABLE grams USING fts5(
                text, content='', columnsize=0, detail=none, tokenize='trigram'
            )
            """,
            "CREATE TABLE state (birth TEXT NOT NULL, over INTEGER NOT NULL)",
        ),
        (
            """
            CREATE VIRTUAL TABLE words USING fts5(
                text, content='', columnsize=0, detail=none, tokenize='ascii'
            )
            """,
            # the last block that has none
            "ALTER TABLE state ADD COLUMN wordless INTEGER NOT NULL DEFAULT 0",
            "UPDATE state SET wordless = (SELECT ifnull(max(place), 0) FROM block)",
        ),
    ),
    "a search file",
)


_WORDS_SINCE: Final = 2  # version
_BLOCK: Final = (
    "SELECT b.place, ifnull((SELECT a.last FROM block a WHERE a.place = b.place - 1), 0), b.last, "
    "b.rows"
)
_BY_GRAMS: Final = (
    f"{_BLOCK} FROM grams g JOIN block b ON b.place = g.rowid WHERE g.grams MATCH ? "
    "AND g.rowid <= ? ORDER BY g.rowid DESC"
)
_BY_WORDS: Final = (
    f"{_BLOCK} FROM words w JOIN block b ON b.place = w.rowid WHERE w.words MATCH ? "
    "AND w.rowid > ? ORDER BY w.rowid DESC"
)
_NONE: Final = (0,)  # below all places
_REST: Final = "SELECT rowid FROM grams WHERE grams MATCH ? AND rowid > ? ORDER BY rowid DESC"


class SearchBlock(msgspec.Struct, frozen=True):
    """A block: its messages have ids above the first number, up to the second."""

    after: int
    last: int
    rows: int


def day_of(number: int) -> int:
    """Return the day of an id, in UTC, since the Unix epoch."""
    return int(ident.time_of_id(number) // DAY_S)


def first_of(day: int) -> int:
    """Return the lowest id that a day may have."""
    return ident.first_id_at(float(day * DAY_S))


def day_name(day: int) -> str:
    """Return a day as 2026-11-23."""
    return datetime.fromtimestamp(day * DAY_S, UTC).strftime("%Y-%m-%d")


def day_path(folder: Path, day: int) -> Path:
    """Return the file of a day."""
    return folder / f"{day_name(day)}.db"


def days_in(folder: Path) -> dict[int, Path]:
    """Return the days that have a file.

    Raises:
        StoreError: the folder can't be read.
    """
    try:
        paths = list(folder.glob("????-??-??.db"))
    except OSError as error:
        raise explained_error(error, folder) from error
    found = dict[int, Path]()
    for path in paths:
        with suppress(StoreError):
            found[day_in_name(path)] = path
    return found


def remove_day(path: Path) -> None:
    """Delete a day's file, and what SQLite keeps beside it.

    Raises:
        StoreError: it can't be.
    """
    try:
        for suffix in (*PARTS, "-journal", SUSPECT):
            part_of(path, suffix).unlink(missing_ok=True)
    except OSError as error:
        raise explained_error(error, path) from error


class SearchDay:
    """A day's file, open; for one thread at a time, and closed.

    Args:
        path: of the file; its name is the day.
        birth: of the journal.
        write: it is made where there is none.

    Raises:
        SqliteFileDamaged: it is damaged, or of another journal; methods raise it too.
        StoreError: there is none, or it can't be opened.
    """

    def __init__(self, path: Path, birth: str, *, write: bool = False) -> None:
        self.path = path
        self._first = first_of(day_in_name(path))
        self._db = connect(path, write=write, absent="" if write else "there is no search file")
        with closed_on_error(self._db, path):
            version = checked_version(self._db, path, FORMAT)
            if write:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                migrate(self._db, FORMAT)
                if version == 0:
                    self._db.execute("INSERT INTO state VALUES (?, 0, 0)", (birth,))
            elif version == 0:
                raise SqliteFileDamaged(f"{path}: is not finished")
            wordless = "wordless" if write or version >= _WORDS_SINCE else ident.HIGHEST
            row = self._db.execute(f"SELECT birth, over, {wordless} FROM state").fetchone()  # noqa: S608 - a name of ours, or a number
            last = self._db.execute("SELECT max(last) FROM block").fetchone()[0]
            if row is None or row[0] != birth:
                raise SqliteFileDamaged(f"{path}: is of another journal")
            if last is not None and day_of(last) != day_of(self._first):
                raise SqliteFileDamaged(f"{path}: is damaged (it has messages of another day)")
        self._wordless: int = row[2]
        self.over = bool(row[1])  # the day is, and all of it is here
        self.last: int = self._first - 1 if last is None else last
        """The highest id that is known, or the one before the day."""

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def add(self, blocks: list[tuple[int, int, str, str]]) -> None:
        """Add blocks, all or none.

        Args:
            blocks: highest id, number of messages, text, and words of addresses of each, in order.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for last, number, text, words in blocks:
                place = self._db.execute(
                    "INSERT INTO block (last, rows) VALUES (?, ?)", (last, number)
                ).lastrowid
                self._db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (place, text))
                self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (place, words))
            self._db.execute("COMMIT")
        except ERRORS as error:
            self._undo()
            raise explained_error(error, self.path) from error
        self.last = blocks[-1][0]

    def finish(self) -> None:
        """The day is over: make the file small and of one piece."""
        try:
            self._db.execute("INSERT INTO grams (grams) VALUES ('optimize')")
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._db.execute("UPDATE state SET over = 1")
            self._db.execute("VACUUM")
            with suppress(sqlite3.OperationalError):  # somebody reads it: it stays as it is
                self._db.execute("PRAGMA journal_mode = DELETE")
        except ERRORS as error:
            self._undo()
            raise explained_error(error, self.path) from error
        self.over = True

    def reopen(self) -> None:
        """More of the day came when it was over."""
        try:
            self._db.execute("UPDATE state SET over = 0")
        except ERRORS as error:
            raise explained_error(error, self.path) from error
        self.over = False

    def blocks(self, above: int = 0) -> list[SearchBlock]:
        """Return blocks with messages from an id on, in order."""
        found, after = list[SearchBlock](), self._first - 1
        for last, number in self._ask("SELECT last, rows FROM block ORDER BY place"):
            if last >= above:
                found.append(SearchBlock(after, last, number))
            after = last
        return found

    def count(self, above: int) -> tuple[int, SearchBlock | None]:
        """Return how many messages blocks have, and the first of these.

        Args:
            above: blocks whose messages all have lower ids do not count.
        """
        sql = "SELECT min(place), ifnull(sum(rows), 0) FROM block WHERE last >= ?"
        ((place, total),) = self._ask(sql, above)
        first = [
            SearchBlock(after or self._first - 1, last, rows)
            for _, after, last, rows in self._ask(f"{_BLOCK} FROM block b WHERE b.place = ?", place)
        ]
        return total, first[0] if first else None

    def recount(self, counts: dict[int, int]) -> None:
        """Note that blocks have other messages than when they were written: they are always read.

        Args:
            counts: how many each has, by its highest id.
        """
        try:
            self._db.executemany(
                "UPDATE block SET rows = ?, unsure = 1 WHERE last = ?",
                [(number, last) for last, number in counts.items()],
            )
        except ERRORS as error:
            raise explained_error(error, self.path) from error

    def candidates(
        self, asked: SearchExpression, below: int, ids: Iterable[int] = ()
    ) -> Iterator[SearchBlock]:
        """Yield blocks that may have what is asked for, the newest first.

        Args:
            asked: runs are asked for.
            ids: messages whose blocks are wanted, too.
            below: blocks that begin at higher ids are not wanted.
        """
        unsure = self._ask(f"{_BLOCK} FROM block b WHERE b.unsure ORDER BY b.place DESC")
        named = [
            row
            for number in sorted(ids, reverse=True)
            for row in self._ask(
                f"{_BLOCK} FROM block b WHERE b.last >= ? ORDER BY b.last LIMIT 1", number
            )
        ]
        before = None
        for place, after, last, rows in merge(self._known(asked), unsure, named, reverse=True):
            if place != before and (after or self._first - 1) < below:
                yield SearchBlock(after or self._first - 1, last, rows)
            before = place

    def _known(self, asked: SearchExpression) -> Iterator[tuple[int, ...]]:
        """Yield the blocks that have what is asked for, in order."""
        until = ident.HIGHEST
        if asked.words and self._wordless < until:
            until = self._wordless
            found = self._ask(_BY_WORDS, asked.words, until)
            yield from self._with_rest(found, asked.rest, until) if asked.rest else found
        if until:
            yield from self._ask(_BY_GRAMS, asked.grams, until)

    def _with_rest(
        self, found: Iterator[tuple[int, ...]], rest: str, above: int
    ) -> Iterator[tuple[int, ...]]:
        """Yield those of some blocks that have runs of letters, too; no more is read of them than
        is wanted.
        """
        places = self._ask(_REST, rest, above)
        place = next(places, _NONE)[0]
        for block in found:
            while place > block[0]:
                place = next(places, _NONE)[0]
            if place == block[0]:
                yield block

    def _ask(self, sql: str, *values: object) -> Iterator[tuple[int, ...]]:
        try:
            with closing(self._db.execute(sql, values)) as cursor:
                yield from cursor
        except ERRORS as error:
            fault = explained_error(error, self.path)
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_ERROR:
                # a table or a part of FTS5's that is gone
                fault = SqliteFileDamaged(f"{self.path}: is damaged ({error})")
            raise fault from error

    def _undo(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")


def day_in_name(path: Path) -> int:
    """Return the day that a file's name says.

    Raises:
        StoreError: it says none.
    """
    try:
        when = datetime.strptime(path.stem, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise StoreError(f"{path}: is no day's search file") from None
    return int(when.timestamp() // DAY_S)
