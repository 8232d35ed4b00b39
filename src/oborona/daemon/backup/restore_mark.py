"""The mark of a restore that has not come to its end: while it is there, nothing starts on what was
put back so far.
"""

from __future__ import annotations

from pathlib import Path

from oborona import state_files
from oborona.errors import StoreError, StoreForeign


def check_restored(state: Path) -> None:
    """Refuse a state folder that a restore has left half done.

    Raises:
        StoreForeign: it has. StoreError: there is a mark that can't be read.
    """
    mark = state / state_files.RESTORING
    try:
        source = mark.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{mark}: {error.strerror}") from error
    raise StoreForeign(
        f"{state} was put back in part: `oborona restore {source}` ended before its end; "
        f"run it again"
    )
