"""The index's files on the disk: which of them count, and how far they cover the journal.

    index.json           the list: the place up to which the journal was followed, and the files
                         that count
    HOUR-NUMBER.pieces   `index_segment`

A file counts once it is in the list, and the list is replaced as a whole.  A process that is killed
leaves files outside of the list: the next start deletes them and goes on from the list's place.
Files of one hour are merged when eight of like size have come together, and all of them when the
hour is over: each row is written some four times, and an old hour is one file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.atomic_file import write_atomically
from oborona.errors import StoreError
from oborona.journal.index import segment as index_segment
from oborona.journal.index.pieces import Numbers
from oborona.journal.index.segment import IndexSegment
from oborona.sqlite_file import SqliteFileDamaged

SUFFIX: Final = ".pieces"
FORMAT: Final = 1
FEW: Final = 8  # files of like size that become one
STRAY: Final = 4  # files of an hour that is over, that become one
MODE: Final = 0o750

_OURS: Final = re.compile(
    r"[0-9]+-[0-9]+" + re.escape(SUFFIX) + r"|\..*\.[0-9]+"
)  # what is being written has a dot
_NUMBER: Final = re.compile(r"[0-9]+-([0-9]+)" + re.escape(SUFFIX))


class _List(msgspec.Struct, frozen=True):
    format: int
    place: int
    files: list[str]


Hours = Mapping[int, tuple[IndexSegment, ...]]
"""Open files by hour"""


class IndexFiles:
    """The files of one index; one process writes them.

    Args:
        folder: of theirs; made where there is none.

    Raises:
        StoreError: the folder can't be made or read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0  # of the last file
        self._merging: tuple[tuple[IndexSegment, ...], Iterator[IndexSegment | None]] | None = None
        self.place = 0  # up to which the journal is in the files; 0 = nothing of it
        self.hours: Hours = {}
        try:
            folder.mkdir(mode=MODE, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: {error.strerror or error}") from error

    def open(self) -> None:
        """Open what the list names, and delete what it does not.

        Raises:
            Damaged: the list, or a file that it names, is not what was written.
            StoreError: it can't be read.
        """
        try:
            octets = (self._folder / state_files.INDEX_LIST).read_bytes()
        except FileNotFoundError:
            self.begin_anew()
            return
        except OSError as error:
            raise StoreError(
                f"{self._folder / state_files.INDEX_LIST}: {error.strerror or error}"
            ) from error
        try:
            listed = msgspec.json.decode(octets, type=_List)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise SqliteFileDamaged(
                f"{self._folder / state_files.INDEX_LIST}: is damaged ({error})"
            ) from error
        if listed.format != FORMAT or not all(map(_NUMBER.fullmatch, listed.files)):
            raise SqliteFileDamaged(
                f"{self._folder / state_files.INDEX_LIST}: is damaged, or of another version"
            )
        segments = [index_segment.read(self._folder / name) for name in listed.files]
        self._number = max(
            (int(match[1]) for match in map(_NUMBER.fullmatch, listed.files) if match), default=0
        )
        self.place = listed.place
        self.hours = _by_hour(segments)
        self._delete(set(listed.files))

    def begin_anew(self) -> None:
        """Forget everything: what the journal has is to be followed from its beginning.

        Raises:
            StoreError: files can't be deleted.
        """
        self._stop_merging()
        self.place, self.hours = 0, {}
        try:
            (self._folder / state_files.INDEX_LIST).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self._folder / state_files.INDEX_LIST}: {error.strerror or error}"
            ) from error
        self._delete(set())

    def add(self, rows: Mapping[int, tuple[Numbers, Numbers]], place: int) -> None:
        """Write down rows.

        Args:
            rows: hashes and ids, by hour.
            place: up to which the journal is in them and what was written before.

        Raises:
            StoreError: they can't be written; nothing of them counts.
        """
        fresh: list[IndexSegment] = []
        try:
            for hour, (hashes, ids) in rows.items():
                fresh.append(index_segment.write(self._next(hour), hour, hashes, ids))
            self._count([*self._all(), *fresh], place)
        except StoreError:
            _unlink(fresh)
            raise

    def merge(self, over: int) -> bool:
        """Do a slice of what is to be merged, milliseconds; return False where nothing is.

        Args:
            over: hours before this are over.

        Raises:
            Damaged: a file is not what was written: begin anew.
            StoreError: it can't be written; what was there counts on.
        """
        if self._merging is None:
            candidates = _to_merge(self.hours, over)
            if not candidates:
                return False
            self._merging = (
                candidates,
                index_segment.merge(self._next(candidates[0].hour), candidates),
            )
        old, slices = self._merging
        try:
            merged = next(slices)
            if merged is not None:
                merged_ids = set(map(id, old))
                self._count(
                    [
                        *(segment for segment in self._all() if id(segment) not in merged_ids),
                        merged,
                    ],
                    self.place,
                )
                self._merging = None
                _unlink(old)
        except StoreError:
            self._stop_merging()
            raise
        return True

    def drop(self, hours: Collection[int]) -> int:
        """Forget some hours; return how many files those were.

        Raises:
            StoreError: the list can't be written; what was there counts on.
        """
        segment = [segment for segment in self._all() if segment.hour in hours]
        if segment:
            self._stop_merging()
            self._count(
                [segment for segment in self._all() if segment.hour not in hours], self.place
            )
            _unlink(segment)
        return len(segment)

    def close(self) -> None:
        """Leave nothing half-written behind."""
        self._stop_merging()

    def _all(self) -> list[IndexSegment]:
        return [segment for segments in self.hours.values() for segment in segments]

    def _next(self, hour: int) -> Path:
        self._number += 1
        return self._folder / f"{hour}-{self._number}{SUFFIX}"

    def _count(self, segments: Sequence[IndexSegment], place: int) -> None:
        listed = _List(
            format=FORMAT, place=place, files=[segment.path.name for segment in segments]
        )
        write_atomically(self._folder / state_files.INDEX_LIST, msgspec.json.encode(listed))
        self.place, self.hours = place, _by_hour(segments)

    def _stop_merging(self) -> None:
        if self._merging is not None:
            slices = self._merging[1]
            self._merging = None
            close = getattr(slices, "close", None)
            if close is not None:
                close()

    def _delete(self, names: Collection[str]) -> None:
        """Delete files of ours that do not count."""
        try:
            for path in self._folder.iterdir():
                if path.name not in names and _OURS.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror or error}") from error


def _by_hour(segments: Sequence[IndexSegment]) -> Hours:
    by_hour: dict[int, tuple[IndexSegment, ...]] = {}
    for segment in segments:
        by_hour[segment.hour] = (*by_hour.get(segment.hour, ()), segment)
    return by_hour


def _to_merge(hours: Hours, over: int) -> tuple[IndexSegment, ...]:
    for hour, segments in sorted(hours.items(), reverse=True):
        if hour < over and len(segments) >= STRAY:
            return segments
        alike: dict[int, list[IndexSegment]] = {}
        for segment in segments:
            same = alike.setdefault(segment.rows.bit_length() // 3, [])
            same.append(segment)
            if len(same) == FEW:
                return tuple(same)
    return ()


def _unlink(segments: Sequence[IndexSegment]) -> None:
    """Delete files that do not count; one that can't be deleted goes at the next start."""
    for segment in segments:
        try:
            segment.path.unlink(missing_ok=True)
        except OSError:
            continue
