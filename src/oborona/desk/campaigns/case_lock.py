"""Who looks at a campaign alone, and how others are told."""

from __future__ import annotations

import time

from oborona.desk.call import NotAllowedError
from oborona.feedback.cases.store import CaseLock, CaseStore


def lock_of(store: CaseStore | None, log: bytes, campaign: int, now: float) -> CaseLock | None:
    """Return who looks at a campaign at Unix time `now`; None = nobody."""
    return None if store is None else store.locks(log, now).get(campaign)


def locked(campaign: int, lock: CaseLock) -> NotAllowedError:
    """Return what somebody else is told."""
    until = time.strftime("%H:%M:%S", time.gmtime(lock.until))
    return NotAllowedError(f"{lock.by} looks at campaign {campaign} until {until} UTC")
