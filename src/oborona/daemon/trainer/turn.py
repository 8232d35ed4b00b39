"""Whose turn it is to believe and learn: always this machine's where it is alone, else that of the
machine that has the site's lock.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from oborona import state_files
from oborona.replication.link import read_link
from oborona.stores.site_models.turn import LOCK

if TYPE_CHECKING:
    from oborona.replication.log import ReplicationLog
    from oborona.replication.site_lock import SiteLock
    from oborona.sqlite_file import SharedSqliteFile


class TrainerTurn:
    """The turn of a trainer, as long as it is entered.

    Args:
        state: the state folder.

    Raises:
        StoreError: nobody can know whether the machine is alone.
    """

    def __init__(self, state: Path) -> None:
        self._link = read_link(state)
        self._stack = ExitStack()
        self._lock: SiteLock | None = None

    def __enter__(self) -> Self:
        if self._link is not None and state_files.FEEDBACK in self._link.stores:
            # of those alone who have several machines
            from oborona.replication.site_lock import SiteLock  # noqa: PLC0415

            self._lock = self._stack.enter_context(SiteLock(self._link, LOCK))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def is_shared(self) -> bool:
        """Whether other machines may have it."""
        return self._lock is not None

    @property
    def trouble(self) -> str:
        """Why nobody can know whose it is; empty = it is known."""
        return "" if self._lock is None else self._lock.trouble

    def is_mine(self) -> bool:
        """Whether this process believes and learns, and no other does."""
        return self._lock is None or self._lock.held()

    def hold(self, store: SharedSqliteFile) -> None:
        """Let a store be written in this turn alone: who stood still and lost it writes nothing."""
        if self._lock is not None:
            store.guard = self._checked

    def _checked(self, log: ReplicationLog) -> None:
        from oborona.replication.site_lock import check_fence  # noqa: PLC0415

        assert self._lock is not None
        with log.connected() as db:
            check_fence(db, LOCK, self._lock.fence)
