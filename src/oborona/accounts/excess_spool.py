"""Excesses on their way from the workers, which write no SQLite, to the inspector.

    <folder>/new             a line of JSON each, of all workers: one `write`, before the answer
    <folder>/<time>.taken    set apart by who judges them, and removed once they are judged

What was written survives the death of any process.  A writer holds a shared lock for its line, who
judges holds the file alone: a file is read only when nobody can add to it any more.  Neither waits
for the other.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from oborona.accounts.excess import LINE_OCTETS, Excess
from oborona.errors import StoreError
from oborona.telemetry.log import event

NEW: Final = "new"
TAKEN: Final = ".taken"
MOST_BYTES: Final = 64 << 20  # some 200,000 excesses, while nobody judges them
TRIES: Final = 3  # a file is set apart every other second: the second try finds a new one
PRIVATE: Final = 0o600  # who wrote from where is nobody else's business

log = logging.getLogger("oborona.accounts")


class ExcessSpool:
    """An `ExcessSink` that writes down; for any number of processes.

    Args:
        folder: made with the first excess.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / NEW
        self._trouble = ""

    def take(self, excess: Excess) -> None:
        """Write one down; where that can't be, the log says so, once, and the excess is lost."""
        # an end that a full disk has cut short is a line of its own
        line = b"\n" + msgspec.json.encode(excess) + b"\n"
        try:
            self._append(line)
        except (OSError, StoreError) as error:
            if str(error) != self._trouble:
                event(log, logging.ERROR, "the inspector hears of no excesses", error=error)
                self._trouble = str(error)
            return
        if self._trouble:
            event(log, logging.WARNING, "the inspector hears of excesses again")
            self._trouble = ""

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        for _ in range(TRIES):
            descriptor = os.open(self._path, flags, PRIVATE)
            try:
                if not self._is_new(descriptor):
                    continue
                if os.fstat(descriptor).st_size >= MOST_BYTES:
                    raise StoreError(f"{self._path} has grown to {MOST_BYTES >> 20} MiB")
                if os.write(descriptor, line) < len(line):
                    raise StoreError(f"{self._path}: no room left on the disk")
                return
            finally:
                os.close(descriptor)
        raise StoreError(f"{self._path} is set apart all the time")

    def _is_new(self, descriptor: int) -> bool:
        """Lock a file that is open; tell whether it has not been set apart meanwhile."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except (BlockingIOError, FileNotFoundError):
            return False


class TakenExcesses:
    """A file that was set apart, and is ours alone while `taken` holds it."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file

    def lines(self, place: int, most: int) -> Iterator[tuple[bytes, int]]:
        """Yield lines, and the places behind them.

        Args:
            place: octets that were read before.
            most: lines.
        """
        self._file.seek(place)
        for _ in range(most):
            line = self._file.readline(LINE_OCTETS + 1)
            if not line:
                return
            place += len(line)
            yield line.strip(), place

    def remove(self) -> None:
        """Remove the file: all of it is judged."""
        self.path.unlink(missing_ok=True)


def waits(folder: Path) -> bool:
    """Tell whether there are excesses to be judged."""
    return bool(_names(folder))


def set_apart(folder: Path) -> bool:
    """Tell whether a file is set apart that was not judged to its end."""
    return any(name.endswith(TAKEN) for name in _names(folder))


def lines_behind(
    folder: Path, places: dict[int, int], judged: Callable[[str], int]
) -> Iterator[bytes]:
    """Yield the lines of all files that were not read yet; the files stay as they are.

    Args:
        folder: of the spool.
        places: octets that were read, by inode, for a file that is set apart has another name; what
            is yielded is noted there.
        judged: octets of a file that were judged, by its name.

    Raises:
        OSError: a file can't be read.
    """
    for name in sorted(_names(folder)):  # digits stand before "new"
        try:
            file = (folder / name).open("rb")
        except FileNotFoundError:  # set apart this moment: the next look finds it
            continue
        with file:
            inode = os.fstat(file.fileno()).st_ino
            place = places.setdefault(inode, judged(name))
            file.seek(place)
            while line := file.readline(LINE_OCTETS + 1):
                if not line.endswith(b"\n") and len(line) <= LINE_OCTETS:
                    break  # it is being written
                places[inode] = place = place + len(line)
                if text := line.strip():
                    yield text


def oldest(folder: Path) -> float | None:
    """Return when the file was last written to that is judged next, Unix seconds; None: none."""
    names = sorted(_names(folder))  # digits stand before "new"
    if not names:
        return None
    with suppress(FileNotFoundError):  # judged this moment
        return (folder / names[0]).stat().st_mtime
    return None


@contextmanager
def taken(folder: Path, now: Callable[[], int]) -> Iterator[TakenExcesses | None]:
    """Set apart what was written down, or take what is set apart already.

    Args:
        folder: of the spool.
        now: Unix time in nanoseconds: the name of what is set apart.

    Yields:
        The file; None: there is none, or a worker writes its last line to it.

    Raises:
        OSError: it can't be read or renamed.
    """
    names = _names(folder)
    apart = sorted(name for name in names if name.endswith(TAKEN))
    if not names:
        yield None
        return
    path = folder / (apart[0] if apart else f"{now():020d}{TAKEN}")
    if not apart:
        (folder / NEW).rename(path)
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield TakenExcesses(path, file)


def _names(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - of names alone, every other second
    except FileNotFoundError:
        return []
    return [name for name in names if name == NEW or name.endswith(TAKEN)]
