"""What each feature contributed to a model's score: text runs and message traits of the content
model, features of the final model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oborona.message.model import Message
from oborona.policy.facts import Facts
from oborona.policy.models.content.explanation import explain
from oborona.policy.models.final.features import NAME
from oborona.policy.models.final.model import Forest
from oborona.policy.models.opinion import ContentOpinion
from oborona.policy.models.ports import ContentModel, FinalModel
from oborona.recheck.facts_at_delivery import readable
from oborona.stores.content_model import FollowedContentModel
from oborona.types import Envelope, RuleHit

MOST: Final = 20  # features, heaviest first


def final_parts(final: FinalModel, facts: Facts, hits: Sequence[RuleHit]) -> dict[str, Any] | None:
    """Return the final model's probability, and the features that added most to its log-odds.

    None where there is none in force.

    Args:
        final: of the site.
        facts: of the message.
        hits: of its verdict; the model does not see its own.
    """
    forest = getattr(final, "forest", None)
    if not isinstance(forest, Forest):
        return None
    plain, _ = readable(facts)
    why = forest.why(plain, [hit for hit in hits if hit.name != NAME])
    parts: dict[str, Any] = msgspec.to_builtins(why)
    parts["parts"] = parts["parts"][:MOST]
    return parts


def content_parts(
    content: ContentModel, message: Message, envelope: Envelope, opinion: ContentOpinion
) -> dict[str, Any] | None:
    """Return what pulled the content model's margin which way; None where it has learned nothing.

    Args:
        content: of the site.
        message: parsed.
        envelope: of the message.
        opinion: that the model gave of it.
    """
    weights = content.weights if isinstance(content, FollowedContentModel) else None
    if weights is None or not (opinion.spam_learned or opinion.ham_learned):
        return None
    person = envelope.recipients[0].lower() if opinion.personal else ""
    parts: dict[str, Any] = msgspec.to_builtins(explain(message, weights, person))
    return parts
