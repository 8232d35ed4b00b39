"""What follows from incidents, done by the keeper: people are told.

    wanted → told → done

Whoever opens an incident writes what is to be done beside it, in the same transaction.  Told is
what the alarm has taken: it tells alerts of one interval as one (`oborona.daemon.alarm`).  A kill
between that and its note repeats an alert.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.incidents.incident import Incident, IncidentAction
from oborona.accounts.incidents.store import IncidentStore
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.errors import StoreError
from oborona.metrics import Counter
from oborona.telemetry.alert import Alert, AlertKind
from oborona.telemetry.log import event

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
    """

    def __init__(self, state: Path, alarm: AlertDispatcher, clock: Callable[[], float]) -> None:
        self._path = state / state_files.ACCOUNTS
        self._alarm = alarm
        self._clock = clock
        self._store: IncidentStore | None = None
        self._version = -1
        self._counted: int | None = None  # the latest incident that was
        self._trouble = ""

    async def run(self) -> None:
        """Do what is wanted, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Do what is wanted now."""
        try:
            for action, incident in await asyncio.to_thread(self._wanted):
                await self._alarm.raise_(alert_of(incident))
                await asyncio.to_thread(self._done, action)
        except StoreError as error:
            self.close()
            if str(error) != self._trouble:
                event(log, logging.ERROR, "nobody is told of incidents", error=error)
                self._trouble = str(error)
            return
        if self._trouble:
            event(log, logging.WARNING, "people are told of incidents again")
            self._trouble = ""

    def close(self) -> None:
        """Let the store go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _wanted(self) -> list[tuple[IncidentAction, Incident]]:
        """Return what is to be done, and count what is new."""
        if self._store is None:
            if not self._path.exists():
                self._counted = 0
                return []
            self._store, self._version = IncidentStore(self._path, make=False), -1
        version = self._store.version()
        if version == self._version:
            return []
        if self._counted is None:  # those before this process began were counted by the one before
            self._counted = max((one.id for one in self._store.incidents(most=1)), default=0)
        for incident in self._store.after(self._counted):
            INCIDENTS.inc(incident.metric, incident.line.value)
            self._counted = incident.id
        found = []
        for action in self._store.wanted():
            incident_found = self._store.incident(action.incident)
            if incident_found is not None:
                found.append((action, incident_found))
        self._version = version
        return found

    def _done(self, action: IncidentAction) -> None:
        if self._store is not None:
            self._store.done(action.id, self._clock())


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
