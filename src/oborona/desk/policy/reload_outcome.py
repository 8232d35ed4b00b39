"""The daemon is asked to read its policy files, and says what came of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec

from oborona.daemon.publisher.reload_socket import ReloadOutcome, ask_reload

PATIENCE_S: Final = 60.0  # of lists of millions of entries


class PolicyReloaded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    Args:
        outcome: what the daemon says; None where nobody who runs on this state answers.
        seconds: it took.
    """

    outcome: ReloadOutcome | None
    seconds: float = 0.0


def reloaded(state: Path, *, dry: bool = False) -> PolicyReloaded:
    """Have the policy files read now.

    Args:
        state: folder of the stores.
        dry: ask nobody.

    Raises:
        StoreError: the socket is there, and is not for who asks.
    """
    if dry:
        return PolicyReloaded(outcome=None)
    started = time.monotonic()
    outcome = ask_reload(state, PATIENCE_S)
    return PolicyReloaded(outcome=outcome, seconds=time.monotonic() - started)
