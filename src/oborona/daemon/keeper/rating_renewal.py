"""The keeper rates accounts again: what speaks against one ages, and an incident of today speaks
against it from then on.

Those are rated against which something speaks, or which had an incident lately: time changes
nothing of the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.accounts.store.accounts import AccountStore
from oborona.accounts.store.ratings import rate_account, to_rate_again
from oborona.daemon.keeper.in_turn import step_in_turn
from oborona.policy.account_tests import AccountTests
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

RENEW_S: Final = 600.0  # between two rounds, at 0.12 ms an account: so late a rating may be
AT_ONCE: Final = 100  # accounts, in some 12 ms
PAUSE_S: Final = 0.1  # between them: what else the keeper does goes before

log = logging.getLogger("oborona.accounts")


class RatingRenewal:
    """The ratings of one keeper.

    Args:
        accounts: the file of accounts; need not exist.
        tests: of the policy in force, asked at each round.
        clock: Unix seconds.
        is_mine: whether it is this machine's turn: one of a site rates.
    """

    def __init__(
        self,
        accounts: Path,
        tests: Callable[[], AccountTests],
        clock: Callable[[], float],
        is_mine: Callable[[], bool] = lambda: True,
    ) -> None:
        self._accounts = accounts
        self._tests = tests
        self._clock = clock
        self._is_mine = is_mine
        self._trouble = TroubleNotice("ratings stay as they were", "accounts are rated again")

    async def run(self) -> None:
        """Rate, for ever."""
        await step_in_turn(self.step, self._is_mine, RENEW_S)

    async def step(self) -> None:
        """Rate all that may have changed; trouble is said once."""
        if not self._accounts.exists():
            return
        with self._trouble.noted():
            await self._rate_all()

    async def _rate_all(self) -> None:
        tests = await asyncio.to_thread(self._tests)
        changed, last = await asyncio.to_thread(self._rate_some, tests, "")
        while last and self._is_mine():
            await asyncio.sleep(PAUSE_S)
            more, last = await asyncio.to_thread(self._rate_some, tests, last)
            changed += more
        if changed:
            event(log, logging.INFO, "ratings changed", number=changed)

    def _rate_some(self, tests: AccountTests, after: str) -> tuple[int, str]:
        """Rate the next accounts; return how many ratings are others now, and the last account,
        empty where there are no more.
        """
        now, changed = self._clock(), 0
        with AccountStore(self._accounts, make=False) as store:
            names = to_rate_again(store, after, AT_ONCE, now)
            for name in names:
                account = store.find(name)
                if account is not None and account.id == name:
                    changed += rate_account(store, account, tests, now).value != account.rating
        return changed, names[-1] if len(names) == AT_ONCE else ""
