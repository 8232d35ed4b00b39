"""Accounts as tasks of the keeper know them: who answers for a login or an address."""

from __future__ import annotations

import logging
from pathlib import Path

from oborona.accounts.directory import AccountDirectory
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.rows import FollowedChanges
from oborona.stores.followed_store import StoreFollower


class FollowedDirectory:
    """A directory that follows the file of accounts; for one thread at a time.

    Args:
        path: of the file; need not exist yet.
        log: gets trouble.
        who: begins what is told of it, such as "limits on flows".
    """

    def __init__(self, path: Path, log: logging.Logger, who: str) -> None:
        self._path = path
        self._directory = AccountDirectory()
        self._follower: StoreFollower[AccountStore, FollowedChanges] = StoreFollower(
            path,
            AccountStore,
            AccountStore.followed,
            log=log,
            failing=f"{who} know accounts as they were",
            well=f"{who} know accounts again",
        )

    def latest(self) -> AccountDirectory:
        """Return the accounts as they are, or as they were before while they can't be read."""
        if self._path.exists():
            changes = self._follower.changes()
            if changes is not None:
                self._directory.learn(changes.accounts, anew=changes.anew)
        return self._directory

    def close(self) -> None:
        """Let the file go."""
        self._follower.close()
