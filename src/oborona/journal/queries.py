"""Queries to the journal: by id, by the mail server's queue id, by Message-ID, the latest.

`JournalReader` opens the file read-only, beside a daemon that writes it; the daemon's own `Journal`
is a reader too.
"""

from __future__ import annotations

import asyncio
import sqlite3
import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import aiosqlite

from oborona import ident, sqlite_file
from oborona.atomic_file import OpenFileCheck
from oborona.errors import StoreError
from oborona.journal import rows, schema, texts
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.refusal import RecordedRefusal
from oborona.journal.refusal_rows import GET_REFUSAL, unpack_refusal

# ids that a search gives: a queue id is used again after weeks, a Message-ID by any spammer
FOUND: Final = 100

CHUNK: Final = 500  # entries that are read at once
COPIES: Final = 10_000  # of one message; mail servers make fewer
DAMAGED: Final = (
    ValueError,
    KeyError,
    TypeError,
    struct.error,
)  # what reading a row raises that was changed

ENTRIES: Final = (
    "SELECT "  # noqa: S608 - names of ours
    + ", ".join(f"v.{name.strip()}" for name in rows.VERDICT_COLUMNS.split(","))
    + ", "
    + ", ".join(f"e.{name.strip()}" for name in rows.EVIDENCE_COLUMNS.split(","))
    + ", n.names FROM verdict v LEFT JOIN evidence e ON e.id = v.id LEFT JOIN names n ON n.id = e.shape"
)
_VERDICT_WIDTH: Final = len(rows.VERDICT_COLUMNS.split(","))


class JournalArrival(NamedTuple):
    """A message that passed, or in which something was found late."""

    place: int  # in the order in which they were written
    id: int  # of its entry
    late: bool


async def aiosqlite_connection(db: sqlite3.Connection) -> aiosqlite.Connection:
    """Return an open connection as aiosqlite drives it.

    It is opened before, because aiosqlite's thread outlives an open that fails, and then meets a
    closed loop.
    """
    return await aiosqlite.Connection(lambda: db, iter_chunk_size=64)


