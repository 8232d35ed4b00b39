"""The evidence on a client and a sender that had to be asked for: authentication, DNS lists, and
where the client is.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from oborona.authentication.model import AuthIdentity
from oborona.message.model import Message
from oborona.policy.expression.template import printable
from oborona.policy.load import Policy
from oborona.reputation.dnsbl import DnsblListing, strongest
from oborona.types import Envelope, Location, RuleHit, Stage


class SenderEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Answers so far; what was not asked, or not answered, is evidence of nothing."""

    identity: AuthIdentity = AuthIdentity()
    listings: tuple[DnsblListing, ...] = ()
    unanswered: tuple[str, ...] = ()  # who gave no answer in time: spf, dkim, the names of lists
    location: Location = Location()  # of the client

    @property
    def hits(self) -> list[RuleHit]:
        """What the lists add to the score: each list once, by its weightiest answer.

        In words fit for a header.
        """
        return [
            msgspec.structs.replace(listing.hit, say=printable(listing.say))
            for listing in strongest(self.listings)
        ]


class Inquiry(Protocol):
    """Asks about one connection and one message of it, each thing once; every wait is bounded."""

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        """Return what DNS lists say of what is known at a stage before the content.

        SPF and iprev if they are wanted.
        """
        ...

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Return everything, now that the message is there.

        Args:
            message: parsed.
            envelope: of the message.
            policy: whose lists are asked, and whose limits hold.
            truncated: it is the message's head alone.
        """
        ...

    async def again(
        self, evidence: SenderEvidence, message: Message, envelope: Envelope, policy: Policy
    ) -> SenderEvidence:
        """Return the evidence with what lists say of a message in which more was found since, by
        `whole` or long after it.
        """
        ...


class NoInquiry:
    """An inquiry that asks nobody, for tools that work without the network."""

    async def until(
        self, stage: Stage, envelope: Envelope, policy: Policy, *, spf: bool, iprev: bool
    ) -> SenderEvidence:
        """Know nothing."""
        return SenderEvidence()

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Know nothing."""
        return SenderEvidence()

    async def again(
        self, evidence: SenderEvidence, message: Message, envelope: Envelope, policy: Policy
    ) -> SenderEvidence:
        """Know no more."""
        return evidence
