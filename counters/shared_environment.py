"""An environment as all readers of a process share it, whatever threads they are on: LMDB opens a
store once in a process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import lmdb

from oborona.errors import StoreBusy

PATIENCE_S: Final = 10.0  # a larger map waits so long for transactions of other threads

_File = tuple[int, int]


class SharedEnvironment:
    """An environment, open; `acquire_environment` gives it.

    The writer lets a store grow.  The map of who reads it grows with it while no thread of the
    process has a transaction: LMDB wants it so, for what they read would move.
    """

    def __init__(self, environment: lmdb.Environment, file: _File) -> None:
        self.environment: Final = environment
        self.file: Final = file
        self.users = 1
        self._reading = 0
        self._calm = threading.Condition(threading.Lock())

    def begin(self) -> lmdb.Transaction[bytes]:
        """Return a read transaction; `end` follows once it is over.

        Raises:
            StoreBusy: other threads have theirs for too long.
        """
        with self._calm:
            while True:
                try:
                    transaction = self.environment.begin()
                except lmdb.MapResizedError:
                    if not self._calm.wait_for(lambda: not self._reading, PATIENCE_S):
                        raise StoreBusy("the counter store has grown, and is being read") from None
                    self.environment.set_mapsize(0)
                else:
                    self._reading += 1
                    return transaction

    def end(self) -> None:
        """A transaction is over."""
        with self._calm:
            self._reading -= 1
            if not self._reading:
                self._calm.notify_all()


_opening = threading.Lock()
_by_file: dict[_File, SharedEnvironment] = {}
_by_environment: dict[lmdb.Environment, SharedEnvironment] = {}


def _forked() -> None:
    global _opening  # noqa: PLW0603 - a thread that is not here may have had it
    _opening = threading.Lock()
    _by_file.clear()
    _by_environment.clear()


os.register_at_fork(after_in_child=_forked)


def acquire_environment(
    file: os.stat_result, make: Callable[[], lmdb.Environment | None]
) -> SharedEnvironment | None:
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
            return shared
        environment = make()
        if environment is None:
            return None
        shared = SharedEnvironment(environment, key)
        _by_file[key] = _by_environment[environment] = shared
        return shared


def release_environment(shared: SharedEnvironment) -> None:
    """Use an environment no more; who is last closes it."""
    with _opening:
        shared.users -= 1
        if not shared.users:
            _by_file.pop(shared.file, None)  # nor is it there after a fork
            _by_environment.pop(shared.environment, None)
            shared.environment.close()


@contextmanager
def reading(environment: lmdb.Environment) -> Iterator[lmdb.Transaction[bytes]]:
    """Give a read transaction of an environment, which may be shared or its writer's.

    Raises:
        StoreBusy: other threads have theirs for too long.
    """
    shared = _by_environment.get(environment)
    if shared is None:
        with environment.begin() as transaction:
            yield transaction
        return
    transaction = shared.begin()
    try:
        with transaction:
            yield transaction
    finally:
        shared.end()
