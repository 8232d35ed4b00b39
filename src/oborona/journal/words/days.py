"""Days of messages, in UTC, and where their search files lie."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from oborona import ident
from oborona.errors import StoreError
from oborona.journal.schema import SUSPECT
from oborona.sqlite_file import PARTS, explained_error, part_of

DAY_S: Final = 86_400


def day_of(number: int) -> int:
    """Return the day of an id, in UTC, since the Unix epoch."""
    return int(ident.time_of_id(number) // DAY_S)


def first_of(day: int) -> int:
    """Return the lowest id that a day may have."""
    return ident.first_id_at(float(day * DAY_S))


def day_name(day: int) -> str:
    """Return a day as 2026-11-23."""
    return datetime.fromtimestamp(day * DAY_S, UTC).strftime("%Y-%m-%d")


def day_path(folder: Path, day: int) -> Path:
    """Return the file of a day."""
    return folder / f"{day_name(day)}.db"


def days_in(folder: Path) -> dict[int, Path]:
    """Return the days that have a file.

    Raises:
        StoreError: the folder can't be read.
    """
    try:
        paths = list(folder.glob("????-??-??.db"))
    except OSError as error:
        raise explained_error(error, folder) from error
    found = dict[int, Path]()
    for path in paths:
        with suppress(StoreError):
            found[day_in_name(path)] = path
    return found


def remove_day(path: Path) -> None:
    """Delete a day's file, and what SQLite keeps beside it.

    Raises:
        StoreError: it can't be.
    """
    try:
        for suffix in (*PARTS, "-journal", SUSPECT):
            part_of(path, suffix).unlink(missing_ok=True)
    except OSError as error:
        raise explained_error(error, path) from error


def day_in_name(path: Path) -> int:
    """Return the day that a file's name says.

    Raises:
        StoreError: it says none.
    """
    try:
        when = datetime.strptime(path.stem, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise StoreError(f"{path}: is no day's search file") from None
    return int(when.timestamp() // DAY_S)
