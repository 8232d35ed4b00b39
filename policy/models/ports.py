"""What a scan needs of models, as Protocols that those which follow their files satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oborona.message.model import Message
from oborona.policy.facts import Facts
from oborona.policy.final_table import FinalTable
from oborona.policy.groups import RuleGroups
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.policy.rules import VerdictLines
from oborona.types import Envelope, RuleHit


class ContentModel(Protocol):
    """The content model, as a scan needs it."""

    def read(self, message: Message, envelope: Envelope) -> ContentOpinion:
        """Return what it says of a message; never raises, and waits for nothing."""
        ...


class FinalModel(Protocol):
    """Decides over all facts and rules, where one was trained and is in force."""

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        """Return its part of the score, beside those of the rules.

        Nothing where there is no model.  Never raises, and waits for nothing.

        Args:
            facts: of the message.
            hits: of rules, lists and signatures.
            table: what its word does, by the policy of this scan.
            lines: of the same policy.
            groups: of the same policy, whose caps the hits keep to.
        """
        ...


class NoModels:
    """A content model and a final model that know nothing."""

    def read(self, message: Message, envelope: Envelope) -> ContentOpinion:
        """Say nothing."""
        return UNTAUGHT

    def weigh(
        self,
        facts: Facts,
        hits: Sequence[RuleHit],
        table: FinalTable,
        lines: VerdictLines,
        groups: RuleGroups,
    ) -> tuple[RuleHit, ...]:
        """Add nothing."""
        return ()
