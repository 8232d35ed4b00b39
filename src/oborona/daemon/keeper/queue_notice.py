"""Whoever may touch the mail server's queue is asked to, when an account was banned or opened.

The keeper starts no programs and has no right to the queue.  A mark in the state folder starts the
unit that has (`oborona-queue.path`); what it is to do stands in the file of accounts.

    banned, opened, a ban is over → mark
                                  → again soon: what was on its way is in the queue and the journal
                                  → again now and then, while any account is banned
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.account import AccountBlock
from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.queue_holds import banned_logins, queue_holds
from oborona.accounts.waiting_blocks import WaitingBlocks
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 2.0  # between looks; one that finds nothing new costs 10 microseconds
SOON_S: Final = 10.0
NOW_AND_THEN_S: Final = 600.0  # the mail server may have been down


class QueueNotice:
    """Marks of one keeper.

    Args:
        state: state folder.
        clock: Unix seconds.
    """

    def __init__(self, state: Path, clock: Callable[[], float]) -> None:
        self._path = state / state_files.ACCOUNTS
        self._mark = state / state_files.QUEUE_DUE
        self._clock = clock
        self._store: AccountStore | None = None
        self._version = -1
        self._waiting = WaitingBlocks(self._path)
        self._seen: Mapping[str, AccountBlock] = {}  # of those that wait
        self._banned: set[str] | None = None  # None: a process before this one knew
        self._next = math.inf  # Unix seconds, of a look that nothing has changed for
        self._again = math.inf
        self._trouble = TroubleNotice(
            "mail of banned accounts stays in the queue", "the queue is looked to again"
        )

    async def run(self) -> None:
        """Mark what is due, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Mark what is due now; trouble is said once."""
        with self._trouble.noted():
            await asyncio.to_thread(self._look)
        if self._trouble.now:
            self.close()

    def close(self) -> None:
        """Let the store go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _look(self) -> None:
        if self._store is None:
            if not self._path.exists():
                return
            self._store, self._version = AccountStore(self._path, make=False), -1
        now, version, waiting = self._clock(), self._store.version(), self._waiting.now()
        if version == self._version and waiting is self._seen and now < self._next:
            return
        self._seen = waiting
        blocks = self._store.blocked(now)
        banned = set(banned_logins(blocks, now).values())
        if self._banned is None:
            due = bool(banned or queue_holds(self._path.parent))
        else:
            due = banned != self._banned
        if due:
            self._again = now + SOON_S
        elif now >= self._again:
            due, self._again = True, now + NOW_AND_THEN_S if banned else math.inf
        if due:
            self._mark.touch(0o600)
        ends = [block.until for block in blocks.values() if block.until > now]
        self._next = min([self._again, *ends])
        self._banned, self._version = banned, version
