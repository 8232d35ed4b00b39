"""The writer's eye on all spools: what is new in each, whose worker is dead, what can be removed.

    list the files → for each owner, read on from its position → whole records are batches, in order
    at the end of a file: a later number exists → go on there; its lock can be had → its process is dead, and what
    is there is all there will be; else → more may come

A torn end is waited for while its process lives, and cut when it is dead. Damage is skipped to the next whole record.
Both are reported, never silent. Positions are the caller's to keep, in the transaction that applies the batches;
files go only after `settle` says that this transaction is on disk, so a record is applied exactly once whatever is
killed when.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from oborona.counters import batch
from oborona.counters.batch import HEADER_BYTES, LENGTH_LIMIT, Batch, Damaged, Torn
from oborona.counters.spool import SpoolFile, parse_name
from oborona.errors import StoreError, StoreVersion

LEAST_READ: Final = 256 << 10  # of each spool in one go, however many there are


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """How far a spool is applied."""

    number: int = 0  # of its file; 0 = none yet
    offset: int = 0
    sequence: int = 0  # of the last record applied


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at the spools found."""

    batches: list[Batch]
    positions: dict[str, Position]  # of the owners that moved
    finished: list[str]  # owners of whom no more will come
    more: bool  # the limit was reached before the end


class Follower:
    """Reads all spools of a directory.

    Args:
        directory: need not exist yet.
        positions: by owner, from the store.
        report: told, in words for an admin, what was cut or skipped.

    """

    def __init__(
        self, directory: Path, positions: dict[str, Position], report: Callable[[str], None]
    ) -> None:
        self._directory = directory
        self._positions = dict(positions)
        self._report = report
        self._open: dict[SpoolFile, int] = {}
        self._dead: set[str] = set()
        self._refused: set[str] = set()

    def owners(self) -> set[str]:
        """Return whose files are there now."""
        return set(self._files())

    def collect(self, limit: int) -> Collected:
        """Return what whole records follow the positions, about `limit` bytes in all.

        Raises:
            StoreError: the directory or a file cannot be read.

        """
        try:
            files = self._files()
            found: list[Batch] = []
            moved: dict[str, Position] = {}
            finished: list[str] = []
            more = False
            share = max(limit // max(len(files), 1), LEAST_READ)
            for owner, theirs in files.items():
                if owner in self._refused:
                    continue
                walk = _Walk(self, owner, theirs, self._positions.get(owner, Position()), share)
                found.extend(walk)
                if walk.position != self._positions.get(owner):
                    moved[owner] = walk.position
                if walk.finished:
                    finished.append(owner)
                more = more or walk.more
        except OSError as error:
            raise StoreError(f"cannot read the spools in {self._directory}: {error}") from error
        return Collected(batches=found, positions=moved, finished=finished, more=more)

    def settle(self, collected: Collected) -> None:
        """Take the positions as kept on disk, and remove what is applied as a whole."""
        self._positions.update(collected.positions)
        for owner, theirs in self._files().items():
            done = owner in collected.finished
            for file in theirs:
                if done or file.number < self._positions.get(owner, Position()).number:
                    (self._directory / file.name).unlink(missing_ok=True)
                    self._forget(file)
            if done:
                self._positions.pop(owner, None)
                self._dead.discard(owner)

    def close(self) -> None:
        """Close all files."""
        for file in list(self._open):
            self._forget(file)

    def _files(self) -> dict[str, list[SpoolFile]]:
        by_owner: dict[str, list[SpoolFile]] = {}
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._directory)):  # noqa: PTH208 - twice as fast, twenty times a second
                file = parse_name(name)
                if file is not None:
                    by_owner.setdefault(file.owner, []).append(file)
        return by_owner

    def read(self, file: SpoolFile, offset: int, size: int) -> bytes:
        descriptor = self._open.get(file)
        if descriptor is None:
            descriptor = os.open(self._directory / file.name, os.O_RDONLY | os.O_CLOEXEC)
            self._open[file] = descriptor
        return os.pread(descriptor, size, offset)

    def is_dead(self, file: SpoolFile) -> bool:
        """Whether the process that appended to this file is gone; once it is, we hold its lock."""
        if file.owner not in self._dead:
            try:
                fcntl.flock(self._open[file], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._dead.add(file.owner)
        return True

    def refuse(self, file: SpoolFile, why: StoreVersion) -> None:
        self._refused.add(file.owner)
        self._report(f"spool {file.name} is left alone: {why}")

    def skip(self, file: SpoolFile, offset: int, size: int, why: str) -> None:
        self._report(
            f"spool {file.name}: {size} bytes at {offset} are no whole record ({why}) and are skipped"
        )

    def missing(self, file: SpoolFile, after: int, found: int) -> None:
        self._report(f"spool {file.name}: records {after + 1} to {found - 1} are missing")

    def _forget(self, file: SpoolFile) -> None:
        descriptor = self._open.pop(file, -1)
        if descriptor >= 0:
            os.close(descriptor)


class _Walk:
    """One owner's files from a position on; iterating gives the batches and moves the position."""

    def __init__(
        self, follower: Follower, owner: str, files: list[SpoolFile], position: Position, share: int
    ) -> None:
        self.position = position
        self.finished = False
        self.more = False
        self._follower = follower
        self._files = files
        self._share = share

    def __iter__(self) -> Iterator[Batch]:
        while (file := self._current()) is not None:
            last = file is self._files[-1]
            size = self._share
            while True:
                data = self._follower.read(file, self.position.offset, size)
                whole = len(data) < size  # to the end of the file
                before = self.position.offset
                try:
                    yield from self._batches(file, data, ended=whole and not last)
                except StoreVersion as error:
                    self._follower.refuse(file, error)
                    return
                if whole or self.position.offset > before or size > LENGTH_LIMIT + HEADER_BYTES:
                    break
                size *= 2  # one record is larger than the share
            if not whole:
                self.more = True
                return
            if last:
                yield from self._end(file)
                return
            self._go_to(self._files[self._files.index(file) + 1])

    def _current(self) -> SpoolFile | None:
        for file in self._files:
            if file.number >= self.position.number:
                if file.number > self.position.number:
                    self._go_to(file)
                return file
        return None

    def _go_to(self, file: SpoolFile) -> None:
        self.position = msgspec.structs.replace(self.position, number=file.number, offset=0)

    def _end(self, file: SpoolFile) -> Iterator[Batch]:
        """At the end of the last file: done if its process is dead, after one more look with its lock in hand."""
        if not self._follower.is_dead(file):
            return
        data = self._follower.read(file, self.position.offset, self._share)
        whole = len(data) < self._share
        yield from self._batches(file, data, ended=whole)
        self.finished = whole
        self.more = not whole

    def _batches(self, file: SpoolFile, data: bytes, *, ended: bool) -> Iterator[Batch]:
        """Yield the whole records of `data`, which begins at the position; `ended`: nothing will follow it."""
        at, base = 0, self.position.offset
        while at < len(data):
            try:
                found = batch.decode(data, at)
            except (Torn, Damaged) as error:
                following = _next_whole(data, at)
                if following == len(data) and not ended:
                    return
                self._follower.skip(file, base + at, following - at, str(error) or "cut short")
                at = following
                self._move(base + at)
                continue
            if self.position.sequence and found.sequence > self.position.sequence + 1:
                self._follower.missing(file, self.position.sequence, found.sequence)
            at = found.end
            fresh = found.sequence > self.position.sequence  # else a copy of what is applied already
            self._move(base + at, max(found.sequence, self.position.sequence))
            if fresh:
                yield found

    def _move(self, offset: int, sequence: int | None = None) -> None:
        self.position = msgspec.structs.replace(
            self.position,
            offset=offset,
            sequence=self.position.sequence if sequence is None else sequence,
        )


def _next_whole(data: bytes, at: int) -> int:
    """Return where the next whole record begins behind `at`; the end of `data` if there is none."""
    while at < len(data):
        at = batch.resume(data, at)
        with contextlib.suppress(Torn, Damaged):
            batch.decode(data, at)
            return at
    return len(data)
