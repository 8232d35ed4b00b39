"""What ended a process of the service last, or kept the service from starting: kept in the state
folder, for `oborona doctor` to tell when nobody serves.

The log has it too; but where it went depends on who started the service.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files

WORDS: Final = 1000  # characters kept


class LastTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """One unexpected end of a process."""

    time: float  # Unix seconds
    process: str  # worker-0, writer; "start" of the service as a whole
    why: str


def note_last_trouble(state: Path, process: str, why: str) -> None:
    """Keep it in the place of the one before; never raises."""
    trouble = LastTrouble(time=time.time(), process=process, why=why[:WORDS])
    file = state / state_files.LAST_TROUBLE
    fresh = file.with_name(f".{file.name}")
    with contextlib.suppress(OSError, UnicodeError):  # who writes this has trouble enough
        file.parent.mkdir(mode=0o750, exist_ok=True)
        fresh.write_bytes(msgspec.json.encode(trouble))
        fresh.replace(file)


def read_last_trouble(state: Path) -> LastTrouble | None:
    """Return what was kept last; None = nothing, or it can't be read."""
    try:
        return msgspec.json.decode(
            (state / state_files.LAST_TROUBLE).read_bytes(), type=LastTrouble
        )
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
