"""Rules that look at all reports of a campaign.

Robots that join a campaign must not silence trusted people.  So sums of accepted reports decide,
and strangers' reports beside them change nothing for known people.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.antifraud import standing
from oborona.feedback.antifraud.model import NEWCOMER, EventCircumstances
from oborona.feedback.events.model import EventKind

OF_NOBODY: Final = 3  # reports without a person, of one campaign, that are believed
# weight of others who complain: a friend's account was broken into
ASKED_MOST: Final = 5 * NEWCOMER
ENOUGH_COMPLAINTS: Final = 20 * NEWCOMER  # weight, from which on strangers add nothing
ENOUGH_PARDONS: Final = 30 * NEWCOMER  # weight, from which on those who are not proven add nothing
CONTEST: Final = 3 * NEWCOMER  # weight of complaints that are no accident
# of that weight, by persons who are known: then these are no strangers
KNOWN_SHARE: Final = 0.2
# of the weight of strangers' complaints, that known people may say against them
BALANCE: Final = 0.5
MANY: Final = 10  # pardoners, of whom a share can be told
ONLY_SHARE: Final = 0.8  # of them, who never complained
# known persons who pardon what others complain of: colleagues would not also complain
BURST: Final = 10
# apart, on average: people look into their spam folders one by one, over the day
BURST_S: Final = 60.0
AGAINST: Final = 2 * standing.PROVEN  # weight of proven people who pardon: two of them
SLACK: Final = 1e-9  # sums of weights are not exact


def repeated(c: EventCircumstances) -> str:
    """One person counts once in a campaign, so that no person makes one spam for all."""
    if c.what not in (EventKind.COMPLAINT, EventKind.PARDON) or c.repeated < (
        1 if c.person else OF_NOBODY
    ):
        return ""
    return "reported this campaign before"


def asked_for(c: EventCircumstances) -> str:
    """A complaint instead of unsubscribing, or by a slip; many complaints are neither."""
    others = c.campaign
    if c.what is not EventKind.COMPLAINT or not c.asked_for or others.traps:
        return ""
    return (
        "the person wanted mail of this sender"
        if others.believed_complaint_weight + SLACK < ASKED_MOST
        else ""
    )


def enough_newcomers(c: EventCircumstances) -> str:
    """Any number of people of no standing count no more than some.

    Those who have one go on counting.
    """
    if c.what is EventKind.COMPLAINT and standing.is_newcomer(c.record, c.time):
        weight, most = c.campaign.believed_complaint_weight, ENOUGH_COMPLAINTS
    elif c.what is EventKind.PARDON and not standing.is_proven(c.record, c.time):
        weight, most = c.campaign.believed_pardon_weight, ENOUGH_PARDONS
    else:
        return ""
    return (
        f"{c.what.report}s of weight {weight:.1f} were accepted already"
        if weight + SLACK >= most
        else ""
    )


def trapped(c: EventCircumstances) -> str:
    """Nobody asked for mail to a trap."""
    traps = c.campaign.traps
    return (
        f"it came to {traps} trap{'s' if traps != 1 else ''}"
        if c.what is EventKind.PARDON and traps
        else ""
    )


def contested(c: EventCircumstances) -> str:
    """Complaints stand against a pardon.

    By strangers alone: who is proven may say no, and who is known and has complained, up to half of
    their weight. By known people, too: only who is proven, up to their weight; the rest is for the
    site to say.
    """
    others, proven = c.campaign, standing.is_proven(c.record, c.time)
    against = others.believed_complaint_weight
    if c.what is not EventKind.PARDON or against < CONTEST - SLACK:
        return ""
    by_known = others.known_complaint_weight >= KNOWN_SHARE * against - SLACK
    if proven and not by_known:
        return ""
    if not proven and (by_known or standing.only_pardons(c.record)):
        return f"spam reports of weight {against:.1f} against it"
    weight, most = others.proven_pardon_weight, against
    if not proven:
        weight, most = others.believed_pardon_weight - weight, BALANCE * against
    if weight + c.record.weight > most + SLACK:
        return f"not-spam reports of weight {weight:.1f} already, against spam reports of {against:.1f}"
    return ""


def brigade(c: EventCircumstances) -> str:
    """Many accounts with one will."""
    if c.what is EventKind.PARDON:
        return _pardons(c)
    return _complaints(c) if c.what is EventKind.COMPLAINT else ""


def _pardons(c: EventCircumstances) -> str:
    others = c.campaign
    known_pardoners = others.pardoners - others.young_pardoners
    against = others.believed_complaint_weight >= CONTEST - SLACK
    if (
        against
        and known_pardoners + 1 >= BURST
        and c.time - others.first_pardon < known_pardoners * BURST_S
    ):
        return f"{known_pardoners} not-spam reports in {max(0.0, c.time - others.first_pardon) / 60:.0f} minutes"
    many = others.pardoners >= MANY and others.only_pardoners >= ONLY_SHARE * others.pardoners
    if many and standing.only_pardons(c.record):
        return (
            f"{others.only_pardoners} of {others.pardoners} who report not spam never reported spam"
        )
    return ""


def _complaints(c: EventCircumstances) -> str:
    others, proven = c.campaign, c.campaign.proven_pardon_weight
    if others.traps or not standing.is_newcomer(c.record, c.time):
        return ""
    if proven < max(AGAINST, others.believed_complaint_weight) - SLACK:
        return ""
    if others.known_complaint_weight >= KNOWN_SHARE * proven - SLACK:
        return ""
    return "proven people report it as not spam, strangers as spam"
