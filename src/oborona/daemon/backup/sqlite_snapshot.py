"""Copies of several SQLite files as they were at one moment, taken while others write them.

    for an instant nobody writes any of them → a read transaction on each: the moment → everybody
    goes on → each is copied from its transaction

So no file knows of something that another, which was told first, does not. All of ours are in WAL
mode, where a reader keeps its moment and stops no writer.

Source: sqlite.org/wal.html, sqlite.org/backup.html.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from oborona.sqlite_file import ERRORS, closed_on_error, connect, explained_error


class SqliteSnapshot:
    """The files as they were when `begin` returned; to be closed.

    Args:
        paths: files of ours, in WAL mode.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = sorted(paths)
        self._readers: dict[Path, sqlite3.Connection] = {}
        self._writers = ExitStack()
        self._opened = ExitStack()

    def begin(self) -> None:
        """Stop all writers, and fix the moment; `go_on` must follow within seconds.

        Raises:
            StoreBusy: one is being written for too long. StoreError: one can't be used.
        """
        for path in self._paths:
            lock = self._writers.enter_context(
                closing(connect(path, write=True, absent="it is gone"))
            )
            with closed_on_error(lock, path):
                lock.execute("BEGIN IMMEDIATE")
        for path in self._paths:
            reader = self._opened.enter_context(
                closing(connect(path, write=True, absent="it is gone"))
            )
            with closed_on_error(reader, path):
                reader.execute("BEGIN")
                reader.execute(
                    "SELECT count(*) FROM sqlite_schema"
                ).fetchone()  # a transaction begins with its first read
            self._readers[path] = reader

    def go_on(self) -> None:
        """Let others write again."""
        self._writers.close()

    def version(self, path: Path) -> int:
        """Return the version that a file had."""
        with closed_on_error(self._readers[path], path):
            (version,) = self._readers[path].execute("PRAGMA user_version").fetchone()
        return int(version)

    def copy(self, path: Path, target: Path) -> None:
        """Write one of them into a new file that its owner alone can read.

        Raises:
            StoreFull: no room. StoreError: it can't be read or written.
        """
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(target)) as snapshot:
                self._readers[path].backup(snapshot)
        except (OSError, *ERRORS) as error:
            raise explained_error(error, target) from error

    def close(self) -> None:
        """Let the moment go."""
        self._writers.close()
        self._opened.close()
