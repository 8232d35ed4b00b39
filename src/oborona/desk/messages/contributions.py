"""What each feature contributed to a model's score: text runs and message traits of the content
model, features of the final model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oborona.message.model import Message
from oborona.policy.disclosure import public_hits
from oborona.policy.facts import Facts
from oborona.policy.karma import KARMA
from oborona.policy.load import Policy
from oborona.policy.models.content.explanation import explain
from oborona.policy.models.final.features import MODELS
from oborona.policy.models.final.law import log_odds
from oborona.policy.models.final.model import FinalExplanation
from oborona.policy.models.opinion import ContentOpinion
from oborona.policy.models.ports import ContentModel, FinalModel
from oborona.recheck.facts_at_delivery import readable
from oborona.stores.content_model import FollowedContentModel
from oborona.stores.final_model import FollowedFinalModel
from oborona.types import Envelope, RuleHit

MOST: Final = 20  # features, heaviest first


def final_parts(
    final: FinalModel, facts: Facts, hits: Sequence[RuleHit], policy: Policy
) -> dict[str, Any] | None:
    """Return the probability that the site's own model in force gives a message, and the features
    that it comes from.

    None where there is none in force.

    Args:
        final: of the site.
        facts: of the message.
        hits: of its verdict; the model sees neither its own, nor karma's, nor what is private.
        policy: that it was judged by.
    """
    if not isinstance(final, FollowedFinalModel) or final.forest is None:
        return None
    plain, seen = readable(facts)[0], _seen(hits, policy)
    beside = final.beside(plain, seen, policy.final, policy.verdict, policy.groups)
    return _parts(final.forest.why(plain, seen, beside))


def shipped_parts(
    final: FinalModel, facts: Facts, hits: Sequence[RuleHit], policy: Policy
) -> dict[str, Any] | None:
    """Return the log-odds that the model that comes with Oborona adds to those of the rules, and
    the features that they are of; the arguments of `final_parts`.

    None where there is none.
    """
    if not isinstance(final, FollowedFinalModel) or final.shipped is None:
        return None
    parts = _parts(final.shipped.why(readable(facts)[0], _seen(hits, policy)))
    parts["log_odds"] = log_odds(parts.pop("probability"))
    return parts


def _seen(hits: Sequence[RuleHit], policy: Policy) -> list[RuleHit]:
    unseen = {*MODELS, KARMA}
    return public_hits([hit for hit in hits if hit.name not in unseen], policy)


def _parts(why: FinalExplanation) -> dict[str, Any]:
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
