"""Tells which stretches of the journal may have what somebody looks for: the newest first.

Where a day has no search file, or a damaged one, all of the day may.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona.errors import StoreError
from oborona.journal import schema
from oborona.journal.query import JournalQuery
from oborona.journal.words.day_file import SearchDay, day_name, day_of, day_path, first_of
from oborona.journal.words.grams import SearchExpression, expression, named_ids
from oborona.sqlite_file import SqliteFileDamaged
from oborona.store_birth import stored_birth

JOINED: Final = 32  # blocks that are read at once where they follow each other


class JournalStretch(msgspec.Struct, frozen=True):
    """Messages with ids above the first number, up to the second."""

    after: int
    last: int
    short: bool = False  # some thousands at most


class _Asked(NamedTuple):
    text: SearchExpression
    ids: list[int]
    birth: str  # of the journal


class SearchReader:
    """The search files of one journal; for one thread.

    Args:
        folder: of the files; there may be none.
        db: the journal, open.
    """

    def __init__(self, folder: Path, db: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = db
        self.missing = list[str]()
        """Days that were read whole for want of a file, or that are to be."""

    def stretches(self, query: JournalQuery, after: int, last: int) -> Iterator[JournalStretch]:
        """Yield stretches that may have what is asked for.

        Args:
            query: what is asked.
            after: messages with ids above it are wanted.
            last: and no higher ones.
        """
        self.missing = []
        asked, ids = expression(query), named_ids(query)
        if not asked.grams:
            yield JournalStretch(after, last)
            return
        birth = stored_birth(self._db)
        mark = birth.mark if birth is not None else ""
        newest = True
        while last > after:
            sql = "SELECT max(id) FROM verdict WHERE id > ? AND id <= ?"
            (number,) = self._db.execute(sql, (after, last)).fetchone()
            if number is None:
                return
            day = day_of(number)
            start = max(after, first_of(day) - 1)
            yield from self._of_day(_Asked(asked, ids, mark), day, start, last, newest=newest)
            last, newest = start, False

    def _of_day(
        self, asked: _Asked, day: int, after: int, last: int, *, newest: bool
    ) -> Iterator[JournalStretch]:
        path = day_path(self._folder, day)
        try:
            with closing(SearchDay(path, asked.birth)) as file:
                if last > file.last:
                    yield JournalStretch(max(file.last, after), last)
                    last = max(file.last, after)
                for stretch in self._candidates(file, asked, after, last):
                    yield stretch
                    last = stretch.after
                return
        except SqliteFileDamaged as damage:
            schema.mark_suspect(path, str(damage))
            self.missing.append(day_name(day))
        except StoreError:
            if not newest:  # the newest may be begun later
                self.missing.append(day_name(day))
        yield JournalStretch(after, last)

    @staticmethod
    def _candidates(
        file: SearchDay, asked: _Asked, after: int, last: int
    ) -> Iterator[JournalStretch]:
        low = high = number = 0
        for block in file.candidates(asked.text, last, asked.ids):
            if block.last <= after:
                break
            if number and (block.last != low or number == JOINED):
                yield JournalStretch(max(low, after), min(high, last), short=True)
                number = 0
            if not number:
                high = block.last
            low, number = block.after, number + 1
        if number:
            yield JournalStretch(max(low, after), min(high, last), short=True)
