"""Where the tables of a log lie.

    LOG/stream/5min/NAME.parquet           as the source gives it
    LOG/checked/stream/5min/NAME.parquet   the same rows with the rules that they fired
    LOG/history/keys/NAME.parquet          what is remembered of that table for a day
    LOG/history/counts/NAME.parquet
    LOG/aside/NAME.jsonl                   rows that can't be used, each with the reason

A file whose name begins with a point is one that is being written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from oborona.errors import StoreError
from oborona.eventlog.tables.parquet import SUFFIX

MODE: Final = 0o750  # events are sensitive; readers are of the folder's group


class LogFolder:
    """The folder of one log; what it holds is made as it is needed.

    Args:
        root: folder of all logs.
        log: name of this one.

    Raises:
        StoreError: a folder can't be made.
    """

    def __init__(self, root: Path, log: str) -> None:
        self.path = root / log
        self._stream = self.path / "stream" / "5min"
        self._checked = self.path / "checked" / "stream" / "5min"
        self._keys = self.path / "history" / "keys"
        self._counts = self.path / "history" / "counts"
        self._aside = self.path / "aside"
        try:
            for folder in (self._stream, self._checked, self._keys, self._counts, self._aside):
                folder.mkdir(mode=MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error

    def source(self, table: str) -> Path:
        """Return where a table is before it is checked."""
        return self._stream / (table + SUFFIX)

    def checked(self, table: str) -> Path:
        """Return where a table is when it is checked."""
        return self._checked / (table + SUFFIX)

    def keys(self, table: str) -> Path:
        """Return where it is remembered what a table's events said."""
        return self._keys / (table + SUFFIX)

    def counts(self, table: str) -> Path:
        """Return where it is remembered how many events a table's persons had."""
        return self._counts / (table + SUFFIX)

    def aside(self, table: str) -> Path:
        """Return where rows of a file are that can't be used."""
        return self._aside / f"{table}.jsonl"

    def sweep(self) -> None:
        """Remove what a process left that was killed while it wrote; nobody else may be writing.

        Raises:
            StoreError: it can't be removed.
        """
        try:
            for path in self.path.rglob(".*"):
                path.unlink()
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error

    def forget(self, before: str) -> None:
        """Remove what is remembered of tables before a slot.

        Args:
            before: the slot's name.

        Raises:
            StoreError: it can't be removed.
        """
        try:
            for folder in (self._keys, self._counts):
                for path in folder.iterdir():
                    if path.name < before:
                        path.unlink()
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error
