"""The index from a hash to the recent messages that carry it; it follows the journal, a fraction of
a second behind.

    journal ── arrivals, in the order in which they were written ──▶ rows in memory
            ── some seconds ──▶ files of an hour ──▶ merged

A row is a hash and the id of a message.  Rows are only added, in thousands, and deleted with their
hour: sorted files take a twentieth of the time of an SQLite table (docs/adr/0031).  The journal has
all their data: if anything is wrong with the files, they are deleted and the journal is followed
from the start.

One process has the index, and one thread at a time may change it; `find` may be called from another
meanwhile.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec
import numpy as np

from oborona import ident, lock
from oborona.atomic_file import OpenFileCheck
from oborona.journal import schema
from oborona.journal.index import pieces as index_pieces
from oborona.journal.index.files import Hours, IndexFiles
from oborona.journal.index.pieces import Numbers, messages_carrying
from oborona.sqlite_file import ERRORS, SqliteFileDamaged
from oborona.types import Shingle

FOLLOWED: Final = 2000  # arrivals in one step: some 20 ms
# what is in memory goes to the disk this often; who is killed follows so much again
FLUSH_S: Final = 15.0
FLUSH_ROWS: Final = 1 << 18  # or when it is so much: 4 MB
ROW_BYTES: Final = 16
MAX_BYTES: Final = 8 << 30  # beyond, the oldest hours go

HOUR_MS: Final = 3_600_000
EPOCH_HOUR: Final = ident.EPOCH // 3600

_ARRIVALS: Final = (
    "SELECT a.place, a.id, CASE a.late WHEN 0 THEN e.shingles ELSE l.shingles END FROM arrival a"
    " LEFT JOIN evidence e ON e.id = a.id AND a.late = 0 LEFT JOIN late l ON l.id = a.id AND "
    "a.late = 1"
    " WHERE a.place > ? ORDER BY a.place LIMIT ?"
)

_log = logging.getLogger("oborona.index")


class _Fresh(msgspec.Struct, frozen=True, eq=False):
    """Rows of some steps, in order."""

    hashes: Numbers
    ids: Numbers
    hours: frozenset[int]


def _in_order(hashes: Numbers, ids: Numbers, hours: frozenset[int]) -> _Fresh:
    order = np.lexsort((ids, hashes))
    return _Fresh(hashes[order], ids[order], hours)


class _View(msgspec.Struct, frozen=True, eq=False):
    """All that is known at one moment."""

    files: Hours
    fresh: tuple[_Fresh, ...]

    def of(self, hour: int) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield hashes and ids that may be of an hour."""
        for batch in self.fresh:
            if hour in batch.hours:
                yield batch.hashes, batch.ids
        for segment in self.files.get(hour, ()):
            yield segment.hashes, segment.ids


