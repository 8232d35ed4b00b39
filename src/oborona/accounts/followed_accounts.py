"""What a worker knows of accounts, as the store says; see `oborona.stores.followed_store`.

    blocked logins   all of them are read when anything changes: a few hundred
    accounts         those that have changed; all when a worker begins, or one was forgotten

Nothing is read for a message.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter as Tally
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from oborona.accounts.account import AccountBlock, AccountState
from oborona.accounts.directory import AccountDirectory
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.rows import FollowedChanges
from oborona.accounts.waiting_blocks import WaitingBlocks, with_waiting
from oborona.doorbell import Doorbell
from oborona.errors import StoreError
from oborona.metrics import Gauge
from oborona.stores.followed_store import StoreFollower, file_of
from oborona.telemetry.log import event

BANS: Final = Gauge(
    "oborona_bans",
    "Logins whose mail is refused (banned) or put off (limited), by state.",
    ("state",),
)
STALE: Final = Gauge(
    "oborona_accounts_stale",
    "1 while the file of accounts can't be read and the states that were known stay.",
    (),
)

log = logging.getLogger("oborona.accounts")


class FollowedAccounts:
    """The accounts of a worker; the `BlockedAccounts` of its sessions.

    Args:
        path: the store's file; need not exist yet.

    Attributes:
        directory: what is known of each account.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.directory = AccountDirectory()
        self._store: StoreFollower[AccountStore, FollowedChanges] = StoreFollower(
            path,
            AccountStore,
            AccountStore.followed,
            log=log,
            failing="states of accounts stay as they were",
            well="states of accounts are read again",
        )
        self._taking = threading.Lock()  # a look that was given up may still run at the next
        self._begun = False  # there was a file
        self._stored: dict[str, AccountBlock] = {}
        self._waiting = WaitingBlocks(path)
        self._followed: Mapping[str, AccountBlock] = {}  # of those that wait, in `_blocks`
        self._blocks: dict[str, AccountBlock] = {}
        BANS.set_function(self._by_state)
        STALE.set_function(lambda: {(): self.stale})

    def of(self, login: str, now: float) -> AccountBlock | None:
        """Return why mail of a login is not taken at Unix time `now`; None: it is taken."""
        if not self._blocks or not login:
            return None
        block = self._blocks.get(login.lower())
        return block if block is not None and block.in_force(now) else None

    @property
    def known(self) -> bool:
        """Whether the site has any accounts, blocked or not: it has a file of them."""
        return self._begun

    @property
    def stale(self) -> bool:
        """The store can't be read now: what was known stays."""
        return self._store.stale

    async def watch(self) -> None:
        """Follow the store, for ever."""
        with Doorbell(self._path, sqlite=True, anyway=lambda: self.stale) as bell:
            while True:
                await bell.rung()
                await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Take what has changed."""
        with self._taking:
            if not self._begun and not self._is_there():
                return  # nobody has imported an account yet
            changes = self._store.changes()
            if changes is not None:
                if changes.accounts or changes.anew:
                    self.directory.learn(changes.accounts, anew=changes.anew)
                self._stored = changes.blocks
            waiting = self._waiting.now()
            if changes is None and waiting is self._followed:
                return
            self._followed = waiting
            blocks = with_waiting(self._stored, waiting, time.time())
            if blocks == self._blocks:
                return
            self._blocks = blocks
        event(log, logging.INFO, "states of accounts changed", blocked=len(blocks))

    def close(self) -> None:
        """Let the store go."""
        self._store.close()

    def _is_there(self) -> bool:
        try:
            file_of(self._path)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return False
        self._begun = True
        return True

    def _by_state(self) -> dict[tuple[str], int]:
        now, found = time.time(), list(self._blocks.values())
        tally = Tally(block.state for block in found if block.in_force(now))
        return {(state,): tally[state] for state in (AccountState.BANNED, AccountState.LIMITED)}
