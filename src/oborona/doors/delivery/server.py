"""The delivery door on the event loop: messages taken by LMTP and handed on to the mailboxes."""

from __future__ import annotations

import logging
from pathlib import Path

from oborona.doors.delivery.delivering import Bench, Handover, deliver
from oborona.doors.delivery.receiving import Receiver
from oborona.doors.room import Room
from oborona.doors.smtp.answers import Answer

log = logging.getLogger("oborona.delivery")


class DeliveryServer(Receiver):
    """Serves LMTP connections of one listening socket.

    Args:
        bench: what they share.
        spool: folder for messages that do not stay in memory.
        room: for all messages that come in.
    """

    def __init__(self, bench: Bench, spool: Path, room: Room) -> None:
        super().__init__(bench.settings, bench.name, spool, room, log)
        self.bench = bench

    async def take(self, handed: Handover) -> list[Answer]:
        """Hand a message on to the mailboxes."""
        return await deliver(self.bench, handed)
