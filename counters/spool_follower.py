"""The writer's eye on all spools: what is new in each, whose worker is dead, what can be removed.

    list the files → for each owner, ask whether the file of its position is closed: the next number
    exists, or its lock can be had, so its process is dead → only then read on: whole records are
    batches, in order at the end of a closed file: the next number exists → go on there; else →
    finished at the end of another: more may come

A torn end is waited for while its process lives, and cut when it is dead. Damage is skipped to the
next whole record. Both are reported, never silent. Positions are the caller's to keep, in the
transaction that applies the batches; files go only after `settle` says that this transaction is on
disk, so a record is applied exactly once whatever is killed when.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import msgspec

from oborona.counters import batch
from oborona.counters.batch import DamagedRecord, SpoolBatch, TornRecord
from oborona.counters.spool import SUFFIX, UNNAMED, SpoolFile, parse_name, sync_directory
from oborona.errors import StoreError, StoreVersion

LEAST_READ: Final = 256 << 10  # of each spool in one go, however many there are


class SpoolPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a spool is applied."""

    number: int = 0  # of its file; 0 = none yet
    offset: int = 0
    sequence: int = 0  # of the last record applied


class CollectedBatches(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at the spools found."""

    batches: list[SpoolBatch]
    positions: dict[str, SpoolPosition]  # of the owners that moved
    finished: list[str]  # owners of whom no more will come
    more: bool  # the limit was reached before the end


class SpoolFollower:
    """Reads all spools of a directory.

    Args:
        directory: need not exist yet.
        positions: by owner, from the store.
        report: told, in words for an admin, what was cut or skipped.
    """

    def __init__(
        self, directory: Path, positions: dict[str, SpoolPosition], report: Callable[[str], None]
    ) -> None:
        self._directory = directory
        self._positions = dict(positions)
        self._report = report
        self._open: dict[SpoolFile, int] = {}
        self._dead: set[SpoolFile] = set()
        self._refused: set[str] = set()
        self._failing: dict[tuple[str, str], str] = {}  # owner and what fails → what was reported

    def owners(self) -> set[str]:
        """Return whose files are there now.

        Raises:
            StoreError: the directory cannot be read.
        """
        return set(self._files())

    def sweep(self) -> None:
        """Remove files of processes that died while they made them; empty ones.

        Raises:
            StoreError: the directory or a file cannot be read.
        """
        try:
            for path in self._directory.glob(f"*{UNNAMED}"):
                if parse_name(path.with_suffix(SUFFIX).name) is None:
                    continue
                # gone: it has its name now; locked: it is about to
                with (
                    contextlib.suppress(FileNotFoundError, BlockingIOError),
                    path.open("rb") as file,
                ):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            if self._directory.is_dir():
                # what a writer before us removed as it was killed stays removed
                sync_directory(self._directory)
        except OSError as error:
            raise StoreError(f"cannot read the spools in {self._directory}: {error}") from error

    def collect(self, limit: int) -> CollectedBatches:
        """Return what whole records follow the positions, about `limit` bytes in all.

        A spool that cannot be read is reported once and tried again each time; it stops no other.

        Raises:
            StoreError: the directory cannot be read.
        """
        files = self._files()
        batches: list[SpoolBatch] = []
        moved: dict[str, SpoolPosition] = {}
        finished: list[str] = []
        more = False
        share = max(limit // max(len(files), 1), LEAST_READ)
        for owner, theirs in files.items():
            if owner in self._refused:
                continue
            walk = _SpoolWalk(
                self, owner, theirs, self._positions.get(owner, SpoolPosition()), share
            )
            with self._failure_reported(owner, "read"):
                # what comes before a failure is sound, and so is the position behind it
                for batch_ in walk:
                    batches.append(batch_)  # noqa: PERF402 - see above
            if walk.position != self._positions.get(owner):
                moved[owner] = walk.position
            if walk.finished:
                finished.append(owner)
            more = more or walk.more
        return CollectedBatches(batches=batches, positions=moved, finished=finished, more=more)

    def settle(self, collected: CollectedBatches) -> set[str]:
        """Take the positions as kept on disk, and remove what is applied as a whole.

        Returns:
            The owners of whom nothing is left. Positions of others are needed on: a file that could
            not be removed, which is reported once and tried again, would else be applied again.

        Raises:
            StoreError: the directory cannot be read, or not be synced.
        """
        self._positions.update(collected.positions)
        finished = set(collected.finished)
        any_removed = False
        for owner, theirs in self._files().items():
            reached = self._positions.get(owner, SpoolPosition()).number
            done = [file for file in theirs if file.number < reached]
            if owner in finished:
                done += [file for file in theirs if file.number == reached]
            if not done:
                continue
            removed = False
            with self._failure_reported(owner, "remove"):
                for file in done:
                    (self._directory / file.name).unlink(missing_ok=True)
                    self._forget(file)
                removed = True
            any_removed = any_removed or removed
            if not removed:
                finished.discard(owner)
        if any_removed:
            # or after a power cut a file is there again that has no position
            sync_directory(self._directory)
        for owner in finished:
            self._positions.pop(owner, None)
        return finished

    def close(self) -> None:
        """Close all files."""
        for file in list(self._open):
            self._forget(file)

    def _files(self) -> dict[str, list[SpoolFile]]:
        by_owner: dict[str, list[SpoolFile]] = {}
        try:
            names = sorted(os.listdir(self._directory))  # noqa: PTH208 - twice as fast, at each step
        except FileNotFoundError:
            return by_owner
        except OSError as error:
            raise StoreError(f"cannot read the spools in {self._directory}: {error}") from error
        for name in names:
            file = parse_name(name)
            if file is not None:
                by_owner.setdefault(file.owner, []).append(file)
        return by_owner

    @contextlib.contextmanager
    def _failure_reported(self, owner: str, doing: str) -> Iterator[None]:
        """Report, once for each kind of it, an error that concerns one owner's files alone, and go
        on.
        """
        try:
            yield
            self._failing.pop((owner, doing), None)
        except OSError as error:
            why = f"cannot {doing} the spool of {owner}: {error}; the others are counted"
            if self._failing.get((owner, doing)) != why:
                self._report(why)
                self._failing[owner, doing] = why

    def read(self, file: SpoolFile, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor(file), size, offset)

    def is_dead(self, file: SpoolFile) -> bool:
        """Whether the process that appended to this file is gone; once it is, we hold its lock."""
        if file not in self._dead:
            try:
                fcntl.flock(self._descriptor(file), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._dead.add(file)
        return True

    def exists(self, file: SpoolFile) -> bool:
        return (self._directory / file.name).exists()

    def refuse(self, file: SpoolFile, why: StoreVersion) -> None:
        self._refused.add(file.owner)
        self._report(f"spool {file.name} is left alone: {why}")

    def skip(self, file: SpoolFile, offset: int, size: int, why: str) -> None:
        self._report(
            f"spool {file.name}: {size} bytes at {offset} are no whole record ({why}) and "
            f"are skipped"
        )

    def missing(self, file: SpoolFile, after: int, number: int) -> None:
        self._report(f"spool {file.name}: records {after + 1} to {number - 1} are missing")

    def _descriptor(self, file: SpoolFile) -> int:
        descriptor = self._open.get(file)
        if descriptor is None:
            descriptor = os.open(self._directory / file.name, os.O_RDONLY | os.O_CLOEXEC)
            self._open[file] = descriptor
        return descriptor

    def _forget(self, file: SpoolFile) -> None:
        self._dead.discard(file)
        descriptor = self._open.pop(file, -1)
        if descriptor >= 0:
            os.close(descriptor)


class _SpoolWalk:
    """One owner's files from a position on; iterating gives the batches and moves the position."""

    def __init__(
        self,
        follower: SpoolFollower,
        owner: str,
        files: list[SpoolFile],
        position: SpoolPosition,
        share: int,
    ) -> None:
        self.position = position
        self.finished = False
        self.more = False
        self._follower = follower
        self._files = files
        self._left = share

    def __iter__(self) -> Iterator[SpoolBatch]:
        file = self._start()
        while True:
            # asked before reading: what is read after a yes is all there will be in this file
            following = msgspec.structs.replace(file, number=file.number + 1)
            closed = self._follower.exists(following) or self._follower.is_dead(file)
            try:
                whole = yield from self._read(file, closed=closed)
            except StoreVersion as error:
                self._follower.refuse(file, error)
                return
            if not whole or self._left <= 0:
                self.more = True
                return
            if not self._follower.exists(following):
                self.finished = closed
                return
            if closed:
                file = following
                self._go_to(file)

    def _start(self) -> SpoolFile:
        """The file of the position; if that is gone, the first there is behind it.

        A listing may have missed the file before one it shows, if both were made while it was read.
        """
        number = self.position.number
        file = next((file_ for file_ in self._files if file_.number >= number), self._files[-1])
        while file.number > max(number, 1):
            before = msgspec.structs.replace(file, number=file.number - 1)
            if not self._follower.exists(before):
                break
            file = before
        if file.number != number:
            self._go_to(file)
        return file

    def _go_to(self, file: SpoolFile) -> None:
        self.position = msgspec.structs.replace(self.position, number=file.number, offset=0)

    def _read(self, file: SpoolFile, *, closed: bool) -> Generator[SpoolBatch, None, bool]:
        """Yield what is new in one file; returns whether its end was reached."""
        size = max(self._left, LEAST_READ)
        while True:
            data = self._follower.read(file, self.position.offset, size)
            whole = len(data) < size
            before = self.position.offset
            yield from self._batches(file, data, ended=whole and closed)
            if whole or self.position.offset > before:
                self._left -= len(data)
                return whole
            size *= 2  # one record is larger than the share

    def _batches(self, file: SpoolFile, data: bytes, *, ended: bool) -> Iterator[SpoolBatch]:
        """Yield the whole records of `data`, which begins at the position.

        `ended`: nothing will follow it.
        """
        at, base = 0, self.position.offset
        while at < len(data):
            try:
                decoded = batch.decode(data, at)
            except (TornRecord, DamagedRecord) as error:
                following = _next_whole(data, at)
                if following == len(data) and not ended:
                    return
                self._follower.skip(file, base + at, following - at, str(error) or "cut short")
                at = following
                self._move(base + at)
                continue
            if self.position.sequence and decoded.sequence > self.position.sequence + 1:
                self._follower.missing(file, self.position.sequence, decoded.sequence)
            at = decoded.end
            # else a copy of what is applied already
            fresh = decoded.sequence > self.position.sequence
            self._move(base + at, max(decoded.sequence, self.position.sequence))
            if fresh:
                yield decoded

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
        with contextlib.suppress(TornRecord, DamagedRecord):
            batch.decode(data, at)
            return at
    return len(data)
