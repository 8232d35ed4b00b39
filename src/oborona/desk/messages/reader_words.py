"""Why a message was kept from a reader, in words for readers: no rules, scores or lists, which
would teach who sends spam.
"""

from __future__ import annotations

from typing import Final

from oborona.journal.refusal import Told
from oborona.journal.search_hit import SearchHit
from oborona.policy.load import Policy
from oborona.types import Action, RuleMode

AGAIN: Final = "its mail server was asked to come again later"
AT_THE_DOOR: Final = "its mail server is known for sending unwanted mail"
NOT_ACCEPTED: Final = "it was not accepted for your address"
OF_GROUPS: Final = {
    "MASS": "it looks like a mass mailing",
    "PHISHING": "it looks like an attempt to get at passwords or money",
    "SENDER": "its sender could not be confirmed",
    "BROKEN": "it is built as programs for unwanted mail build it",
    "STYLE": "it is written as unwanted mail is",
}
"""Groups of the rules that ship → words."""
OTHERWISE: Final = "it looks like unwanted mail"


def because(hit: SearchHit, policy: Policy | None) -> str:
    """Return why a message, or who sent it, was kept away.

    Args:
        hit: what was found.
        policy: with words of rules for readers, and their groups; None = it can't be read.
    """
    if hit.verdict is Action.TEMPFAIL:
        return AGAIN
    if hit.head:
        return NOT_ACCEPTED if hit.told is Told.RECIPIENT and not hit.score else AT_THE_DOOR
    if policy is None:
        return OTHERWISE
    for rule in sorted(hit.rules, key=lambda one: -one.score):
        live = rule.mode is RuleMode.LIVE and rule.score > 0
        if live and rule.name not in policy.private:
            said = next((one.reader for one in policy.rules if one.name == rule.name), "")
            group = policy.groups.members.get(rule.name, "")
            return said or OF_GROUPS.get(group, OTHERWISE)
    return OTHERWISE
