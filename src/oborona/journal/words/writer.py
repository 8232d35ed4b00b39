"""Makes search files of the journal, in steps; the newest day first.

    journal ── messages in order of ids, once they are some seconds old ──▶ parts of a thousand

What is younger is not here yet, and read by who searches: so nothing needs to be told by who writes
the journal.  A message that is written late (its spool was taken over, or the journal had no room)
falls into a part that is there already.  The journal counts its rows, so that is seen, and the
message is always read from then on.

A day that is damaged, was lost, or is of another journal is deleted and made again.  One process
makes them, and one thread at a time.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from oborona import ident, lock
from oborona.atomic_file import OpenFileCheck
from oborona.journal import schema
from oborona.journal.words.day_chunks import PART
from oborona.journal.words.day_file import SearchDay
from oborona.journal.words.days import day_of, day_path, days_in, first_of, remove_day
from oborona.journal.words.message_slices import COLUMNS, common_runs, message_slices
from oborona.sqlite_file import ERRORS, SqliteFileDamaged, explained_error
from oborona.store_birth import stored_birth

SETTLE_S: Final = 10.0  # workers write in batches: later ones may have lower ids for so long
CHECK_S: Final = 60.0  # between looks for what came late, and for files that are damaged

_BETWEEN: Final = "id > ? AND id < ?"
_log = logging.getLogger("oborona.search")


class SearchWriter:
    """Makes the search files of one journal; to be closed.

    Args:
        folder: of the files; made when missing.
        journal: there must be one.

    Raises:
        StoreBusy: another process makes them.
        StoreError: the folder can't be made or read.
    """

    def __init__(self, folder: Path, journal: Path) -> None:
        self.journal = journal
        self._folder = folder
        self._file = OpenFileCheck(journal)
        self._db: sqlite3.Connection | None = None
        self._birth = ""
        self._day: SearchDay | None = None  # that is being written
        self._over = dict[int, int | None]()  # days that are finished; their messages, once counted
        self._checked = 0.0
        self._accepted = 0  # messages that no count of parts accounts for
        try:
            folder.mkdir(mode=0o750, exist_ok=True)
        except OSError as error:
            raise explained_error(error, folder) from error
        self._lock = lock.hold(folder / "lock", "oborona, making search files")

    def close(self) -> None:
        """Let all files go."""
        self._leave()
        self._lock.release()

    def follow(self, now: float) -> bool:
        """Take a step; return whether the next one is better taken at once.

        Args:
            now: Unix seconds.

        Raises:
            StoreError: the journal can't be read, or a file not be written; try again later.
        """
        db = self._connected()
        if not 0 <= now - self._checked < CHECK_S:
            self._look_for_damage()
            self._purge(db)
        settled = ident.first_id_at(now - SETTLE_S)
        below = settled
        while (day := self._newest_day(db, below)) is not None:
            below = first_of(day)
            if day not in self._over and self._extend(db, day, settled):
                return True
        if not 0 <= now - self._checked < CHECK_S:
            try:
                self._look_for_late(db)
            except SqliteFileDamaged as damage:
                _log.warning("%s; what is damaged is made again", damage)
                self._begin_anew()
                return True
            self._checked = now
        return False

    def _purge(self, db: sqlite3.Connection) -> None:
        """Delete the files of days that the journal has no more."""
        with self._told():
            oldest = db.execute("SELECT min(id) FROM verdict").fetchone()[0]
        for day, path in days_in(self._folder).items():
            if oldest is None or day < day_of(oldest):
                self._drop(day, path)

    def _extend(self, db: sqlite3.Connection, day: int, settled: int) -> bool:
        """Add a part to a day; return whether one was, or its file was finished."""
        path, end = day_path(self._folder, day), first_of(day + 1)
        try:
            file = self._open(day, path)
            if not file.over:
                is_over, bounds = end <= settled, (file.last, min(settled, end), PART)
                if not is_over and not self._fills_part(db, bounds):
                    return False
                sql = f"SELECT {COLUMNS} FROM verdict WHERE {_BETWEEN} ORDER BY id LIMIT ?"  # noqa: S608 - names of ours
                with self._told():
                    rows = db.execute(sql, bounds).fetchall()
                if len(rows) == PART or (rows and is_over):
                    common = file.common or common_runs(rows)
                    file.add([row[0] for row in rows], message_slices(rows, common), common)
                    return True
                if not is_over:  # some were purged meanwhile
                    return False
                file.finish()
        except SqliteFileDamaged as damage:
            _log.warning("%s; it is made again from the journal", damage)
            self._drop(day, path)
            return True
        self._over[day] = None
        self._close_day()
        return True

    def _fills_part(self, db: sqlite3.Connection, bounds: tuple[int, int, int]) -> bool:
        """Tell whether there are as many messages; what is not whole yet is not read for it."""
        *between, number = bounds
        sql = f"SELECT 1 FROM verdict WHERE {_BETWEEN} ORDER BY id LIMIT 1 OFFSET ?"  # noqa: S608 - names of ours
        with self._told():
            return db.execute(sql, (*between, number - 1)).fetchone() is not None

    def _open(self, day: int, path: Path) -> SearchDay:
        if self._day is not None and (self._day.path != path or not path.exists()):
            self._close_day()
        if self._day is None:
            self._day = SearchDay(path, self._birth, write=True)
        return self._day

    def _look_for_damage(self) -> None:
        """Delete what somebody has met damage in; make again what is gone."""
        there = days_in(self._folder)
        for day in self._over.keys() - there.keys():
            _log.warning("%s: is gone; it is made again", day_path(self._folder, day))
            del self._over[day]
        for day, path in there.items():
            if why := schema.suspicion(path):
                _log.warning("%s; it is made again from the journal", why)
                self._drop(day, path)

    def _look_for_late(self, db: sqlite3.Connection) -> None:
        """Compare how many messages the journal has with how many are known."""
        days = sorted(days_in(self._folder), reverse=True)
        with self._told():
            oldest = db.execute("SELECT min(id) FROM verdict").fetchone()[0]
        if oldest is None or not days or self._unknown(db, days, oldest) == self._accepted:
            return
        for day in days:
            self._recount(db, day, oldest)
        self._over = dict.fromkeys(self._over)
        # what is left is none of ours, and no reason to count again
        self._accepted = self._unknown(db, days, oldest)

    def _unknown(self, db: sqlite3.Connection, days: list[int], oldest: int) -> int:
        with closing(SearchDay(day_path(self._folder, days[0]), self._birth)) as newest:
            last = newest.last
        with self._told(), _snapshot(db):
            (total,) = db.execute("SELECT rows FROM tally").fetchone()
            known = sum(self._known(db, day, oldest) for day in days)
            return int(total) - known - _count(db, last, ident.HIGHEST)

    def _known(self, db: sqlite3.Connection, day: int, oldest: int) -> int:
        """Return how many messages of a day are known of those that the journal has."""
        if day < day_of(oldest):
            return 0
        known = self._over.get(day)
        if known is None or day == day_of(oldest):
            with closing(SearchDay(day_path(self._folder, day), self._birth)) as file:
                parts = file.parts(oldest)
            known = sum(part.rows for part in parts)
            if day in self._over and day != day_of(oldest):
                self._over[day] = known
            elif parts:  # some of the first one may be gone
                known -= max(0, parts[0].rows - _count(db, parts[0].after, parts[0].last))
        return known

    def _recount(self, db: sqlite3.Connection, day: int, oldest: int) -> None:
        """Have messages read always that came when their part was here already."""
        file, late = SearchDay(day_path(self._folder, day), self._birth, write=True), 0
        with closing(file):
            for part in file.parts(oldest):
                with self._told():
                    if _count(db, part.after, part.last) > part.rows:
                        late += 1
                        file.note_late(part, _ids(db, part.after, part.last))
            if late:
                _log.info("%s: messages of %d parts came late", file.path, late)
            with self._told():
                more = _count(db, file.last, first_of(day + 1) - 1)
            if file.over and more:
                file.reopen()
                self._over.pop(day, None)

    def _connected(self) -> sqlite3.Connection:
        if not self._file.in_place():  # it was set aside
            self._leave()
        if self._db is None:
            self._file = OpenFileCheck(self.journal)
            self._db = schema.open_reader(self.journal)
            with self._told():
                birth = stored_birth(self._db)
            mark = birth.mark if birth is not None else ""
            if mark != self._birth:
                self._over.clear()
            self._birth = mark
        return self._db

    def _leave(self) -> None:
        self._close_day()
        if self._db is not None:
            self._db.close()
            self._db = None

    def _close_day(self) -> None:
        if self._day is not None:
            self._day.close()
            self._day = None

    def _drop(self, day: int, path: Path) -> None:
        self._close_day()
        self._over.pop(day, None)
        remove_day(path)

    def _begin_anew(self) -> None:
        """Delete files that can't be opened, or have another journal's messages."""
        self._close_day()
        for day, path in days_in(self._folder).items():
            try:
                with closing(SearchDay(path, self._birth)) as file:
                    file.parts()
            except SqliteFileDamaged:
                self._drop(day, path)

    def _newest_day(self, db: sqlite3.Connection, below: int) -> int | None:
        with self._told():
            number = db.execute("SELECT max(id) FROM verdict WHERE id < ?", (below,)).fetchone()[0]
        return None if number is None else day_of(number)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite in reading the journal come out as what they mean; it is left."""
        try:
            yield
        except ERRORS as error:
            self._leave()
            raise schema.classify_error(error, self.journal) from error


def _ids(db: sqlite3.Connection, after: int, last: int) -> list[int]:
    sql = "SELECT id FROM verdict WHERE id > ? AND id <= ?"
    return [number for (number,) in db.execute(sql, (after, last))]


def _count(db: sqlite3.Connection, after: int, last: int) -> int:
    sql = "SELECT count(*) FROM verdict WHERE id > ? AND id <= ?"
    return int(db.execute(sql, (after, last)).fetchone()[0])


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """All that is read within is of one moment."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
