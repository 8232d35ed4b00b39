"""An environment as all readers of a process share it, whatever threads they are on: LMDB opens a
store once in a process.

The writer lets a store grow.  The map of who reads it grows with it while no thread of the process
has a transaction: LMDB wants it so, for what they read would move.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

import lmdb

from oborona.errors import StoreBusy

PATIENCE_S: Final = 10.0  # a larger map waits so long for transactions of other threads

_File = tuple[int, int]


class _SharedEnvironment:
    """An environment, and how many use it and read in it."""

    def __init__(self, environment: lmdb.Environment, file: _File) -> None:
        self.environment: Final = environment
        self.file: Final = file
        self.users = 1
        self.reading = 0
        self.lock = threading.Lock()
        self.calm = threading.Condition(self.lock)


class _ReadTransaction:
    """A read transaction of a shared environment, as long as it is entered."""

    __slots__ = ("_shared", "_transaction")

    def __init__(self, shared: _SharedEnvironment) -> None:
        self._shared = shared

    def __enter__(self) -> lmdb.Transaction[bytes]:
        shared = self._shared
        with shared.lock:
            while True:
                try:
                    self._transaction = shared.environment.begin()
                except lmdb.MapResizedError:
                    if not shared.calm.wait_for(lambda: not shared.reading, PATIENCE_S):
                        raise StoreBusy("the counter store has grown, and is being read") from None
                    shared.environment.set_mapsize(0)
                else:
                    shared.reading += 1
                    return self._transaction

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            self._transaction.abort()
        finally:
            with self._shared.lock:
                self._shared.reading -= 1
                if not self._shared.reading:
                    self._shared.calm.notify_all()


_opening = threading.Lock()
_by_file: dict[_File, _SharedEnvironment] = {}
_by_environment: dict[lmdb.Environment, _SharedEnvironment] = {}


def _forked() -> None:
    global _opening  # noqa: PLW0603 - a thread that is not here may have had it
    _opening = threading.Lock()
    _by_file.clear()
    _by_environment.clear()


os.register_at_fork(after_in_child=_forked)


def acquire_environment(
    file: os.stat_result, make: Callable[[], lmdb.Environment | None]
) -> lmdb.Environment | None:
    """Return the environment of a file, made where this process has none; None where none is made.

    Args:
        file: the store's.
        make: opens it.
    """
    key = (file.st_dev, file.st_ino)
    with _opening:
        shared = _by_file.get(key)
        if shared is not None:
            shared.users += 1
            return shared.environment
        environment = make()
        if environment is not None:
            shared = _SharedEnvironment(environment, key)
            _by_file[key] = _by_environment[environment] = shared
        return environment


def release_environment(environment: lmdb.Environment) -> None:
    """Use an environment no more; who is last closes it."""
    with _opening:
        shared = _by_environment.get(environment)
        if shared is not None:  # else it is of before a fork
            shared.users -= 1
            if shared.users:
                return
            del _by_file[shared.file], _by_environment[environment]
        environment.close()


def reading(environment: lmdb.Environment) -> AbstractContextManager[lmdb.Transaction[bytes]]:
    """Return a read transaction of an environment, which may be shared or its writer's.

    Raises:
        StoreBusy: when it is entered: other threads have theirs for too long.
    """
    shared = _by_environment.get(environment)
    return environment.begin() if shared is None else _ReadTransaction(shared)
