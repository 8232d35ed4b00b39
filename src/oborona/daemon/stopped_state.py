"""A state folder that no daemon uses, held so while its files are changed as a whole."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from oborona import lock, state_files
from oborona.errors import StoreBusy

LOCKS: Final = (
    state_files.WORKERS_LOCK,
    state_files.KEEPER_LOCK,
    state_files.READER_LOCK,
    state_files.TRAINER_LOCK,
    state_files.INTAKE_LOCK,
    state_files.FLOWS_LOCK,
    f"{state_files.COUNTERS}/{state_files.COUNTERS_LOCK}",
)


def hold_stopped(state: Path, who: str, held: ExitStack) -> None:
    """Hold what daemons hold, without making what is not there.

    Args:
        state: the state folder.
        who: holds it, as daemons are told that want to start.
        held: gets the locks.

    Raises:
        StoreBusy: a daemon runs on the state.
    """
    for name in LOCKS:
        if (state / name).exists():
            try:
                held.enter_context(lock.hold(state / name, who))
            except StoreBusy as busy:
                raise StoreBusy(f"{busy}: stop it first (systemctl stop oborona)") from busy
