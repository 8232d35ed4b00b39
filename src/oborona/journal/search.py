"""Searches the journal, newest first.

The verdicts are read backwards by their ids, which are in order of time, until enough are found, so
a search for today's mail reads only today's.  A queue id, a Message-ID and an id have an index in
the journal.  Of other words the search files (`journal.words`) tell which stretches may have them;
every message that is shown was compared with the question itself.

Refusals at connect, MAIL FROM or RCPT TO are found between the messages: of those that are counted
together the newest that matches.  A condition that no refusal can meet (of subject, Message-ID, a
list, a size, a verdict that lets in) leaves them unread.

Who may see some recipients alone (`journal.recipient_scope`) finds rows that have one of these, and
of these the recipients that they may see; refusals each for itself, for how many there were with
one tells of others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from heapq import merge
from itertools import islice, takewhile
from operator import attrgetter
from pathlib import Path
from typing import Final, Self

import msgspec

from oborona import ident, sqlite_file, state_files
from oborona.journal import schema
from oborona.journal.query import JournalQuery, QueryField
from oborona.journal.recipient_scope import Covers, mask_hits, narrow_column
from oborona.journal.refusal import COLLAPSE_S
from oborona.journal.search_condition import add_functions, condition
from oborona.journal.search_hit import SearchHit, message_hit, refusal_hit
from oborona.journal.search_statements import (
    COLUMNS,
    LAST,
    REFUSAL_COLUMNS,
    REFUSALS,
    SEEN_COLUMNS,
    SEEN_MESSAGES,
    SEEN_REFUSALS,
    asked_range,
    asks_of_content,
    seen_condition,
)
from oborona.journal.words.day_files import DayFiles
from oborona.journal.words.reader import JournalStretch, SearchReader

FIRST_ROWS: Final = 256  # read at once, where all are to be read: some milliseconds, then more
MOST_ROWS: Final = 4096
_WITHIN: Final = "id > ? AND id <= ? ORDER BY id DESC"
_AMONG: Final = "id IN (SELECT value FROM json_each(?)) ORDER BY id DESC"
_INDEXED: Final = (QueryField.QUEUE, QueryField.ID, QueryField.MESSAGE)


class JournalSearch:
    """The journal, open for searching; to be used by one thread, and closed.

    Args:
        path: the journal; its search files lie beside it.
        covers: whose mail may be seen; None = everybody's.
        files: opens its search files; None = each search by itself.
        clock: seconds, for how long a search takes.

    Raises:
        StoreError: there is none, or it can't be read; methods raise it too.
    """

    def __init__(
        self,
        path: Path,
        *,
        covers: Covers | None = None,
        files: DayFiles | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._covers = covers
        self._db = schema.open_reader(path)
        add_functions(self._db)
        if covers is not None:
            seen = lru_cache(maxsize=1024)(partial(narrow_column, covers=covers))
            self._db.create_function("seen", 1, seen, deterministic=True)
        folder = path.with_name(state_files.SEARCH)
        self._words = SearchReader(folder, self._db, files or DayFiles())
        self._clock = clock
        self._reached: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def reached(self) -> int | None:
        """The id below which the last search is to go on.

        None = it came to its end, or found as many as were wanted.
        """
        return self._reached

    @property
    def missing(self) -> list[str]:
        """Days that the last search has read whole, since their search file is missing or damaged,
        as 2026-11-23.
        """
        return self._words.missing

    def find(
        self, query: JournalQuery, most: int, *, within_s: float | None = None
    ) -> Iterator[SearchHit]:
        """Yield messages and refusals as they are found, newest first; a row that is damaged is
        passed over.

        Args:
            query: what to find.
            most: messages and refusals.
            within_s: seconds after which it ends, and `reached` says where; None = never.
        """
        self._reached = None
        ends = self._clock() + within_s if within_s is not None else None
        if asks_of_content(query):
            return self._messages(query, most, ends)
        found = (self._messages(query, most, ends), self._refusals(query, ends))
        # ids sort as their numbers do
        return islice(
            takewhile(self._is_reached, merge(*found, key=attrgetter("id"), reverse=True)), most
        )

    def _is_reached(self, hit: SearchHit) -> bool:
        """Tell whether both messages and refusals were read as far as a hit."""
        return self._reached is None or hit.id >= ident.to_text(self._reached)

    def _end(self, below: int) -> None:
        """Take note that it was time to end above an id."""
        self._reached = max(self._reached or 0, below + 1)

    def _messages(self, query: JournalQuery, most: int, ends: float | None) -> Iterator[SearchHit]:
        where, values = condition(_unbounded(query))
        table = "verdict"
        if self._covers is not None:
            table = SEEN_MESSAGES
            where, values = seen_condition(query, where, values)
        found = f"SELECT {COLUMNS} FROM {table} WHERE {where} AND"  # noqa: S608 - made of names of ours
        number, bounds = 0, list[object]()
        try:
            for stretch in self._stretches(query, ends):
                if stretch.ids is None:
                    sql, bounds = f"{found} {_WITHIN}", [stretch.after, stretch.last]
                elif stretch.ids:
                    sql, bounds = f"{found} {_AMONG}", [json.dumps(stretch.ids)]
                else:
                    continue
                for row in self._db.execute(sql, (*values, *bounds)):
                    hit = message_hit(row)
                    if hit is not None:
                        yield self._masked(hit)
                        number += 1
                        if number >= most:
                            return
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error

    def _stretches(self, query: JournalQuery, ends: float | None) -> Iterator[JournalStretch]:
        """Yield stretches of the journal that may have what is asked for, each read in an instant,
        until it is time to end.
        """
        first, last = asked_range(query)
        if query.among is not None or any(
            term.field in _INDEXED and not term.negated for term in query.terms
        ):
            yield JournalStretch(first, last, short=True)
            return
        for stretch in self._words.stretches(query, first, last):
            yield from self._pieces("verdict", stretch, first, ends)
            if self._reached is not None:
                return

    def _pieces(
        self, table: str, stretch: JournalStretch, first: int, ends: float | None
    ) -> Iterator[JournalStretch]:
        """Yield a stretch of a table in pieces that are read in an instant, until it is time."""
        rows, below = FIRST_ROWS, stretch.last
        while below > stretch.after:
            after = stretch.after if stretch.short else self._after(table, stretch, below, rows)
            yield JournalStretch(after, below, ids=stretch.ids)
            below, rows = after, min(2 * rows, MOST_ROWS)
            if ends is not None and self._clock() >= ends and below > first:
                self._end(below)
                return

    def _after(self, table: str, stretch: JournalStretch, below: int, rows: int) -> int:
        """Return where some rows of a stretch begin."""
        sql = f"SELECT id FROM {table} WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?"  # noqa: S608 - a name of ours
        found = self._db.execute(sql, (stretch.after, below, rows)).fetchone()
        return stretch.after if found is None else int(found[0])

    def _refusals(self, query: JournalQuery, ends: float | None) -> Iterator[SearchHit]:
        terms = tuple(term for term in query.terms if term.field is not QueryField.LIST)
        first, last = asked_range(query)
        narrow = self._covers is not None
        where, values = condition(_unbounded(msgspec.structs.replace(query, terms=terms)))
        columns, table = REFUSAL_COLUMNS, REFUSALS
        if narrow:
            columns, table = SEEN_COLUMNS, SEEN_REFUSALS
            where, values = seen_condition(query, where, values)
        elif query.since is not None:  # of those that began before, more may have come since
            first = ident.first_id_at(query.since - COLLAPSE_S) - 1
            where += f" AND {LAST} >= ?"
            values.append(query.since)
        sql = (
            f"SELECT {columns} FROM {table} WHERE {where} AND id > ? AND id <= ?"  # noqa: S608 - made of names of ours
            " ORDER BY id DESC"
        )
        heads = set[str]()
        try:
            for piece in self._pieces("refusal", JournalStretch(first, last), first, ends):
                for row in self._db.execute(sql, (*values, piece.after, piece.last)):
                    hit = refusal_hit(row)
                    if hit is not None and (narrow or hit.head not in heads):
                        heads.add(hit.head)
                        yield self._masked(hit)
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error

    def _masked(self, hit: SearchHit) -> SearchHit:
        """Return a hit without what its rules say of others."""
        if self._covers is None:
            return hit
        rules = mask_hits(hit.rules, self._covers, hit.sender, hit.header_from)
        return msgspec.structs.replace(hit, rules=rules, head=hit.id if hit.head else "")

    def oldest_refusal(self) -> float | None:
        """Return when the oldest refusal was that the journal has; None where it has none."""
        return self._first_time("refusal")

    def oldest(self) -> float | None:
        """Return when the oldest message came that the journal has, Unix seconds.

        None where it has none.
        """
        return self._first_time("verdict")

    def _first_time(self, table: str) -> float | None:
        sql = f"SELECT time FROM {table} ORDER BY id LIMIT 1"  # noqa: S608 - a name of ours
        try:
            row = self._db.execute(sql).fetchone()
        except sqlite_file.ERRORS as error:
            raise schema.classify_error(error, self._path) from error
        return None if row is None else float(row[0])


def _unbounded(query: JournalQuery) -> JournalQuery:
    """Return a question without its bounds in time, which are those of what is read: of two bounds
    of a kind SQLite heeds the first one, and with a day's it read the day for each stretch.
    """
    return msgspec.structs.replace(query, since=None, until=None, before=None)
