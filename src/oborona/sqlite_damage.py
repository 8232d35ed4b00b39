"""A damaged SQLite file: told from a sound one, and set aside whole, also while others use it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path

from oborona.errors import StoreError
from oborona.sqlite_file import ERRORS, PARTS, connect, explained_error, part_of


def is_cut_short(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file is shorter than its pages, which SQLite does not see while its log has the
    first of them.

    Raises:
        sqlite3.Error: it can't be read.
    """
    busy, logged, moved = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or logged != moved:  # others use it: what is in the log need not be in the file
        return False
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    return bool(path.stat().st_size < pages * size)


def set_aside(path: Path, why: str, now: float) -> Path:
    """Rename a file and what SQLite keeps beside it, also while others use it.

    What was set aside before stays.

    Nobody writes to it in that moment: who writes looks within its transaction whether the file is
    still in place.

    Args:
        path: the file.
        why: one word, for its new name.
        now: Unix seconds, for its new name.

    Raises:
        StoreError: it can't be renamed.
    """
    stem = f"{path.name}.{why}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"
    names = (path.with_name(stem if not number else f"{stem}-{number}") for number in count())
    aside = next(
        name for name in names if not any(part_of(name, suffix).exists() for suffix in PARTS)
    )
    try:
        with _nobody_writes(path):
            for suffix in PARTS:
                part = part_of(path, suffix)
                if part.exists():
                    part.rename(part_of(aside, suffix))
    except OSError as error:
        raise explained_error(error, path) from error
    return aside


@contextmanager
def _nobody_writes(path: Path) -> Iterator[None]:
    """Hold a file's write lock, as far as it can be had of a damaged file."""
    try:
        db = connect(path, write=True)
    except StoreError:
        yield
        return
    with closing(db):
        with suppress(*ERRORS):
            db.execute("BEGIN IMMEDIATE")
        yield
        with suppress(*ERRORS):
            db.execute("ROLLBACK")
