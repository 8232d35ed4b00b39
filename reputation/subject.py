"""What of a message a list can be asked about, and from which stage on it is known."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from oborona.types import Stage


class ListSubject(StrEnum):
    """A piece of the envelope or the message that a list may hold."""

    CLIENT = "client"  # address of the SMTP client
    RDNS = "rdns"  # its verified name
    HELO = "helo"  # what it called itself
    SENDER = "sender"  # MAIL FROM
    RECIPIENT = "recipient"  # RCPT TO
    FROM = "from"  # address in From
    REPLY_TO = "reply_to"  # addresses in Reply-To
    LINKS = "links"  # hosts of links
    ADDRESSES = "addresses"  # mail addresses in the text

    @property
    def stage(self) -> Stage:
        """The first stage at which it is known."""
        return _STAGES.get(self, Stage.CONTENT)


_STAGES: Final = {
    ListSubject.CLIENT: Stage.CONNECT,
    ListSubject.RDNS: Stage.CONNECT,
    ListSubject.HELO: Stage.SENDER,
    ListSubject.SENDER: Stage.SENDER,
    ListSubject.RECIPIENT: Stage.RECIPIENT,
}

MAILBOXES: Final = frozenset(
    {
        ListSubject.SENDER,
        ListSubject.RECIPIENT,
        ListSubject.FROM,
        ListSubject.REPLY_TO,
        ListSubject.ADDRESSES,
    }
)
"""Subjects that are mail addresses."""
