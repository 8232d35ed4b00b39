"""A machine of a site whose accounts are common: its workers' view, its keeper's parts, its log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from oborona import state_files
from oborona.accounts.account import AccountState
from oborona.accounts.account_orders import AccountOrder, carry_out
from oborona.accounts.excess import Excess
from oborona.accounts.excess_spool import ExcessSpool
from oborona.accounts.followed_accounts import FollowedAccounts
from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.store.rows import DeedKind
from oborona.config.inspector import InspectorSettings
from oborona.daemon.keeper.excess_judge import ExcessJudge
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.daemon.keeper.queue_notice import QueueNotice
from tests.replication.machines import follow_once

NOW: Final = float(int(time.time()))  # workers ask the clock
LOW: Final = """
[[account_test]]
name = "ALL"
when = "incidents.spam_month >= 0"
penalty = 90
say = "everybody"
"""


class AccountMachine:
    """One machine.

    Args:
        state: its folder, in a site or not.
        live: whether its inspector does what he decides.

    Attributes:
        now: Unix seconds, of its keeper.
    """

    def __init__(self, state: Path, *, live: bool = True) -> None:
        self.state = state
        self.now = NOW
        self.path = state / state_files.ACCOUNTS
        self._policy = state / "policy.d"
        self._policy.mkdir(exist_ok=True)
        (self._policy / "10.toml").write_text(LOW)
        self._settings = InspectorSettings(mode="live" if live else "shadow")
        self.judge = self.new_judge()
        self._notice = QueueNotice(state, lambda: self.now)

    def new_judge(self) -> ExcessJudge:
        """Return the judge of a keeper that starts."""
        in_force = PolicyInForce(self.state, self._policy)
        return ExcessJudge(self.state, self._settings, in_force, lambda: self.now)

    def exceed(self, account: str = "joe", **fields: Any) -> None:
        """Have a worker write down an excess."""
        told: dict[str, Any] = {"limit": "HOURLY", "metric": "recipients", "window": "hour"}
        told |= {"value": 900.0, "most": 200.0, "at": self.now}
        ExcessSpool(self.state / state_files.EXCESSES).take(
            Excess(account=account, **told | fields)
        )

    def judge_all(self) -> None:
        """Have the keeper judge what waits."""
        asyncio.run(self.judge.step())

    def order(self, what: DeedKind, account: str = "joe", until: float = 0.0) -> None:
        """Have a person say something of an account."""
        order = AccountOrder(what=what, by="anna", why="she said so", until=until)
        with IncidentStore(self.path) as store:
            assert carry_out(store, account, order, self.now) is not None

    def refuses(self, account: str = "joe") -> AccountState | None:
        """Return why a worker that starts takes no mail of an account; None = it does."""
        with closing(FollowedAccounts(self.path)) as known:
            known.look()
            block = known.of(account, self.now)
        return None if block is None else block.state

    def trusts(self, account: str) -> bool:
        """Whether somebody trusts an account."""
        with IncidentStore(self.path) as store:
            found = store.find(account)
        return found is not None and found.trusted(self.now)

    def asks_for_queue(self) -> bool:
        """Whether the keeper asks for a look at the mail server's queue."""
        asyncio.run(self._notice.step())
        mark = self.state / state_files.QUEUE_DUE
        due = mark.exists()
        mark.unlink(missing_ok=True)
        return due

    def incidents(self) -> list[Incident]:
        """Return all, the oldest first."""
        with IncidentStore(self.path) as store:
            return list(reversed(store.incidents()))

    def ask(self, question: Callable[[IncidentStore], Any]) -> Any:
        """Ask the file something."""
        with IncidentStore(self.path) as store:
            return question(store)

    def follow(self) -> None:
        """Do what the log has."""
        follow_once(self.state)
