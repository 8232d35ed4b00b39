"""What follows from incidents and from what people do to accounts, done by the keeper: people are
told, and another system is.

    wanted → told → done
           → nobody takes an incident: others are told of it, later
           → the other system fails: again after 1, 2, 4 … 60 minutes; after the third, an alert
           → a command is to run: somebody who may is asked (`oborona.daemon.keeper.hook_notice`)

Whoever opens an incident writes what is to be done beside it, in the same transaction.  One machine
of a site does it at a time, by what its settings say.  Told is
what the alarm has taken: it tells alerts of one interval as one (`oborona.daemon.alarm`).  A kill
between that and its note repeats an alert.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.accounts.incidents.incident import (
    TOLD_AFTER,
    ActionKind,
    Incident,
    IncidentAction,
)
from oborona.accounts.incidents.store import IncidentStore
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.daemon.alarm.webhook import DeliveryFailed, post_webhook
from oborona.daemon.keeper.hook_notice import HookNotice, failing_hook_alert
from oborona.metrics import Counter
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

HOOK_S: Final = 10.0  # that the other system may take
LOOK_S: Final = 2.0  # between looks; one that finds nothing new costs 10 microseconds
INCIDENTS: Final = Counter(
    "oborona_incidents",
    "Incidents of accounts that went over a limit, by metric and by what was decided.",
    ("metric", "line"),
)

log = logging.getLogger("oborona.accounts")


class AccountActions:
    """The actions of a site.

    Args:
        state: state folder.
        alarm: tells people.
        clock: Unix seconds.
        second: tells the second line; None = there is none.
        hook: where the state of accounts is posted; empty = nowhere.
        key: to sign that with; empty = it is not.
        command: has a command told of it; None = there is none.
        is_mine: whether it is this machine's turn.
    """

    def __init__(
        self,
        state: Path,
        alarm: AlertDispatcher,
        clock: Callable[[], float],
        *,
        second: AlertDispatcher | None = None,
        hook: str = "",
        key: bytes = b"",
        command: HookNotice | None = None,
        is_mine: Callable[[], bool] = lambda: True,
    ) -> None:
        self._path = state / state_files.ACCOUNTS
        self._alarm = alarm
        self._clock = clock
        self._store: IncidentStore | None = None
        self._version = -1
        self._counted: int | None = None  # the latest incident that was
        self._trouble = TroubleNotice(
            "nobody is told of incidents", "people are told of incidents again"
        )
        self._second = second
        self._hook, self._key, self._command = hook, key, command
        self._is_mine = is_mine
        self._retry_at = math.inf  # of the first hook that failed
        self._ends_at = math.inf  # of the first block that ends by itself

    async def run(self) -> None:
        """Do what is wanted, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Do what is wanted now, where it is this machine's turn."""
        if not self._is_mine():
            self._version, self._counted = -1, None  # who has the turn counts
            return
        with self._trouble.noted():
            for action, incident in await asyncio.to_thread(self._wanted):
                if not self._is_mine():
                    break
                if action.kind is ActionKind.HOOK:
                    await self._post(action)
                elif action.kind is ActionKind.COMMAND:
                    await self._ask(action)
                elif action.kind is ActionKind.SECOND:
                    await self._tell_second(action, incident)
                elif incident is not None:
                    await self._alarm.raise_(alert_of(incident))
                    await self._note(IncidentStore.done, action.id, self._clock())
        if self._trouble.now:
            self.close()

    def close(self) -> None:
        """Let the store go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    async def _tell_second(self, action: IncidentAction, incident: Incident | None) -> None:
        """Tell the second line of an incident, unless somebody looks after it."""
        now = self._clock()
        if (
            self._second is None
            or incident is None
            or incident.taken_by
            or incident.verdict is not None
        ):
            await self._note(IncidentStore.skip, action.id)
        elif action.retry_at > now:
            self._retry_at = min(self._retry_at, action.retry_at)
        else:
            alert = alert_of(incident)
            title = f"nobody has taken {alert.title}"
            await self._second.raise_(msgspec.structs.replace(alert, title=title, time=now))
            await self._note(IncidentStore.done, action.id, now)

    async def _post(self, action: IncidentAction) -> None:
        """Tell the other system what an account may do; where there is none, that is that."""
        now = self._clock()
        if not self._hook:
            await self._note(IncidentStore.skip, action.id)
            return
        if action.retry_at > now:
            self._retry_at = min(self._retry_at, action.retry_at)
            return
        try:
            await post_webhook(self._hook, action.message, key=self._key, now=now, within_s=HOOK_S)
        except DeliveryFailed as error:
            retry_at = now + action.pause_s
            self._retry_at = min(self._retry_at, retry_at)
            event(log, logging.ERROR, "a hook failed", action=action.id, error=str(error))
            await self._note(
                partial(IncidentStore.failed, retry_at=retry_at), action.id, str(error)[:200]
            )
            if action.attempts + 1 == TOLD_AFTER:
                await self._alarm.raise_(failing_hook_alert(action, str(error), now))
            return
        await self._note(IncidentStore.done, action.id, now)

    async def _ask(self, action: IncidentAction) -> None:
        """Have a command told what an account may do; where there is none, that is that."""
        if self._command is None:
            await self._note(IncidentStore.skip, action.id)
        else:
            self._retry_at = min(self._retry_at, await self._command.ask(action))

    async def _note(self, note: Callable[..., None], *values: object) -> None:
        if self._store is not None:
            await asyncio.to_thread(note, self._store, *values)

    def _wanted(self) -> list[tuple[IncidentAction, Incident | None]]:
        """Return what is to be done, and count what is new."""
        if self._store is None:
            if not self._path.exists():
                self._counted = 0
                return []
            self._store, self._version = IncidentStore(self._path, make=False), -1
        version = self._store.version()
        now = self._clock()
        if version == self._version and now < min(self._retry_at, self._ends_at):
            return []
        self._ends_at = self._store.open_ended(now)
        if self._counted is None:  # those before this process began were counted by the one before
            self._counted = max((one.id for one in self._store.incidents(most=1)), default=0)
        for incident in self._store.after(self._counted):
            INCIDENTS.inc(incident.metric, incident.line.value)
            self._counted = incident.id
        self._retry_at = math.inf
        found = [
            (action, None if action.incident is None else self._store.incident(action.incident))
            for action in self._store.wanted()
        ]
        self._version = version
        return found


def alert_of(incident: Incident) -> Alert:
    """Return what people are told of an incident, with the commands that answer it."""
    usual = f", usually {incident.usual:g}" if incident.usual is not None else ""
    then = f"The limit has done: {incident.then}.\n" if incident.then else ""
    return Alert(
        kind=AlertKind.INCIDENT,
        title=f"incident {incident.id}: {incident.account} is over {incident.limit}",
        text=(
            f"{incident.account}{incident.address and f' ({incident.address})'}:"
            f" {incident.value:g} {incident.metric} in a window ({incident.window}) of"
            f" {incident.most:g}{usual}.\n"
            f"{incident.say}.\n{then}\n"
            f"oborona incident show {incident.id}\n"
            f"oborona incident take {incident.id}\n"
            f"oborona incident close {incident.id} --spam    (or --not-spam)\n"
        ),
        time=incident.opened,
        evidence={"incident": incident.id, "account": incident.account, **incident.evidence},
    )
