"""The `[outgoing]` table: mail of our own people that leaves, and what becomes of it.

Mail of one's own people is judged as all mail is, but by lines of its own.  What looks like spam
must not leave with a header on it: it is held in the mail server's queue for a person to look at,
or refused so that its sender hears of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.policy.local_clients import is_own
from oborona.policy.named_tables import refuse
from oborona.policy.rules import VerdictLines
from oborona.toml import GivenValue
from oborona.types import Action, Envelope

MAX_INSIDE: Final = 10_000  # domains


class OutgoingOutcome(StrEnum):
    """What becomes of a message that leaves."""

    ACCEPT = "accept"  # it leaves
    HOLD = "hold"  # in the mail server's queue, until a person decides
    REJECT = "reject"  # refused: its sender hears of it
    TEMPFAIL = "tempfail"  # put off


class OutgoingTable(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The `[outgoing]` table: what becomes of mail that our own people send."""

    spam: Annotated[
        Literal["hold", "reject", "accept"],
        Meta(
            description="What becomes of outgoing mail that is spam by its score: it waits in the "
            "mail server's hold queue (refused where the mail server has none), is refused, or "
            "leaves."
        ),
    ] = "hold"
    spam_score: (
        Annotated[
            float,
            Meta(
                ge=1,
                le=10_000,
                description="This score and more is spam; without it that of [verdict].",
            ),
        ]
        | None
    ) = None
    reject_score: (
        Annotated[
            float,
            Meta(
                ge=1,
                le=10_000,
                description="This score and more is refused; without it that of [verdict].",
            ),
        ]
        | None
    ) = None
    inside: Annotated[
        tuple[str, ...],
        Meta(
            max_length=MAX_INSIDE,
            description="Domains whose mailboxes are yours; with a full stop in front, all domains "
            "below it. Mail to these alone does not leave: its spam goes to the spam folder. With "
            "it, mail of programs on the mail server and of private networks is outgoing, too, "
            "where it goes elsewhere; without it, mail with a login, of site.networks and by a "
            "submission port is, wherever it goes.",
        ),
    ] = ()

    @cached_property
    def _domains(self) -> frozenset[str]:
        return frozenset(domain.lower().rstrip(".") for domain in self.inside)

    def leaves(self, envelope: Envelope) -> bool:
        """Tell whether a message is outgoing: of our own people, and not to our own mailboxes
        alone.
        """
        if not is_own(envelope):
            return False
        if not self.inside:
            return envelope.own or bool(envelope.login)
        return not all(map(self._is_inside, envelope.recipients))

    def lines(self, verdict: VerdictLines) -> VerdictLines:
        """Return the lines that outgoing mail is held to; lines on trial are of inbound mail.

        Args:
            verdict: the lines of all mail.
        """
        if self.spam_score is None and self.reject_score is None:
            return verdict
        return msgspec.structs.replace(
            verdict,
            spam_score=verdict.spam_score if self.spam_score is None else self.spam_score,
            reject_score=verdict.reject_score if self.reject_score is None else self.reject_score,
            shadow_spam_score=None,
            shadow_reject_score=None,
        )

    def outcome(self, action: Action, *, refuse: bool, holds: bool = True) -> OutgoingOutcome:
        """Return what becomes of a message that leaves.

        Args:
            action: of its verdict.
            refuse: the policy refuses mail at all; else all of it leaves.
            holds: the mail server has a place for what is held; else that is refused.
        """
        if not refuse and action is not Action.TEMPFAIL:
            return OutgoingOutcome.ACCEPT
        outcome = OutgoingOutcome(self.spam if action is Action.SPAM else action)
        if outcome is OutgoingOutcome.HOLD and not holds:
            return OutgoingOutcome.REJECT
        return outcome

    def _is_inside(self, recipient: str) -> bool:
        _, sign, domain = recipient.rpartition("@")
        domain = domain.lower().rstrip(".")
        if not sign or domain in self._domains:  # without a domain it is a mailbox of this machine
            return True
        labels = domain.split(".")
        return any(
            f".{'.'.join(labels[place:])}" in self._domains for place in range(1, len(labels))
        )


def outgoing_table(fields: Mapping[str, GivenValue], verdict: VerdictLines) -> OutgoingTable:
    """Return the `[outgoing]` table that files give together.

    Args:
        fields: its keys.
        verdict: the lines of all mail.

    Raises:
        PolicyError: its lines are crossed, or an entry is no domain.
    """
    table = OutgoingTable(**{key: item.value for key, item in fields.items()})
    lines = table.lines(verdict)
    if lines.reject_score < lines.spam_score:
        key = "reject_score" if "reject_score" in fields else "spam_score"
        raise refuse(
            f"[outgoing] reject_score = {lines.reject_score:g} is below"
            f" spam_score = {lines.spam_score:g}",
            fields[key].place,
        )
    for domain in table.inside:
        if not domain.strip(".") or "@" in domain or any(map(str.isspace, domain)):
            raise refuse(f"[outgoing] inside: {domain!r} is no domain", fields["inside"].place)
    return table