class JournalReader:
    """The journal, read-only.

    Use `await JournalReader.open(path)`; close it, or use it as a context manager.
    """

    def __init__(self, path: Path, db: aiosqlite.Connection) -> None:
        self.path = path
        self._db = db
        self._file = OpenFileCheck(path)

    def in_place(self) -> bool:
        """Whether the file that is read is still the journal: it may have been set aside."""
        return self._file.in_place()

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the journal at a path.

        Raises:
            StoreError: there is none, or it cannot be read; the text says why.
        """
        return cls(
            path, await aiosqlite_connection(await asyncio.to_thread(schema.open_reader, path))
        )

    async def close(self) -> None:
        """Let the file go."""
        await self._db.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def get(self, number: int) -> JournalEntry | None:
        """Return one entry; None when there is none, or it was purged.

        Raises:
            StoreError: the file cannot be read.
        """
        entries = await self._entries(f"{ENTRIES} WHERE v.id = ?", (number,))
        return entries[0] if entries else None

    async def some(self, numbers: Sequence[int]) -> list[JournalEntry]:
        """Return those entries of some ids that are there and whole, in no order.

        Raises:
            StoreError: the file cannot be read.
        """
        marks = ", ".join("?" * len(numbers))
        entries = []
        for row in await self._fetch(f"{ENTRIES} WHERE v.id IN ({marks})", numbers):
            with suppress(*DAMAGED):
                entries.append(entry_of(row))
        return entries

    async def late(self, number: int) -> LateFindings | None:
        """Return what was found late in a message; None when nothing was, or it was purged.

        Raises:
            StoreError: the file cannot be read.
        """
        rows_read = await self._fetch(
            f"SELECT {rows.LATE_COLUMNS} FROM late WHERE id = ?",  # noqa: S608 - names of ours
            (number,),
        )
        return rows.unpack_late(rows_read[0]) if rows_read else None

    async def refusal(self, number: int) -> RecordedRefusal | None:
        """Return what a reference says of a refusal before the content; None when there is none, or
        it was purged.

        Raises:
            StoreError: the file cannot be read, or the row is damaged.
        """
        for row in await self._fetch(GET_REFUSAL, (number,)):
            try:
                return unpack_refusal(row)
            except DAMAGED as error:
                raise StoreError(
                    f"{self.path}: the refusal {ident.to_text(number)} is damaged: {error}"
                ) from error
        return None

    async def went(self, number: int) -> list[CopyDelivery]:
        """Return where the copies of a message went, in that order, as far as the delivery door has
        told; none where there is no such door.

        Raises:
            StoreError: the file cannot be read.
        """
        rows_read = await self._fetch(
            f"SELECT {rows.WENT_COLUMNS} FROM went WHERE id = ? ORDER BY time LIMIT {COPIES}",  # noqa: S608 - names of ours
            (number,),
        )
        return [rows.unpack_went(row) for row in rows_read]

    async def arrived(self, after: int, most: int = CHUNK) -> list[JournalArrival]:
        """Return the next messages that passed, and those in which something was found late, in the
        order in which they were written.

        Whoever remembers the last place and asks for what is behind it misses none, in whatever
        order their ids were given, and whether or not the journal was begun anew meanwhile.

        Args:
            after: the place of the last one that is known; 0 = from the first that is kept.
            most: arrivals.

        Raises:
            StoreError: the file cannot be read.
        """
        rows_read = await self._fetch(
            "SELECT place, id, late FROM arrival WHERE place > ? ORDER BY place LIMIT ?",
            (after, most),
        )
        return [JournalArrival(place, number, bool(late)) for place, number, late in rows_read]

    async def last_place(self) -> int:
        """Return the place of the last arrival; what is behind it is yet to come.

        Raises:
            StoreError: the file cannot be read.
        """
        ((place,),) = await self._fetch("SELECT seq FROM sqlite_sequence WHERE name = 'arrival'")
        return int(place)

    async def find(self, *, queue_id: str = "", message_id: str = "") -> list[int]:
        """Return the ids of at most `FOUND` entries, newest first.

        Args:
            queue_id: the mail server's; empty = any.
            message_id: as entries have it; empty = any. Both: entries that match both.

        Raises:
            StoreError: the file cannot be read.
            ValueError: neither was given.
        """
        conditions: list[str] = []
        values: list[object] = []
        if queue_id:
            conditions.append("queue_id = ?")
            values.append(rows.column_text(queue_id))
        if message_id:
            conditions.append("message_key = ? AND message_id = ?")
            values += texts.message_key(message_id), rows.column_text(message_id)
        if not conditions:
            raise ValueError("what to find: a queue id or a Message-ID")
        sql = f"SELECT id FROM verdict WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT {FOUND}"  # noqa: S608
        return [number for (number,) in await self._fetch(sql, values)]

    async def logins(self, queue_ids: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return who sent messages, by queue id: the Unix time when each was judged, and the login.

        Of an id that was used again the latest. What the journal does not have is left out.

        Raises:
            StoreError: the file cannot be read.
        """
        found: dict[str, tuple[float, str]] = {}
        for start in range(0, len(queue_ids), CHUNK):
            some = [rows.column_text(one) for one in queue_ids[start : start + CHUNK]]
            sql = (
                "SELECT queue_id, time, login FROM verdict"  # noqa: S608 - marks alone
                f" WHERE queue_id IN ({', '.join('?' * len(some))}) ORDER BY id"
            )
            for queue_id, when, login in await self._fetch(sql, some):
                found[texts.unpack_text(queue_id)] = float(when), texts.unpack_text(login)
        return found

    async def number_of_logins(self, when: float) -> int:
        """Return how many logins sent mail from a time on, Unix seconds.

        Raises:
            StoreError: the file cannot be read.
        """
        sql = "SELECT count(DISTINCT login) FROM verdict WHERE id >= ? AND login <> ''"
        ((number,),) = await self._fetch(sql, (ident.first_id_at(when),))
        return int(number)

    async def recent(self, limit: int = 20) -> list[JournalEntry]:
        """Return the latest entries, newest first.

        Raises:
            StoreError: the file cannot be read.
        """
        return await self._entries(f"{ENTRIES} ORDER BY v.id DESC LIMIT ?", (limit,))

    async def since(self, when: float) -> AsyncIterator[JournalEntry | int]:
        """Yield the entries from a time on, oldest first; of one whose row is damaged its id.

        Args:
            when: Unix seconds.

        Raises:
            StoreError: the file cannot be read.
        """
        last = ident.first_id_at(when) - 1
        while True:
            rows_read = await self._fetch(
                f"{ENTRIES} WHERE v.id > ? ORDER BY v.id LIMIT {CHUNK}", (last,)
            )
            for row in rows_read:
                last = row[0]
                try:
                    entry = entry_of(row)
                except DAMAGED:
                    yield last
                else:
                    yield entry
            if len(rows_read) < CHUNK:
                return

    async def latest_below(self, before: int, most: int = CHUNK) -> list[JournalEntry | int]:
        """Return the latest entries below an id, newest first; of one whose row is damaged its id.

        Args:
            before: ids below this; 0 = all there are.
            most: so many.

        Raises:
            StoreError: the file cannot be read.
        """
        entries: list[JournalEntry | int] = []
        for row in await self._fetch(
            f"{ENTRIES} WHERE v.id <= ? ORDER BY v.id DESC LIMIT ?",
            (before - 1 if before else ident.HIGHEST, most),
        ):
            try:
                entries.append(entry_of(row))
            except DAMAGED:
                entries.append(row[0])
        return entries

    async def clients(self, after: int, before: int, most: int = CHUNK) -> list[tuple[int, str]]:
        """Return ids between two, and the clients' addresses that their entries have, the newest
        first; empty where it is no text.

        Raises:
            StoreError: the file cannot be read.
        """
        rows_read = await self._fetch(
            "SELECT id, client_ip FROM verdict WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?",
            (after, before, most),
        )
        return [
            (number, address if isinstance(address, str) else "") for number, address in rows_read
        ]

    async def count_since(self, when: float) -> int:
        """Return how many entries there are from a time on.

        Args:
            when: Unix seconds.

        Raises:
            StoreError: the file cannot be read.
        """
        ((number,),) = await self._fetch(
            "SELECT count(*) FROM verdict WHERE id >= ?", (ident.first_id_at(when),)
        )
        return int(number)

    async def policies(self) -> dict[str, dict[str, str]]:
        """Return what each rule asked, by name, of each version of the policy that the journal
        knows.

        Raises:
            StoreError: the file cannot be read, or what it holds of a policy is damaged.
        """
        try:
            policies = await self._fetch("SELECT version, rules FROM policy ORDER BY place")
            return {version: rows.unpack_asks(stored) for version, stored in policies}
        except ValueError as error:
            raise StoreError(
                f"{self.path}: what it knows of policies is damaged: {error}"
            ) from error

    async def count(self) -> int:
        """Return how many entries there are, without counting them.

        Raises:
            StoreError: the file cannot be read.
        """
        ((number,),) = await self._fetch("SELECT rows FROM tally")
        return int(number)

    async def _entries(self, sql: str, values: Iterable[object]) -> list[JournalEntry]:
        rows_read = []
        for row in await self._fetch(sql, values):
            try:
                rows_read.append(entry_of(row))
            except DAMAGED as error:
                raise StoreError(
                    f"{self.path}: the entry {ident.to_text(row[0])} is damaged: {error}"
                ) from error
        return rows_read

    async def _fetch(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return [tuple(row) for row in await self._db.execute_fetchall(sql, values)]
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self.path) from error


def entry_of(row: tuple[Any, ...]) -> JournalEntry:
    """Return the entry of a row of `ENTRIES`."""
    evidence = row[_VERDICT_WIDTH:-1]
    return rows.unpack(row[:_VERDICT_WIDTH], None if evidence[0] is None else evidence, row[-1])
