"""What persons did with delivered messages, from the log of events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind
from oborona.recheck.engine.model import ReaderAction

_MOVED: Final = frozenset({EventKind.COMPLAINT, EventKind.PARDON, EventKind.DELETED})


class PersonActions:
    """`People` of the recheck; without a log of events nobody did anything.

    Args:
        state: state folder.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / state_files.EVENTS
        self._log: EventLog | None = None

    def touched(self, ident: int) -> Sequence[ReaderAction]:
        """Return what was done with a message; see `People.touched`."""
        if self._log is None:
            if not self._path.exists():
                return ()
            self._log = EventLog(self._path, make=False)
        return [
            ReaderAction(
                event.person, moved=event.what in _MOVED, opened=event.what is EventKind.READ
            )
            for event in self._log.said(ident)
            if event.person
        ]

    def close(self) -> None:
        """Let the log go."""
        if self._log is not None:
            self._log.close()
            self._log = None
