"""A copy of a store as it was at one moment, taken while workers and writer go on.

    open the spools → copy the doorkeeper's table → begin a read transaction: the moment → copy its
    tree, and what the spools hold

The tree says how far each spool was applied, so that what its copy holds beyond that is applied
after a restore, once. A spool without a position in the tree is new if its file is still there
after the moment, and applied and forgotten if it is gone. The table is older than the tree, and the
tree's notes make up for that as after a power failure (`doorkeeper_file.py`), unless some were
dropped in between: then both are taken again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import lmdb

from oborona import state_files
from oborona.counters.doorkeeper_file import noted_changes
from oborona.counters.lmdb_store import (
    U32,
    VERSION_KEY,
    LmdbReader,
    as_store_error,
    begin,
    positions,
)
from oborona.counters.spool import parse_name
from oborona.errors import StoreBusy

TRIES: Final = 5  # notes are dropped twenty seconds apart
AT_ONCE_S: Final = 5.0  # between table and moment; with more, notes may have come and gone


class StoreSnapshot:
    """The store as it was when this was made; to be closed.

    Args:
        directory: the store's; without a store in it the spools alone are copied.

    Attributes:
        version: of its format; 0 = there is none.

    Raises:
        StoreError: it can't be read; of a newer Oborona; damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._table = b""
        self._reader = LmdbReader(directory)
        self._opened = ExitStack()
        self.version = 0
        try:
            before = self._open_spools()
            self._txn = self._begin()
            if self._txn is not None:
                (self.version,) = U32.unpack(self._txn.get(VERSION_KEY, b""))
            now = self._open_spools()  # a file that is unlinked later stays open here
            applied = positions(self._txn) if self._txn is not None else {}
            self._spools = now | {
                name: file
                for name, file in before.items()
                if name not in now and _owner(name) in applied
            }
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the moment go: pages freed since are used again."""
        self._opened.close()
        self._reader.close()

    def copy(self, target: Path) -> None:
        """Write the copy.

        Args:
            target: an empty folder.

        Raises:
            StoreFull: no room. StoreError: it can't be read or written.
        """
        with as_store_error(target):
            (target / state_files.COUNTERS_SPOOL).mkdir(mode=0o700)
            for name, spool in self._spools.items():
                with _new_file(target / state_files.COUNTERS_SPOOL / name) as file:
                    shutil.copyfileobj(spool, file)
            if self._txn is None:
                return
            if self._table:
                with _new_file(target / state_files.DOORKEEPER) as file:
                    file.write(self._table)
            environment = self._reader.environment
            assert environment is not None, "it has a transaction"
            with _new_file(target / state_files.COUNTERS_DATA) as file:
                environment.copyfd(file.fileno(), compact=True, txn=self._txn)

    def _begin(self) -> lmdb.Transaction[bytes] | None:
        """Return a transaction whose notes bring the table that was read before it up to its
        moment.
        """
        for _ in range(TRIES):
            with self._reader.transaction() as looked:
                if looked is None:
                    return None
                before = noted_changes(looked)
            environment = self._reader.environment
            assert environment is not None, "it has had a transaction"
            started = time.monotonic()
            path = self._directory / state_files.DOORKEEPER
            with as_store_error(self._directory):
                self._table = path.read_bytes() if path.exists() else b""
                txn = begin(environment)
            after = noted_changes(txn)
            if (not before or before[0] in after) and time.monotonic() - started < AT_ONCE_S:
                self._opened.callback(txn.abort)
                return txn
            txn.abort()
        raise StoreBusy(
            f"{self._directory}: the disk is too slow for a copy of one moment; try again"
        )

    def _open_spools(self) -> dict[str, BinaryIO]:
        folder = self._directory / state_files.COUNTERS_SPOOL
        spools: dict[str, BinaryIO] = {}
        with as_store_error(self._directory):
            for name in sorted(os.listdir(folder)) if folder.exists() else ():  # noqa: PTH208 - names are parsed
                if parse_name(name) is None:
                    continue
                try:
                    spools[name] = self._opened.enter_context((folder / name).open("rb"))
                except FileNotFoundError:  # applied just now
                    continue
        return spools


def _owner(name: str) -> str:
    spool = parse_name(name)
    return spool.owner if spool is not None else ""


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Give a new file that its owner alone can read, and bring it to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
