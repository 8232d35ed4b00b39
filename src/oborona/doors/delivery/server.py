"""The delivery door on the event loop: messages taken by LMTP and handed on to the mailboxes."""

from __future__ import annotations

import logging
from pathlib import Path

from oborona.doors.delivery.handover import DeliveryServices, Handover, deliver
from oborona.doors.delivery.lmtp_receiver import LmtpReceiver
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.smtp.replies import SmtpReply

log = logging.getLogger("oborona.delivery")


class DeliveryServer(LmtpReceiver):
    """Serves LMTP connections of one listening socket.

    Args:
        services: what they share.
        spool: folder for messages that do not stay in memory.
        room: for all messages that come in.
    """

    def __init__(self, services: DeliveryServices, spool: Path, room: MemoryBudget) -> None:
        super().__init__(services.settings, services.name, spool, room, log)
        self.services = services

    async def take(self, handed: Handover) -> list[SmtpReply]:
        """Hand a message on to the mailboxes."""
        return await deliver(self.services, handed)
