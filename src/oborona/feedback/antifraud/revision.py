"""What was believed, and would not be with what is known now: taken back, exactly.

The order in which people speak is chance, or a robot's choice.  So each word that was believed is
held again to all that was said of its campaign, before and after:

    pardons       of what came to a trap, or turned out to be spam; in a burst, where complaints
                  stand against it; what goes beyond the part that complaints may be answered with
    complaints    of strangers, where proven people of as much weight pardon and hardly any known
                  person complains; of anybody, where the site says that it is not spam
    both          of persons who were wrong too often meanwhile, unless they were right here

Nothing that is not believed becomes believed here: the person may say it again, and others will.
"""

from __future__ import annotations

from collections.abc import Sequence

from oborona.feedback.antifraud import standing
from oborona.feedback.antifraud.belief import is_from_site
from oborona.feedback.antifraud.campaign_rules import (
    AGAINST,
    BALANCE,
    BURST,
    BURST_S,
    CONTEST,
    KNOWN_SHARE,
    SLACK,
)
from oborona.feedback.antifraud.model import CampaignEvent
from oborona.feedback.antifraud.outcome import CampaignTruth, campaign_truth, latest_events
from oborona.feedback.events.model import EventKind


def revise(events: Sequence[CampaignEvent]) -> list[int]:
    """Return the ids of believed events that are not to be believed any more, in ascending order.

    Asked again without them it returns nothing.

    Args:
        events: of one campaign, in any order, those that are not believed among them.
    """
    known = campaign_truth(events)
    traps = any(one.what is EventKind.TRAP for one in events)
    people = [
        one for one in events if one.believed and not is_from_site(one.what, one.way, one.person)
    ]
    gone = {one.id for one in people if _settled(one, known, traps)}
    complaints = [one for one in people if one.what is EventKind.COMPLAINT and one.id not in gone]
    pardons = [one for one in people if one.what is EventKind.PARDON and one.id not in gone]
    if known.what is None:
        strangers = _strangers(complaints, pardons)
        gone |= strangers
        complaints = [one for one in complaints if one.id not in strangers]
        if sum(one.record.weight for one in complaints) >= CONTEST - SLACK:
            burst = _burst(events)
            gone |= {one.id for one in pardons if one.person in burst}
            gone |= _contested(complaints, [one for one in pardons if one.person not in burst])
    return sorted(gone)


def _settled(one: CampaignEvent, known: CampaignTruth, traps: bool) -> bool:
    if one.what is EventKind.PARDON and (
        (traps and not known.by_site) or known.what is EventKind.COMPLAINT
    ):
        return True
    if one.what is EventKind.COMPLAINT and known.what is EventKind.PARDON:
        return known.by_site or standing.is_newcomer(one.record, one.time)
    agrees = known.what is one.what
    return (
        one.what in (EventKind.COMPLAINT, EventKind.PARDON)
        and one.record.weight < standing.LEAST
        and not agrees
    )


def _strangers(complaints: Sequence[CampaignEvent], pardons: Sequence[CampaignEvent]) -> set[int]:
    proven = sum(one.record.weight for one in pardons if standing.is_proven(one.record, one.time))
    known = sum(
        one.record.weight for one in complaints if not standing.is_newcomer(one.record, one.time)
    )
    strangers = [one for one in complaints if standing.is_newcomer(one.record, one.time)]
    weight = sum(one.record.weight for one in strangers)
    if proven < max(AGAINST, weight) - SLACK or known >= KNOWN_SHARE * proven - SLACK:
        return set()
    return {one.id for one in strangers}


def _burst(events: Sequence[CampaignEvent]) -> set[str]:
    """Return the known persons who pardon as one."""
    said = [
        one
        for one in latest_events(events)
        if one.what is EventKind.PARDON and not standing.is_newcomer(one.record, one.time)
    ]
    found: set[str] = set()
    for start in range(len(said) - BURST + 1):
        some = said[start : start + BURST]
        if some[-1].time - some[0].time < BURST * BURST_S:
            found.update(one.person for one in some)
    return found


def _contested(complaints: Sequence[CampaignEvent], pardons: Sequence[CampaignEvent]) -> set[int]:
    """Return the pardons that go beyond what may be said against complaints, as of
    `campaign_rules.contested`.
    """
    against = sum(one.record.weight for one in complaints)
    known = sum(
        one.record.weight for one in complaints if not standing.is_newcomer(one.record, one.time)
    )
    by_known = known >= KNOWN_SHARE * against - SLACK
    gone, said = set(), {True: 0.0, False: 0.0}
    for one in sorted(pardons, key=lambda one: (one.time, one.id)):
        proven = standing.is_proven(one.record, one.time)
        refused = not proven and (by_known or standing.only_pardons(one.record))
        most = (1.0 if proven else BALANCE) * against + SLACK
        unlimited = proven and not by_known
        if refused or (not unlimited and said[proven] + one.record.weight > most):
            gone.add(one.id)
        else:
            said[proven] += one.record.weight
    return gone
