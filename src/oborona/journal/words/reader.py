"""Tells which stretches of the journal may have what somebody looks for: the newest first.

Where a day has no search file, or a damaged one, all of the day may.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona.errors import StoreError
from oborona.journal import schema
from oborona.journal.query import JournalQuery
from oborona.journal.words.asked_ways import asked_ways, named_ids
from oborona.journal.words.day_answers import DayStretch
from oborona.journal.words.day_files import DayFiles
from oborona.journal.words.days import day_name, day_of, day_path, first_of
from oborona.journal.words.slices import AskedWays
from oborona.sqlite_file import SqliteFileDamaged
from oborona.store_birth import stored_birth

FIRST_IDS: Final = 32  # messages that are read at once, each by its id; then more
MOST_IDS: Final = 256
_MOST_LOOKS: Final = 64  # stretches without an answer, between two looks at the clock


class JournalStretch(msgspec.Struct, frozen=True):
    """Messages with ids above the first number, up to the second."""

    after: int
    last: int
    short: bool = False  # some hundreds at most
    ids: Sequence[int] | None = None  # these alone, the highest one first; None = all


class _Asked(NamedTuple):
    ways: AskedWays
    ids: list[int]
    birth: str  # of the journal


class SearchReader:
    """The search files of one journal; for one thread.

    Args:
        folder: of the files; there may be none.
        db: the journal, open.
        files: opens them.
    """

    def __init__(self, folder: Path, db: sqlite3.Connection, files: DayFiles) -> None:
        self._folder = folder
        self._files = files
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
        asked, ids = asked_ways(query), named_ids(query)
        if not asked:
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
            with self._files.day(path, asked.birth) as file:
                if last > file.last:
                    yield JournalStretch(max(file.last, after), last)
                    last = max(file.last, after)
                with closing(file.answers(asked.ways, after, last, asked.ids)) as answers:
                    for stretch in _batches(answers, after, last):
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


def _batches(answers: Iterable[DayStretch], after: int, last: int) -> Iterator[JournalStretch]:
    """Yield stretches between two ids, without a gap: messages that lie apart, some at once, and
    those that lie together.
    """
    ids, most, looks = list[int](), FIRST_IDS, 0
    for one in answers:
        low = max(one.after, after)
        if one.last:
            high = max(low, min(one.last, last))
            yield _apart(ids, high, last)
            yield JournalStretch(low, high)
            ids, last = [], low
            continue
        ids += one.ids
        looks += 1
        if len(ids) >= most or looks == _MOST_LOOKS:
            yield _apart(ids, low, last)
            ids, last, looks = [], low, 0
            most = min(2 * most, MOST_IDS)
    yield _apart(ids, after, last)


def _apart(ids: Sequence[int], after: int, last: int) -> JournalStretch:
    within = [number for number in ids if after < number <= last]
    return JournalStretch(after, last, short=True, ids=within)
