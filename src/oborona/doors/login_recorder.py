"""Logins on their way into the log of events: gathered for a second, written as one file.

    told → waits in memory → each second a batch of the spool, from which tables are made

Whoever tells of a login is answered at once, and nobody's login waits for a disk. So what the last
second brought is lost where a worker is killed, and what can't be written is dropped and counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

import msgspec

from oborona import state_files
from oborona.client_network import client_network
from oborona.config import Settings
from oborona.doors.login_attempt import LoginAttempt
from oborona.errors import StoreError
from oborona.eventlog.event_spool import EventSpool
from oborona.eventlog.export.logins import AT, EVENT, FAILURE, LOGIN, PERSON, PERSON_PREFIX, SCHEMA
from oborona.metrics import Counter
from oborona.telemetry.trouble import TroubleNotice

GATHER_S: Final = 1.0
MOST_WAIT: Final = 20_000  # in memory, 5 MB: a second of what no mail server does

LOST: Final = Counter(
    "oborona_logins_unrecorded",
    "Logins that are in no event log: they could not be written, or too many came at once.",
    (),
)

log = logging.getLogger("oborona.http")


class LoginRecorder:
    """Records the logins that one worker hears of; for its event loop alone.

    Args:
        spool: of events; None: the site has no event logs, and nothing is recorded.
        clock: Unix seconds.
    """

    def __init__(self, spool: EventSpool | None, clock: Callable[[], float] = time.time) -> None:
        self._spool = spool
        self._clock = clock
        self._waiting: list[bytes] = []
        self._some = asyncio.Event()
        self._trouble = TroubleNotice("logins are not recorded", "logins are recorded again")

    @classmethod
    def of(cls, settings: Settings, state: Path) -> Self:
        """Return the recorder of a worker.

        Args:
            settings: of the site.
            state: folder of the stores.
        """
        if not settings.eventlog.enabled:
            return cls(None)
        # half of the room: what services send is acknowledged, and may not be kept out by guesses
        most = settings.doors.http.events_spool_bytes // 2
        return cls(EventSpool(state / state_files.EVENT_LOG_RECEIVED, most))

    def note(self, attempt: LoginAttempt) -> None:
        """Take down that somebody logged in, or could not; never waits."""
        if self._spool is None:
            return
        if len(self._waiting) >= MOST_WAIT:
            LOST.inc()
            return
        self._waiting.append(_record(attempt, self._clock()))
        self._some.set()

    async def run(self) -> None:
        """Write what was taken down, for ever."""
        while True:
            await self._some.wait()
            await asyncio.sleep(GATHER_S)
            lines = self._taken()
            await asyncio.to_thread(self._write, lines)

    def close(self) -> None:
        """Write what waits."""
        self._write(self._taken())

    def _taken(self) -> list[bytes]:
        self._some.clear()
        lines, self._waiting = self._waiting, []
        return lines

    def _write(self, lines: list[bytes]) -> None:
        if self._spool is None or not lines:
            return
        try:
            self._spool.put(SCHEMA.name, "", b"".join(lines), len(lines), self._clock())
        except StoreError as error:
            LOST.inc(by=len(lines))
            self._trouble.failed(error)
        else:
            self._trouble.over()


def _record(attempt: LoginAttempt, now: float) -> bytes:
    """Return a line of the spool; what is not known is left out of it."""
    said = {
        AT: now,
        EVENT: FAILURE if attempt.why else LOGIN,
        PERSON: f"{PERSON_PREFIX}{attempt.login.lower()}",
        "service": attempt.protocol,
        "why": attempt.why,
        "client": attempt.address,
        "network": client_network(attempt.address),
    }
    return msgspec.json.encode({name: value for name, value in said.items() if value}) + b"\n"
