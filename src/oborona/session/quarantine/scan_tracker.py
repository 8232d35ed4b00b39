"""The scans of a worker: each is noted while it runs, and a message over which workers have died is
not scanned.

What is set apart is not looked into: neither parsed nor handed to another engine, nor learned from.
Its client, sender and recipients were judged before, as those of any message; it is answered as
spam, which files it in Junk.  So a message that is honest arrives, one that is not gains nothing
over spam that is recognised, and none of them costs another worker: what returned for ever from a
mail server's queue, told to try again, would.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from oborona.doors.raw_message import RawMessage
from oborona.errors import StoreError
from oborona.heartbeat import beat
from oborona.ident import to_text
from oborona.metrics import Counter
from oborona.policy.decision import set_apart
from oborona.policy.load import Policy
from oborona.session.cpu_meter import CpuMeter
from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.in_flight import InFlightTable, message_identity
from oborona.session.quarantine.shared_list import QuarantineList
from oborona.telemetry.log import event
from oborona.types import Envelope, Verdict

log = logging.getLogger("oborona.session")

SET_APART: Final = Counter(
    "oborona_set_apart",
    (
        "Messages that were filed as spam and not looked into, for workers had died over them "
        "(`oborona set-apart list`)."
    ),
    (),
)

_T = TypeVar("_T")


class ScanTracker:
    """All flights of a worker.

    Args:
        state: state folder, where messages that are set apart are kept; None = nowhere.
        notes: of this worker.
        board: of all workers.
    """

    __slots__ = ("_board", "_notes", "_state")

    def __init__(
        self,
        state: Path | None = None,
        notes: InFlightTable | None = None,
        board: QuarantineList | None = None,
    ) -> None:
        self._state = state
        self._notes = notes or InFlightTable()
        self._board = board or QuarantineList()

    def begin(self, message: RawMessage, envelope: Envelope) -> TrackedScan:
        """Return the flight of a message."""
        identity = message_identity(message, envelope.sender)
        return TrackedScan(self._notes, identity, envelope, apart=identity in self._board)

    def aside(
        self, flight: TrackedScan, message: RawMessage, ident: int, policy: Policy
    ) -> Verdict:
        """Return the verdict of a message that is set apart, and keep the message for a look."""
        SET_APART.inc()
        name = flight.identity.hex()
        file = ""
        try:
            if self._state is not None:
                file = str(suspect_store.keep_message(self._state, name, message.raw))
        except StoreError as error:
            event(
                log,
                logging.ERROR,
                "a message that was set apart is not kept",
                message=name,
                error=error,
            )
        event(log, logging.WARNING, "set apart", id=to_text(ident), message=name, kept=file)
        return set_apart(policy.verdict.spam_score)


class TrackedScan:
    """One message on its way.

    Args:
        notes: of this worker.
        identity: of the message.
        envelope: of the message.
        apart: workers have died over it: it is not to be looked into.
    """

    __slots__ = ("_envelope", "_notes", "apart", "identity")

    def __init__(
        self, notes: InFlightTable, identity: bytes, envelope: Envelope, *, apart: bool
    ) -> None:
        self._notes = notes
        self._envelope = envelope
        self.identity = identity
        self.apart = apart

    async def through(self, work: Coroutine[Any, Any, _T], meter: CpuMeter) -> _T:
        """Run its scan, noted, marked and measured; returns and raises as that does."""
        beat()
        slot = self._notes.take(self.identity, self._envelope)
        try:
            return await self._notes.steps(slot, work, meter)
        finally:
            self._notes.wipe(slot)
            beat()
