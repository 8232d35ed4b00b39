"""The rules that refuse a report, each with a name.  One is enough; all that fire are named.

A rule looks at the event itself (`event_rules`), at its person (`person_rules`), or at all events
of the campaign (`campaign_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from oborona.feedback.antifraud import campaign_rules, event_rules, person_rules
from oborona.feedback.antifraud.model import EventCircumstances


class AntifraudRule(NamedTuple):
    """A reason to refuse a report."""

    name: str
    fires: Callable[[EventCircumstances], str]  # the evidence in words; empty: it does not fire
    about: str  # what is not believed, for people


RULES: Final = (
    AntifraudRule("DUPLICATE", event_rules.duplicate, "the person reported the same of the same message before"),
    AntifraudRule("UNSIGNED", event_rules.unsigned, ("X-Mras-Id of the message is not signed by "
        "us, or the "
        "journal does not have the "
        "message")),
    AntifraudRule("NOT_RECIPIENT", event_rules.not_recipient, "the person is not among the message's recipients"),
    AntifraudRule("LATE", event_rules.late, "the message is older than two weeks"),
    AntifraudRule("WITHDRAWN", event_rules.withdrawn, ("a not-spam report of what this person "
        "alone had "
        "reported as spam: the spam report is "
        "taken back, no more")),
    AntifraudRule("ABNORMAL", person_rules.abnormal, "the person reports more today than nearly anybody does"),
    AntifraudRule("UNRELIABLE", person_rules.unreliable, "too many earlier reports of the person were wrong"),
    AntifraudRule("NO_PAST", person_rules.no_past, "a not-spam report of a person who is known for less than two weeks"),
    AntifraudRule("ONLY_PARDONS", person_rules.only_pardons, "the fourth not-spam report, and further ones, of a person who never reported spam"),
    AntifraudRule("REPEATED", campaign_rules.repeated, "the person reported another message of this campaign"),
    AntifraudRule("ASKED_FOR", campaign_rules.asked_for, "a spam report of mail that the person asked for, when few others report it"),
    AntifraudRule("ENOUGH", campaign_rules.enough_newcomers, ("a spam report of a person without "
        "a past, or a "
        "not-spam report of one who is not "
        "proven, when twenty or thirty like it were accepted")),
    AntifraudRule("TRAPPED", campaign_rules.trapped, "a not-spam report of what came to spam traps, too"),
    AntifraudRule("CONTESTED", campaign_rules.contested, "a not-spam report that exceeds what accepted spam reports allow against them"),
    AntifraudRule("BRIGADE", campaign_rules.brigade, ("many report as one: not-spam reports in a "
        "burst "
        "against spam reports, or of accounts "
        "that never reported spam; spam reports of strangers where proven people report not "
        "spam")),
)  # fmt: skip
NAMES: Final = frozenset(rule.name for rule in RULES)
ANYBODY: Final = frozenset(("UNSIGNED", "NOT_RECIPIENT"))
"""Where one of these fires, somebody else may have spoken: no person is right or wrong for it."""