class JournalIndex:
    """The index of one journal.

    Args:
        folder: of its files.
        journal: that it follows; there must be one.
        max_bytes: its files take at most, about.

    Raises:
        StoreBusy: another process has it.
        StoreError: the folder can't be made or read.
    """

    def __init__(self, folder: Path, journal: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._journal = journal
        self._max_rows = max_bytes // ROW_BYTES
        self._db: sqlite3.Connection | None = None
        self._file = OpenFileCheck(journal)
        self._files = IndexFiles(folder)
        self._lock = lock.hold(folder / "lock", "oborona, following the journal")
        self._since = 0.0  # Unix seconds, when the first row in memory came
        self._place = 0  # up to which the journal is followed
        self._view = _View({}, ())
        self._full = False  # the last step took as much as it may
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the files go; what is in memory is followed again by who comes next."""
        self._files.close()
        self._leave()
        self._lock.release()

    @property
    def rows(self) -> int:
        """How many there are."""
        view = self._view
        return sum(len(segment.hashes) for segment in view.fresh) + sum(
            segment.rows for segments in view.files.values() for segment in segments
        )

    @property
    def journal(self) -> Path:
        """The journal that it follows."""
        return self._journal

    def unwritten(self) -> bool:
        """Tell whether rows are in memory alone, which a later step is to write."""
        return bool(self._view.fresh)

    @property
    def busy(self) -> bool:
        """Whether the next step is better taken at once."""
        return self._full

    def follow(self, now: float, *, most: int = FOLLOWED) -> int:
        """Take a step: the next arrivals of the journal, and a little of what is to be merged.

        Args:
            now: Unix seconds.
            most: arrivals.

        Returns:
            How many were taken.

        Raises:
            StoreError: the journal can't be read, or the index not be written; try again later.
        """
        db = self._connected()
        try:
            if self._is_due(now):
                self._flush()
            merging = self._files.merge(_hour_of(ident.first_id_at(now)) - 1)
        except SqliteFileDamaged as damage:
            self._begin_anew(damage)
            return 0
        try:
            arrivals = db.execute(_ARRIVALS, (self._place, most)).fetchall()
        except ERRORS as error:
            self._leave()
            raise schema.classify_error(error, self._journal) from error
        if arrivals:
            self._take(
                [(number, stored) for _, number, stored in arrivals if isinstance(stored, bytes)],
                now,
            )
            self._place = arrivals[-1][0]
        self._full = merging or len(arrivals) == most
        self._show()
        return len(arrivals)

    def find(
        self, shingles: Sequence[Shingle], *, since: float, before: int | None = None, most: int
    ) -> list[int]:
        """Return messages that carry any of some pieces.

        Args:
            shingles: wanted; those of other types than `index_pieces.MOST` are not known.
            since: Unix seconds; older messages are not wanted.
            before: only messages with lower ids; None = all. The last id of one answer gives the
                next.
            most: messages.

        Returns:
            Their ids, newest first, each once.
        """
        view = self._view
        hashes_wanted = np.unique(np.array([shingle.hash for shingle in shingles], dtype=np.uint64))
        low, high = ident.first_id_at(since), ident.HIGHEST + 1 if before is None else before
        hours = view.files.keys() | {hour for segment in view.fresh for hour in segment.hours}
        ids_found: list[int] = []
        for hour in sorted(hours, reverse=True):
            first, last = max(low, _first_of(hour)), min(high, _first_of(hour + 1))
            if first >= last:
                continue
            parts = [
                ids
                for hashes, owners in view.of(hour)
                for ids in messages_carrying(
                    hashes, owners, hashes_wanted, first, last, most - len(ids_found)
                )
            ]
            if parts:
                ids_found += np.unique(np.concatenate(parts))[::-1][
                    : most - len(ids_found)
                ].tolist()
            if len(ids_found) >= most:
                break
        return ids_found

    def purge(self, now: float, window_s: float) -> int:
        """Forget hours that are over, and the oldest where there is too much.

        Return how many files went.

        Args:
            now: Unix seconds, of a clock that is believed.
            window_s: of the second look.

        Raises:
            StoreError: the index can't be written.
        """
        oldest = _hour_of(ident.first_id_at(now - window_s))
        hours_gone = {hour for hour in self._files.hours if hour < oldest}
        rows = 0
        for hour, segments in sorted(self._files.hours.items(), reverse=True):
            rows += sum(segment.rows for segment in segments)
            if rows > self._max_rows:
                hours_gone.add(hour)
        number = self._files.drop(hours_gone)
        self._show()
        return number

    def _open(self) -> None:
        try:
            self._files.open()
        except SqliteFileDamaged as damage:
            self._begin_anew(damage)
        self._place = self._files.place
        self._show()

    def _begin_anew(self, why: Exception | str) -> None:
        _log.warning("index: %s; it is built again from the journal", why)
        self._files.begin_anew()
        self._place = 0
        self._show(())

    def _connected(self) -> sqlite3.Connection:
        if not self._file.in_place():  # it was set aside
            self._leave()
        if self._db is None:
            self._file = OpenFileCheck(self._journal)
            self._db = schema.open_reader(self._journal)
            ((last,),) = self._db.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = 'arrival'"
            ).fetchall() or ((0,),)
            if self._place > last:
                self._begin_anew(f"{self._journal}: is not the journal that it has followed")
        return self._db

    def _leave(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _take(self, messages: Collection[tuple[int, bytes]], now: float) -> None:
        hashes, ids = index_pieces.rows(
            [message for message, _ in messages], [stored for _, stored in messages]
        )
        if not len(hashes):
            return
        if not self._view.fresh:
            self._since = now
        fresh = [
            *self._view.fresh,
            _in_order(hashes, ids, frozenset(np.unique(_hours_of(ids)).tolist())),
        ]
        while len(fresh) > 1 and len(fresh[-2].ids) <= 2 * len(
            fresh[-1].ids
        ):  # few, each row seldom sorted again
            b, a = fresh.pop(), fresh.pop()
            hashes, ids = np.concatenate((a.hashes, b.hashes)), np.concatenate((a.ids, b.ids))
            fresh.append(_in_order(hashes, ids, a.hours | b.hours))
        self._show(tuple(fresh))

    def _is_due(self, now: float) -> bool:
        fresh = self._view.fresh
        if not fresh:
            return False
        return (
            not 0 <= now - self._since < FLUSH_S
            or sum(len(segment.hashes) for segment in fresh) >= FLUSH_ROWS
        )

    def _flush(self) -> None:
        fresh = self._view.fresh
        hashes = np.concatenate([segment.hashes for segment in fresh])
        ids = np.concatenate([segment.ids for segment in fresh])
        hours = _hours_of(ids)
        rows = {
            hour: (hashes[hours == hour], ids[hours == hour]) for hour in np.unique(hours).tolist()
        }
        self._files.add(rows, self._place)
        self._show(())

    def _show(self, fresh: tuple[_Fresh, ...] | None = None) -> None:
        self._view = _View(self._files.hours, self._view.fresh if fresh is None else fresh)


def _hour_of(number: int) -> int:
    """Return the hour of an id, since the Unix epoch."""
    return EPOCH_HOUR + (number >> ident.TIME_SHIFT) // HOUR_MS


def _hours_of(ids: Numbers) -> Numbers:
    return (ids >> np.uint64(ident.TIME_SHIFT)) // np.uint64(HOUR_MS) + np.uint64(EPOCH_HOUR)


def _first_of(hour: int) -> int:
    """Return the lowest id of an hour."""
    return max(0, hour - EPOCH_HOUR) * HOUR_MS << ident.TIME_SHIFT
