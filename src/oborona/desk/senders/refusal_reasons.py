"""Why mail was refused, by kinds: what a sender may mend, and nothing that teaches who sends spam.

What decided has its kind first.  Of the other rules that spoke against it those alone count whose
cause a sender can mend: lists, proofs of the sender, names.  No rule, score or list is named, and
what tells of traps or of a recipient's own list is "content", as most is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from oborona.feedback.cases.appeals import RefusalReason
from oborona.policy.decision import PARTIAL
from oborona.policy.greylist import GREYLISTED
from oborona.policy.history import REPIP_BAD, REPIP_POOR
from oborona.policy.load import Policy
from oborona.session.account_refusal import ACCOUNT_BANNED, ACCOUNT_LIMITED
from oborona.session.refusals import TOO_BUSY, TOO_MANY, UNANSWERED
from oborona.session.replies import TOO_MANY_HEADERS
from oborona.types import RuleHit, RuleMode

OF_OURS: Final = {
    GREYLISTED: RefusalReason.GREYLISTED,
    TOO_BUSY: RefusalReason.BUSY,
    TOO_MANY: RefusalReason.BUSY,
    UNANSWERED: RefusalReason.BUSY,
    PARTIAL: RefusalReason.BUSY,
    ACCOUNT_BANNED: RefusalReason.ACCOUNT,
    ACCOUNT_LIMITED: RefusalReason.ACCOUNT,
    TOO_MANY_HEADERS: RefusalReason.FORM,
    REPIP_BAD: RefusalReason.LISTED,
    REPIP_POOR: RefusalReason.LISTED,
}
"""What decides by a name of ours → kind."""
MENDABLE: Final = (RefusalReason.LISTED, RefusalReason.SENDER, RefusalReason.NAME)
_OF_FACTS: Final = (
    (re.compile(r"\b(?:spf|dkim|dmarc|arc)\."), RefusalReason.SENDER),
    (re.compile(r"\b(?:iprev|helo)\.|\bhelo\b|\bclient\.name\b"), RefusalReason.NAME),
    (re.compile(r"\b(?:repip|karma)\.|\blisted\("), RefusalReason.LISTED),
)
"""Facts that a rule names → kind, the first that it names one of."""


def refusal_reasons(
    decided_by: str, rules: Iterable[RuleHit], policy: Policy | None
) -> tuple[RefusalReason, ...]:
    """Return kinds of reasons, at least one, that of what decided first.

    Args:
        decided_by: what did.
        rules: that fired.
        policy: in force; None = it can't be read.
    """
    names = _names(policy)
    first = OF_OURS.get(decided_by) or names.get(decided_by, RefusalReason.CONTENT)
    against = [hit.name for hit in rules if hit.mode is RuleMode.LIVE and hit.score > 0]
    others = {names[name] for name in against if name in names}
    if first in (RefusalReason.GREYLISTED, RefusalReason.BUSY, RefusalReason.ACCOUNT):
        return (first,)
    return (first, *(kind for kind in MENDABLE if kind in others and kind is not first))


def _names(policy: Policy | None) -> dict[str, RefusalReason]:
    """Return the kinds of all that a policy may decide by, but what says nothing of its cause."""
    if policy is None:
        return {}
    kinds = dict[str, RefusalReason]()
    for rule in policy.rules:
        kind = next((kind for facts, kind in _OF_FACTS if facts.search(rule.when)), None)
        if kind is not None and rule.name not in policy.private:
            kinds[rule.name] = kind
    kinds |= {one.name: RefusalReason.LISTED for one in policy.dns_lists}
    kinds |= {one.name: RefusalReason.SITE_LIST for one in policy.local_lists.lists}
    kinds |= {one.name: RefusalReason.LIMIT for one in policy.limits}
    return kinds
