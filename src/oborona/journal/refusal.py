"""Refusals before the content: what is known of one, and what the journal has of it.

Of a message that is refused at connect, MAIL FROM or RCPT TO, or for which there is no room, there
is no content, no evidence and nothing that is counted: a refusal answers for its reference alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.client_network import client_network
from oborona.types import Action, RuleHit, Stage

REFUSAL_TEXT_LENGTH: Final = 255  # characters kept of a peer's text: RFC 5321 section 4.5.3.1
REFUSAL_RULES: Final = 20  # that are kept of a refusal, as long as SAY_LENGTH each
SAY_LENGTH: Final = 200
COLLAPSE_S: Final = 600.0  # that refusals of a network for a reason are one row
REFERENCES: Final = 50  # of one row: so many who were refused are told apart


class Told(StrEnum):
    """Where a client heard of a refusal."""

    CONNECT = "connect"
    SENDER = "sender"
    RECIPIENT = "recipient"
    CONTENT = "content"  # at the end of the message, which nobody looked into
    NEVER = "never"  # it went away before it could be told


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One refusal, as a session made it.

    Texts may hold anything that a str can; the journal cuts them to `REFUSAL_TEXT_LENGTH`.
    """

    id: int  # its reference, unless one that was given before says the same
    time: float  # Unix seconds
    stage: Stage  # of what was judged: the client, the sender or a recipient
    told: Told
    verdict: Action  # REJECT or TEMPFAIL
    score: float = 0.0
    line: float = 0.0  # the score it was held to
    decided_by: str
    client_ip: str = ""
    helo: str = ""
    sender: str = ""  # empty = bounce
    recipients: tuple[str, ...] = ()  # that were named by then, the first alone is kept
    login: str = ""
    queue_id: str = ""  # empty = unknown
    rules: tuple[RuleHit, ...] = ()
    policy_version: str = ""
    door: str = ""  # the listener that it came by; empty = unknown, or of an older Oborona

    @property
    def network(self) -> str:
        """The client's network, /24 or /64; of what is no address itself, cut short."""
        address = self.client_ip[:REFUSAL_TEXT_LENGTH]  # which is remembered
        return client_network(address) or address


class RecordedRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal has of a reference."""

    # as it was first given out; a network as the client where it stands for more than `REFERENCES`
    refusal: Refusal
    network: str  # of all that were refused with it
    first: float  # Unix seconds, of all of them
    last: float
    times: int  # how many were refused; who was told of the same reference is counted each time
    recipients: int  # how often a recipient was named by them
    shared: bool  # the reference was given to several who are not told apart


class RefusalSink:
    """Takes refusals and keeps none of them: where there is no journal."""

    def take(self, refusal: Refusal) -> int:
        """Take a refusal before it is told; at once, never raises.

        Returns:
            The reference to tell: its own, or that of an earlier one that says the same.
        """
        return refusal.id

    def add_recipients(self, refusal: Refusal, number: int) -> None:
        """Take note that so many recipients more were told of a refusal that was taken."""
