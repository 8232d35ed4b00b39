"""The keeper's part in the audit log: the end of its chain goes to the log, old rows go.

Acts do both, too; this is for sites where nobody acts for long, and for acts of pages and programs,
which leave no line in the system's log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore, ChainEnd
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice

CHECKPOINT_S: Final = 3600.0  # the one time that an idle keeper wakes for it
DAY_US: Final = 86_400_000_000

log = logging.getLogger("oborona.audit")


class AuditWatch:
    """The audit log as one keeper looks after it.

    Args:
        state: state folder; the log need not be there.
        days: that rows are kept.
        clock: Unix seconds.
    """

    def __init__(self, state: Path, days: float, clock: Callable[[], float]) -> None:
        self._state = state
        self._keep_us = int(days * DAY_US)
        self._clock = clock
        self._told: ChainEnd | None = None
        self._trouble = TroubleNotice(
            "the end of the audit log is not noted", "the end of the audit log is noted again"
        )

    async def run(self) -> None:
        """Look after it, for ever."""
        while True:
            await self.step()
            await asyncio.sleep(CHECKPOINT_S)

    async def step(self) -> None:
        """Drop what is too old, and tell the end of the chain if it is a new one."""
        path = self._state / state_files.AUDIT
        if not path.exists():
            return
        with self._trouble.noted():
            await asyncio.to_thread(self._look, path)

    def _look(self, path: Path) -> None:
        with AuditStore(path, audit_key(self._state), make=False) as store:
            end = store.drop(int(self._clock() * 1e6), self._keep_us)
        if end.number and end != self._told:
            event(log, logging.INFO, "audit checkpoint", end=f"{end.number}:{end.hash.hex()}")
            self._told = end
