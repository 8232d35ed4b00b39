"""Excesses that workers have written down reach the inspector, in the keeper.

    the workers' file → set apart → judged, some at a time, each time with the place in the file in
    one transaction → removed

A kill anywhere judges none twice and loses none: what was judged is in the file of accounts with
its place, or neither is.

Each machine of a site judges what its own workers have written, in its turn at the common file: so
an incident that another machine has opened is found there.  While the site's log is away they wait,
and who would be stopped is, on this machine (`oborona.daemon.keeper.lone_judge`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.excess import checked_excesses
from oborona.accounts.excess_runs import ExcessRun, ExcessRuns
from oborona.accounts.excess_spool import TakenExcesses, set_apart, taken
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.inspector import Inspector, inspector_rules
from oborona.config.inspector import InspectorSettings
from oborona.daemon.keeper.lone_judge import LoneJudge
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.errors import StoreError
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 2.0  # between looks; one that finds nothing costs 10 microseconds
AT_ONCE: Final = 200  # lines in a transaction, half of them empty: others wait some 10 ms

log = logging.getLogger("oborona.accounts")


class ExcessJudge:
    """Hands excesses to the inspector.

    Args:
        state: state folder.
        settings: of the inspector.
        policy: whose tests rate accounts.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        settings: InspectorSettings,
        policy: PolicyInForce,
        clock: Callable[[], float],
    ) -> None:
        self._folder = state / state_files.EXCESSES
        self._accounts = state / state_files.ACCOUNTS
        self._settings = settings
        self._policy = policy
        self._clock = clock
        self._lone = LoneJudge(self._folder, self._accounts)
        self._trouble = TroubleNotice("excesses wait to be judged", "excesses are judged again")

    async def run(self) -> None:
        """Judge what is written down, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Judge what is written down now; what can't be waits, and is said once."""
        with self._trouble.noted():
            await asyncio.to_thread(self._judge)

    def _judge(self) -> None:
        while self._judge_file() and self._lone.waits:
            pass  # what was judged alone is judged before that is over
        if self._lone.waits and not set_apart(self._folder):
            self._lone.over()

    def _judge_file(self) -> bool:
        """Judge a file of excesses; return whether there was one."""
        with taken(self._folder, time.time_ns) as file:
            if file is None:
                return False
            tests = self._policy.latest().account_tests
            with IncidentStore(self._accounts) as store:
                inspector = Inspector(
                    store,
                    lambda: tests,
                    inspector_rules(self._settings),
                    live=self._settings.mode == "live",
                    clock=self._clock,
                )
                try:
                    while self._judge_some(file, store, inspector):
                        pass
                except StoreError as error:
                    if store.machine and _is_away(error):
                        self._lone.judge(store, partial(_take, store, inspector), self._clock())
                    raise
            file.remove()
            return True

    def _judge_some(self, file: TakenExcesses, store: IncidentStore, inspector: Inspector) -> bool:
        """Judge some lines; return whether there were any."""
        name = file.path.name
        with store.transaction():
            before = place = store.judged(name)
            lines = list(file.lines(before, AT_ONCE))
            for run in ExcessRuns(
                checked_excesses((line for line, _ in lines), partial(_tell_refused, name))
            ):
                _take(store, inspector, run)
            if lines:
                _, place = lines[-1]
                store.note_judged(name, place)
        return place > before


def _tell_refused(name: str, why: str) -> None:
    event(log, logging.WARNING, "an excess can't be judged", file=name, why=why)


def _take(store: IncidentStore, inspector: Inspector, run: ExcessRun) -> None:
    """Judge excesses; a fault of ours in some holds up no others.

    Raises:
        StoreError: nothing can be written down now.
    """
    try:
        with store.transaction():  # a fault leaves no half of it
            inspector.take_run(run)
    except StoreError:
        raise
    except Exception:
        log.exception("fault in judging an excess")


def _is_away(error: StoreError) -> bool:
    # of those alone who have several machines
    from oborona.replication.log import LogUnreachableError  # noqa: PLC0415

    return isinstance(error, LogUnreachableError)
