"""The verdict by the counters' memory of a client's address alone, as a part of a verdict."""

from __future__ import annotations

from typing import Final

from oborona.policy.counts import MessageCounts
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_own
from oborona.reputation.flag import ReputationFlag
from oborona.types import Envelope, RuleHit

REPIP_BAD: Final = "REPIP_BAD"
REPIP_POOR: Final = "REPIP_POOR"


def refusal(
    counts: MessageCounts, envelope: Envelope, policy: Policy, *, young: bool = False
) -> RuleHit | None:
    """Return what refuses a client with a bad history, where the policy wants that.

    None for any other.

    Args:
        counts: its counts.
        envelope: as far as it is known.
        policy: in force.
        young: memory is (`oborona.policy.memory_age`): then an analyst's word alone refuses.
    """
    if policy.repip.bad != "reject" or is_own(envelope) or (young and counts.pinned is None):
        return None
    repip = counts.repip()
    if repip.flag is not ReputationFlag.BAD:
        return None
    return RuleHit(name=REPIP_BAD, score=policy.verdict.reject_score, say=repip.say)
