"""The rules that refuse a report, each with a name.  One is enough; all that fire are named.

A rule looks at the event itself (`event_rules`), at its person (`person_rules`), or at all events
of the campaign (`campaign_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from oborona.feedback.antifraud import campaign_rules, standing
from oborona.feedback.antifraud.model import EventCircumstances
from oborona.feedback.antifraud.standing import DAY_S
from oborona.feedback.antifraud.thresholds import FLOORS
from oborona.feedback.events.model import EventKind
from oborona.types import Action

# Rules that look at the reporter.

# pardons; who finds three good messages among spam may well have found no spam among good ones
ONLY_FROM: Final = 3
# a proven person may complain so many times as often as others: somebody keeps the mailbox of a
# whole office clean
PROVEN_SHARE: Final = 3.0


def abnormal(c: EventCircumstances) -> str:
    """The person speaks more often than nearly anybody did yesterday."""
    limits = c.thresholds or FLOORS
    if c.what is EventKind.COMPLAINT:
        today, limit = c.record.complaints_today + 1, limits.complaints
        if standing.is_proven(c.record, c.time):
            limit *= PROVEN_SHARE
    elif c.what is EventKind.PARDON:
        today, limit = c.record.pardons_today + 1, limits.pardons
    else:
        return ""
    return f"number {today} today, {limit:.0f} are usual at most" if today > limit else ""


def unreliable(c: EventCircumstances) -> str:
    """The person was wrong too often, or caught by event logs."""
    if c.record.weight >= standing.LEAST:
        return ""
    caught = f", caught on {c.record.caught} days" * bool(c.record.caught)
    return f"wrong {c.record.wrong:.0f} times, right {c.record.right:.0f}{caught}"


def no_past(c: EventCircumstances) -> str:
    """A pardon of a person nobody knows: accounts are bought by the hundred, and spam in the spam
    folder harms nobody.
    """
    if c.what is not EventKind.PARDON or not standing.is_newcomer(c.record, c.time):
        return ""
    if not c.record.first:
        return "nothing known of the person"
    return f"known for {(c.time - c.record.first) / standing.DAY_S:.0f} days"


def only_pardons(c: EventCircumstances) -> str:
    """A pardon of a person who pardons again and again, and never complained."""
    if (
        c.what is not EventKind.PARDON
        or c.record.pardons < ONLY_FROM
        or not standing.only_pardons(c.record)
    ):
        return ""
    return f"{c.record.pardons} not-spam reports before, no spam report"


# Rules that look at the event itself.

LATE_S: Final = (
    14 * DAY_S
)  # counters remember no longer, and what was sent before says nothing of what is sent now


def duplicate(c: EventCircumstances) -> str:
    """The same person says the same of the same message again."""
    return "said before" if c.earlier is c.what else ""


def unsigned(c: EventCircumstances) -> str:
    """Nothing shows that the message came through here: anybody may have written it."""
    return "" if c.signed else "no signature of ours"


def not_recipient(c: EventCircumstances) -> str:
    """The message was for others; its signature was handed around."""
    return "it was for others" if c.signed and c.person and not c.recipient else ""


def late(c: EventCircumstances) -> str:
    """The message is old."""
    age = c.time - c.delivered
    return f"{age / DAY_S:.0f} days after delivery" if c.delivered and age > LATE_S else ""


def withdrawn(c: EventCircumstances) -> str:
    """A person takes their own complaint back; that says nothing for others."""
    own = c.what is EventKind.PARDON and c.earlier is EventKind.COMPLAINT
    return (
        "the person's own complaint is taken back" if own and c.verdict is not Action.SPAM else ""
    )


class AntifraudRule(NamedTuple):
    """A reason to refuse a report."""

    name: str
    fires: Callable[[EventCircumstances], str]  # the evidence in words; empty: it does not fire
    about: str  # what is not believed, for people


RULES: Final = (
    AntifraudRule("DUPLICATE", duplicate, "the person reported the same of the same message before"),
    AntifraudRule("UNSIGNED", unsigned, ("X-Mras-Id of the message is not signed by "
        "us, or the "
        "journal does not have the "
        "message")),
    AntifraudRule("NOT_RECIPIENT", not_recipient, "the person is not among the message's recipients"),
    AntifraudRule("LATE", late, "the message is older than two weeks"),
    AntifraudRule("WITHDRAWN", withdrawn, ("a not-spam report of what this person "
        "alone had "
        "reported as spam: the spam report is "
        "taken back, no more")),
    AntifraudRule("ABNORMAL", abnormal, "the person reports more today than nearly anybody does"),
    AntifraudRule("UNRELIABLE", unreliable, ("too many earlier reports of the person were wrong, or event logs "
        "caught the person on several days")),
    AntifraudRule("NO_PAST", no_past, "a not-spam report of a person who is known for less than two weeks"),
    AntifraudRule("ONLY_PARDONS", only_pardons, "the fourth not-spam report, and further ones, of a person who never reported spam"),
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
