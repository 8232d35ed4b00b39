"""The messages that are blamed for deaths of workers, and the board by which workers learn of them.

    a worker dies → its notes name a message → one more death for it → from the second on it stands
    on the board, which all workers read

The supervisor alone blames; the board is memory that its workers share, so that the next worker to
see the message knows, a moment after the death. Blamed is the message in whose step the worker died
or computed without end; where it died of a fault in no step, a message that was alone.  A worker
that was stopped, waited for a disk, or ended by itself, blames nobody.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from oborona import __version__, state_files
from oborona.daemon.restart import how_it_ended
from oborona.errors import StoreError
from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.in_flight import InFlightMessage, InFlightTable
from oborona.session.quarantine.shared_list import QuarantineList
from oborona.session.quarantine.suspect_store import Suspect
from oborona.telemetry.log import event

FAULTS: Final = frozenset(
    {
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGABRT,  # it hung, or a library gave up
        signal.SIGSYS,
        signal.SIGKILL,  # for its memory
    }
)
PRUNE_S: Final = 3600.0  # between two looks for what is too old to be kept

log = logging.getLogger("oborona")


class DeathSuspects:
    """Blames messages for deaths of workers; for the supervisor.

    Args:
        state: state folder.
        notes: of each worker, by the name of its process.
        clock: gives Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        notes: Mapping[str, InFlightTable],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.board = QuarantineList()
        self._state = state
        self._notes = notes
        self._clock = clock
        self._known: dict[str, Suspect] = {}
        self._seen = -1  # how the folder looked
        self._pruned = float("-inf")  # when, Unix seconds
        self.look()

    def notes_of(self, process: str) -> InFlightTable:
        """Return the notes of a worker."""
        return self._notes[process]

    def look(self) -> None:
        """Take up what is in the folder, if that has changed: an admin may have taken something
        away; never raises.

        What is too old goes, within an hour of that.
        """
        now = self._clock()
        if abs(now - self._pruned) >= PRUNE_S:
            self._pruned = now
            suspect_store.prune_suspects(self._state, now)
        try:
            modified = (self._state / state_files.SET_APART).stat().st_mtime_ns
        except OSError:
            modified = 0
        if modified == self._seen:
            return
        self._seen = modified
        try:
            self._known = {
                suspect.identity: suspect
                for suspect in suspect_store.read_suspects(self._state, now)
            }
        except StoreError as error:
            event(log, logging.ERROR, "messages that were set apart are not known", error=error)
        self._show()

    def died(self, process: str, status: int, *, stood_still: bool = False) -> None:
        """Blame whom the notes of a worker name; never raises.

        Args:
            process: that ended though nobody told it to; any one.
            status: as wait(2) gives it.
            stood_still: it was killed because it hung, and computed nothing: a disk or whoever
                stopped it is to blame.
        """
        notes = self._notes.get(process)
        if notes is None:
            return
        blamed, beside = _blamed(notes, status)
        notes.clear()
        if blamed is None or stood_still:
            return
        now, how, name = self._clock(), how_it_ended(status), blamed.identity.hex()
        self.look()
        before = self._known.get(name)
        if before is not None and before.version != __version__:
            before = None
        suspect = Suspect(
            identity=name,
            deaths=1 if before is None else before.deaths + 1,
            first=now if before is None else before.first,
            last=now,
            how=how,
            queue_id=blamed.queue_id,
            client=blamed.client,
            sender=blamed.sender,
        )
        self._known[name] = suspect
        self._show()
        event(
            log,
            logging.ERROR,
            "a worker died over a message",
            process=process,
            how=how,
            message=name,
            deaths=suspect.deaths,
            set_apart=suspect.apart,
            queue=blamed.queue_id,
            client=blamed.client,
            sender=blamed.sender,
            beside=beside,
        )
        try:
            suspect_store.write_suspect(self._state, suspect)
        except StoreError as error:
            event(
                log,
                logging.ERROR,
                "a message to set apart is known until the service stops",
                error=error,
            )
        suspect_store.prune_suspects(self._state, now)

    def _show(self) -> None:
        apart = sorted(
            (suspect for suspect in self._known.values() if suspect.apart),
            key=lambda suspect: -suspect.last,
        )
        self.board.write(
            [bytes.fromhex(suspect.identity) for suspect in apart if len(suspect.identity) == 32]
        )


def _blamed(notes: InFlightTable, status: int) -> tuple[InFlightMessage | None, int]:
    """Return the message that a worker died over, and how many were in flight beside it."""
    all_of_them = notes.all()
    blamed = notes.running
    of_a_fault = os.WIFSIGNALED(status) and os.WTERMSIG(status) in FAULTS
    if blamed is None and of_a_fault and len(all_of_them) == 1:
        (blamed,) = all_of_them
    return blamed, len(all_of_them) - (blamed is not None)
