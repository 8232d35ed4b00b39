"""Where the tables of a log lie.

    LOG/stream/5min/NAME.parquet           as the source gives it
    LOG/checked/stream/5min/NAME.parquet   the same rows with the rules that they fired
    LOG/checked/30min/, LOG/checked/1d/    the same rows by the time of events: Delta tables
    LOG/history/keys/NAME.parquet          what is remembered of that table for a day
    LOG/history/counts/NAME.parquet
    LOG/revisions/1d/DATE.N.parquet        rows of a day that were given out again, by the pass N
    LOG/fraud_persons/DATE.parquet         persons who were caught on a day
    LOG/person_scores/DATE.N.parquet       what a model said of the persons of a day, in the pass N
    LOG/side/NAME/DATE.parquet             a day as other rules judge it, asked for by hand
    LOG/aside/NAME.jsonl                   rows that can't be used, each with the reason

A file whose name begins with a point is one that is being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from oborona.errors import StoreError
from oborona.eventlog.tables.table_file import SUFFIX

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
        self._revisions = self.path / "revisions" / "1d"
        self._persons = self.path / "fraud_persons"
        self._scores = self.path / "person_scores"
        self._side = self.path / "side"
        self._all = (
            *(self._stream, self._checked, self._keys, self._counts, self._aside),
            *(self._revisions, self._persons, self._scores, self._side),
        )
        with _told(self.path):
            for folder in self._all:
                folder.mkdir(mode=MODE, parents=True, exist_ok=True)

    def source(self, table: str) -> Path:
        """Return where a table is before it is checked."""
        return self._stream / (table + SUFFIX)

    def checked(self, table: str) -> Path:
        """Return where a table is when it is checked."""
        return self._checked / (table + SUFFIX)

    def delivered(self, period: str) -> Path:
        """Return where the table of a period of event time is."""
        return self.path / "checked" / period

    def tables(self) -> list[str]:
        """Return the names of the tables of five minutes that are there, in order.

        Raises:
            StoreError: the folder can't be read.
        """
        with _told(self.path):
            return sorted(path.stem for path in self._stream.iterdir() if path.suffix == SUFFIX)

    def remove(self, table: str) -> None:
        """Remove a table of five minutes, as it came and as it was checked.

        Raises:
            StoreError: it can't be removed.
        """
        with _told(self.path):
            self.checked(table).unlink(missing_ok=True)
            self.aside(table).unlink(missing_ok=True)
            self.source(table).unlink(missing_ok=True)

    def keys(self, table: str) -> Path:
        """Return where it is remembered what a table's events said."""
        return self._keys / (table + SUFFIX)

    def counts(self, table: str) -> Path:
        """Return where it is remembered how many events a table's persons had."""
        return self._counts / (table + SUFFIX)

    def aside(self, table: str) -> Path:
        """Return where rows of a file are that can't be used."""
        return self._aside / f"{table}.jsonl"

    def revisions(self, date: str, number: int) -> Path:
        """Return where the rows are that a pass gave out again.

        Args:
            date: of the day.
            number: of the pass.
        """
        return self._revisions / f"{date}.{number}{SUFFIX}"

    def fraud_persons(self, date: str) -> Path:
        """Return where the persons are who were caught on a day."""
        return self._persons / (date + SUFFIX)

    def person_scores(self, date: str, number: int) -> Path:
        """Return where it is what a model said of persons, arguments as of `revisions`."""
        return self._scores / f"{date}.{number}{SUFFIX}"

    def side(self, name: str, date: str) -> Path:
        """Return where a day is as other rules judge it.

        Args:
            name: of the side table.
            date: of the day.

        Raises:
            StoreError: its folder can't be made.
        """
        folder = self._side / name
        with _told(folder):
            folder.mkdir(mode=MODE, exist_ok=True)
        return folder / (date + SUFFIX)

    def sides(self) -> dict[str, list[Path]]:
        """Return the days of side tables, in order, by the names of the tables.

        Raises:
            StoreError: a folder can't be read.
        """
        with _told(self._side):
            return {
                folder.name: [
                    path for path in sorted(folder.iterdir()) if not path.name.startswith(".")
                ]
                for folder in sorted(self._side.iterdir())
            }

    def remove_side(self, name: str) -> None:
        """Remove a side table.

        Raises:
            StoreError: it can't be removed, or there is none.
        """
        folder = self._side / name
        with _told(folder):
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()

    def of_persons(self) -> list[Path]:
        """Return all files beside tables in which something is said of persons: what passes over
        days found, and side tables.

        Raises:
            StoreError: a folder can't be read.
        """
        with _told(self.path):
            return [
                path
                for folder in (self._revisions, self._persons, self._scores, self._side)
                for path in sorted(folder.rglob("*"))
                if path.suffix == SUFFIX and not path.name.startswith(".")
            ]

    def keep_scores(self, date: str, number: int) -> None:
        """Remove what a model said of a day in other passes than one.

        Raises:
            StoreError: it can't be removed.
        """
        with _told(self.path):
            for path in self._scores.glob(f"{date}.*{SUFFIX}"):
                if path != self.person_scores(date, number):
                    path.unlink()

    def last_scores(self) -> Path | None:
        """Return what a model said last of persons; None where none has said anything.

        Raises:
            StoreError: the folder can't be read.
        """
        with _told(self.path):
            found = [path for path in self._scores.iterdir() if not path.name.startswith(".")]
            return max(found, key=_age, default=None)

    @property
    def checked_folder(self) -> Path:
        """Where the checked tables of five minutes are."""
        return self._checked

    @property
    def aside_folder(self) -> Path:
        """Where the rows of all files are that can't be used."""
        return self._aside

    def sweep(self) -> None:
        """Remove what a process left that was killed while it wrote; nobody else may be writing.

        Raises:
            StoreError: it can't be removed.
        """
        with _told(self.path):
            for folder in self._all:
                for path in folder.glob(".*"):
                    path.unlink()

    def forget(self, before: str) -> None:
        """Remove what is remembered of tables before a slot.

        Args:
            before: the slot's name.

        Raises:
            StoreError: it can't be removed.
        """
        self._forget((self._keys, self._counts), before)

    def forget_days(self, before: str) -> None:
        """Remove what passes said of days before one.

        Args:
            before: the day.

        Raises:
            StoreError: it can't be removed.
        """
        self._forget((self._revisions, self._persons, self._scores), before)

    def _forget(self, folders: Iterable[Path], before: str) -> None:
        with _told(self.path):
            for folder in folders:
                for path in folder.iterdir():
                    if path.name < before:
                        path.unlink()


def _age(path: Path) -> tuple[str, int]:
    """Return what sorts files of days and passes."""
    date, _, number = path.stem.partition(".")
    return date, int(number)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
