"""The keeper tries limits on flows whenever the flow process has taken a window.

    flows.db has moved → sums of the windows that limits ask for → who is over → log, metric, a mark
    in flows.db, and an excess of the account, for the inspector

An account has an excess again and again while it goes on; they are one incident.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.excess import ExcessSink
from oborona.accounts.flows.excesses import (
    FlowExcess,
    FlowRuling,
    excess_of,
    rule_on_flows,
    sure,
    window_s,
)
from oborona.accounts.flows.loss import losses
from oborona.accounts.flows.store import DAY_S, FlowMark, FlowStore
from oborona.daemon.keeper.followed_directory import FollowedDirectory
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.metrics import Counter
from oborona.policy.flow_limits import FlowLimit
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 5.0  # a window is a minute
HOUR_S: Final = 3600
AHEAD_S: Final = 60.0  # a window that begins later is none

PASSED: Final = Counter(
    "oborona_flow_limits",
    "Windows in which an address, network or customer was beyond a limit on flows.",
    ("limit", "mode"),
)

log = logging.getLogger("oborona.accounts")


class FlowLimitWatch:
    """The watch of one keeper.

    Args:
        state: state folder.
        policy: whose limits are tried.
        excesses: on the way to the inspector.
        named: the settings name the exporters that are believed.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        policy: PolicyInForce,
        excesses: ExcessSink,
        *,
        named: bool,
        clock: Callable[[], float],
    ) -> None:
        self._flows = state / state_files.FLOWS
        self._policy = policy
        self._excesses = excesses
        self._named = named
        self._clock = clock
        self._judged: int | None = None  # begin of the latest window that was; None = none yet
        self._store: FlowStore | None = None
        self._accounts = FollowedDirectory(state / state_files.ACCOUNTS, log, "limits on flows")
        self._trouble = TroubleNotice("limits on flows wait", "limits on flows are tried again")

    async def run(self) -> None:
        """Try them, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Try them on what is new; trouble is said once."""
        with self._trouble.noted():
            await asyncio.to_thread(self._look)
        if self._trouble.now:
            self._let_go()

    def close(self) -> None:
        """Let the stores go."""
        self._let_go()
        self._accounts.close()

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _look(self) -> None:
        if self._store is None:
            if not self._flows.exists():
                return
            self._store = FlowStore(self._flows, make=False)
        latest = self._store.latest(self._clock() + AHEAD_S)
        if latest is None or (self._judged is not None and latest <= self._judged):
            return
        limits = self._policy.latest().flow_limits
        fresh = latest if self._judged is None else self._judged + 1
        if limits:
            self._try(self._store, limits, latest, fresh)
        self._judged = latest

    def _try(
        self, store: FlowStore, limits: tuple[FlowLimit, ...], latest: int, fresh: int
    ) -> None:
        """Try limits on the windows up to the latest."""
        accounts, now = self._accounts.latest(), self._clock()
        sums = {
            name: store.sums(latest - int(window_s(name)) + 1)
            for name in {limit.window for limit in limits}
        }
        ruling = rule_on_flows(limits, sums, fresh, accounts, now)
        told = store.exporters(int(now - DAY_S))
        lately = [row for row in told if row.start > latest - HOUR_S]
        self._tell(ruling, now, certain=sure(lately, losses(told), named=self._named))
        if ruling.passed:
            store.mark(_mark(passed) for passed in ruling.passed)

    def _tell(self, ruling: FlowRuling, now: float, *, certain: bool) -> None:
        for passed in ruling.passed:
            _report(passed)
            if passed.account:
                self._excesses.take(excess_of(passed, now, certain=certain))
        for name, subject in ruling.unjudged:
            event(log, logging.DEBUG, "flow limit", limit=name, of=subject, verdict="none")
        for fault in ruling.faults:
            event(log, logging.WARNING, "fault", what=f"flow limit {fault}")


def _mark(passed: FlowExcess) -> FlowMark:
    """Return what the log of events says of it: at the last window of the address."""
    sums = passed.sums
    return FlowMark(start=sums.latest, address=sums.address, limit=passed.limit.name)


def _report(passed: FlowExcess) -> None:
    limit = passed.limit
    PASSED.inc(limit.name, limit.mode)
    event(
        log,
        logging.INFO if limit.shadow else logging.WARNING,
        "flow limit",
        limit=limit.name,
        each=limit.each,
        of=passed.subject,
        address=passed.sums.address,
        account=passed.account,
        count=limit.count,
        window=limit.window,
        value=passed.value,
        most=round(passed.most, 1),
        mode=limit.mode,
    )
