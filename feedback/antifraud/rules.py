"""Reasons not to believe an event, each with a name.  One that fires is enough; all that fire are named.

A rule looks at the event itself (`event_rules`), at its person (`person_rules`), or at all that was said of the campaign (`campaign_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from oborona.feedback.antifraud import campaign_rules, event_rules, person_rules
from oborona.feedback.antifraud.model import Circumstances


class Rule(NamedTuple):
    """A reason not to believe."""

    name: str
    fires: Callable[[Circumstances], str]  # the evidence in words; empty: it does not fire
    about: str  # what is not believed, for people


RULES: Final = (
    Rule("DUPLICATE", event_rules.duplicate, "the same person says the same of the same message again"),
    Rule("UNSIGNED", event_rules.unsigned, "the message has no signature of ours, or the journal does not know it"),
    Rule("NOT_RECIPIENT", event_rules.not_recipient, "the person is not among those the message was for"),
    Rule("LATE", event_rules.late, "the message is older than two weeks"),
    Rule("WITHDRAWN", event_rules.withdrawn, "a pardon of what the person alone had complained of: the complaint is taken back, no more"),
    Rule("ABNORMAL", person_rules.abnormal, "the person complains, or pardons, more often today than nearly anybody does"),
    Rule("UNRELIABLE", person_rules.unreliable, "the person was wrong too often"),
    Rule("NO_PAST", person_rules.no_past, "a pardon of a person who did nothing here before the last two weeks"),
    Rule("ONLY_PARDONS", person_rules.only_pardons, "the fourth pardon, and further ones, of a person who never complained"),
    Rule("REPEATED", campaign_rules.repeated, "the person has spoken of another message of this campaign"),
    Rule("ASKED_FOR", campaign_rules.asked_for, "a complaint about mail that the person asked for, when few others complain"),
    Rule("ENOUGH", campaign_rules.enough, "a complaint of a person without a past, or a pardon of one who is not proven, when twenty or thirty like it are believed already"),
    Rule("TRAPPED", campaign_rules.trapped, "a pardon of what came to traps, too"),
    Rule("CONTESTED", campaign_rules.contested, "a pardon that goes beyond what may be said against complaints which are believed"),
    Rule("BRIGADE", campaign_rules.brigade, "many speak as one: pardons in a burst against complaints, or of accounts that never complained; complaints of strangers where proven people pardon"),
)  # fmt: skip
NAMES: Final = frozenset(rule.name for rule in RULES)
ANYBODY: Final = frozenset(("UNSIGNED", "NOT_RECIPIENT"))
"""Where one of these fires, somebody else may have spoken: no person is right or wrong for it."""
