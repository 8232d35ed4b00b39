"""The keeper forgets what names a person in old registrations, and what was answered long ago."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.answers import forget_answers
from oborona.accounts.store.registrations import forget_registrations
from oborona.daemon.keeper.in_turn import step_in_turn
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

PURGE_S: Final = 3600.0
DAY_S: Final = 86_400.0

log = logging.getLogger("oborona.accounts")


class RegistrationPurge:
    """The purge of one keeper.

    Args:
        accounts: the file of accounts; need not exist.
        days: that personal data is kept; 0 = as long as the account.
        clock: Unix seconds.
        is_mine: whether it is this machine's turn: one of a site forgets for all.
    """

    def __init__(
        self,
        accounts: Path,
        days: int,
        clock: Callable[[], float],
        is_mine: Callable[[], bool] = lambda: True,
    ) -> None:
        self._accounts = accounts
        self._days = days
        self._clock = clock
        self._is_mine = is_mine
        self._trouble = TroubleNotice(
            "old registrations are not forgotten", "old registrations are forgotten again"
        )

    async def run(self) -> None:
        """Forget, for ever."""
        await step_in_turn(self.step, self._is_mine, PURGE_S)

    async def step(self) -> None:
        """Forget what is due now; trouble is said once."""
        if not self._accounts.exists():
            return
        with self._trouble.noted():
            await asyncio.to_thread(self._forget)

    def _forget(self) -> None:
        now, forgotten = self._clock(), 0
        with AccountStore(self._accounts, make=False) as store:
            forget_answers(store, now)
            if self._days:
                forgotten = forget_registrations(store, now - self._days * DAY_S)
        if forgotten:
            event(log, logging.INFO, "old registrations are forgotten", number=forgotten)
