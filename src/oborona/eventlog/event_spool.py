"""Batches of events that came by HTTP: files that whoever makes tables takes.

    LOG/NAME.jsonl         came, and is in no table
    LOG/TABLE/NAME.jsonl   is in that table, or will be; it goes once the table is checked

A name says when the batch came, which it is, how many rows it has, and a word of chance: no file is
written twice. One whose name begins with a point is being written.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path
from typing import Final, NamedTuple, Self

from oborona.atomic_file import sync_folder, write_atomically
from oborona.errors import StoreError, StoreFull
from oborona.eventlog.event_batch import IDENT_OCTETS

SUFFIX: Final = ".jsonl"
MODE: Final = 0o700  # events are here as they were sent, persons by their names
LOOK_S: Final = 5.0  # so old may be what is known of the spool's size
LEAST_OCTETS: Final = 4096  # of a file on a disk
_MICRO: Final = 1_000_000
_NAME: Final = re.compile(r"(\d{16})-([0-9a-f]{32})-(\d{1,9})-[0-9a-f]{8}\.jsonl", re.ASCII)


class SpooledBatch(NamedTuple):
    """A file of the spool, by its name."""

    name: str
    came: float  # Unix seconds
    ident: str
    rows: int

    @classmethod
    def of(cls, name: str) -> Self | None:
        """Return what a name says; None: it is no name of a batch."""
        match = _NAME.fullmatch(name)
        return None if match is None else cls(name, int(match[1]) / _MICRO, match[2], int(match[3]))


class EventSpool:
    """The spool as the door writes it.

    Args:
        root: its folder; made when it is needed.
        most: octets of all that waits; what each process adds within seconds others don't see.
    """

    def __init__(self, root: Path, most: int) -> None:
        self._root = root
        self._most = most
        self._held = 0
        self._looked = float("-inf")

    def put(self, log: str, ident: str, octets: bytes, rows: int, now: float) -> None:
        """Write a batch; it is on the disk then.

        Args:
            log: name of its log.
            ident: of the batch; empty: it is not to be told from others.
            octets: its rows, JSON lines.
            rows: their number.
            now: Unix seconds.

        Raises:
            StoreFull: too much waits already.
            StoreError: it can't be written; nothing is there.
        """
        size = max(len(octets), LEAST_OCTETS)
        if self._size() + size > self._most:
            raise StoreFull(f"{self._root}: {self._held} octets of events wait to be taken")
        ident = ident or secrets.token_hex(IDENT_OCTETS)
        name = f"{int(now * _MICRO):016d}-{ident}-{rows}-{secrets.token_hex(4)}{SUFFIX}"
        folder = self._root / log
        _make_folders(folder)
        write_atomically(folder / name, octets)
        self._held += size

    def _size(self) -> int:
        """Return how many octets wait."""
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._held = spooled_octets(self._root)
            self._looked = now
        return self._held


def spooled_octets(folder: Path) -> int:
    """Return how many octets the files of a folder take.

    Raises:
        StoreError: it can't be read.
    """
    try:
        with os.scandir(folder) as entries:
            return sum(
                spooled_octets(Path(entry.path)) if entry.is_dir() else _octets(entry)
                for entry in entries
            )
    except FileNotFoundError:  # not made yet, or taken meanwhile
        return 0
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error


def _octets(entry: os.DirEntry[str]) -> int:
    try:
        return max(entry.stat().st_size, LEAST_OCTETS)
    except FileNotFoundError:
        return 0


def _make_folders(folder: Path) -> None:
    """Make a folder of the spool, and the spool; both are on the disk then."""
    try:
        for made in (folder.parent, folder):
            if not made.is_dir():
                made.mkdir(mode=MODE, exist_ok=True)
                sync_folder(made.parent)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error
