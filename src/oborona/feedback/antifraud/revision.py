"""Withdraws reports that were accepted and would not be with what is known now, exactly.

The order of reports is chance, or a robot's choice.  So each accepted report is checked again
against all reports of its campaign, earlier and later:

    pardons       of trap mail and of proved spam; in a burst, if there are complaints against it;
                  beyond the share of the complaints' weight that pardons may have
    complaints    of strangers, if proven people of as much weight pardon and hardly any known
                  person complains; of anybody, if the site says that it is not spam
    both          of people who were wrong too often since, unless they were right here

No refused report becomes accepted here: the person may repeat it, and others will report.
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
    truth = campaign_truth(events)
    traps = any(event.what is EventKind.TRAP for event in events)
    people = [
        event
        for event in events
        if event.believed and not is_from_site(event.what, event.way, event.person)
    ]
    removed = {event.id for event in people if _settled(event, truth, traps)}
    complaints = [
        event for event in people if event.what is EventKind.COMPLAINT and event.id not in removed
    ]
    pardons = [
        event for event in people if event.what is EventKind.PARDON and event.id not in removed
    ]
    if truth.what is None:
        strangers = _strangers(complaints, pardons)
        removed |= strangers
        complaints = [event for event in complaints if event.id not in strangers]
        if sum(event.record.weight for event in complaints) >= CONTEST - SLACK:
            burst = _burst(events)
            removed |= {event.id for event in pardons if event.person in burst}
            removed |= _contested(
                complaints, [event for event in pardons if event.person not in burst]
            )
    return sorted(removed)


def _settled(event: CampaignEvent, truth: CampaignTruth, traps: bool) -> bool:
    if event.what is EventKind.PARDON and (
        (traps and not truth.by_site) or truth.what is EventKind.COMPLAINT
    ):
        return True
    if event.what is EventKind.COMPLAINT and truth.what is EventKind.PARDON:
        return truth.by_site or standing.is_newcomer(event.record, event.time)
    agrees = truth.what is event.what
    return (
        event.what in (EventKind.COMPLAINT, EventKind.PARDON)
        and event.record.weight < standing.LEAST
        and not agrees
    )


def _strangers(complaints: Sequence[CampaignEvent], pardons: Sequence[CampaignEvent]) -> set[int]:
    proven = sum(
        event.record.weight for event in pardons if standing.is_proven(event.record, event.time)
    )
    known_weight = sum(
        event.record.weight
        for event in complaints
        if not standing.is_newcomer(event.record, event.time)
    )
    strangers = [event for event in complaints if standing.is_newcomer(event.record, event.time)]
    weight = sum(event.record.weight for event in strangers)
    if proven < max(AGAINST, weight) - SLACK or known_weight >= KNOWN_SHARE * proven - SLACK:
        return set()
    return {event.id for event in strangers}


def _burst(events: Sequence[CampaignEvent]) -> set[str]:
    """Return the known persons who pardon as one."""
    pardons = [
        event
        for event in latest_events(events)
        if event.what is EventKind.PARDON and not standing.is_newcomer(event.record, event.time)
    ]
    persons: set[str] = set()
    for start in range(len(pardons) - BURST + 1):
        some = pardons[start : start + BURST]
        if some[-1].time - some[0].time < BURST * BURST_S:
            persons.update(event.person for event in some)
    return persons


def _contested(complaints: Sequence[CampaignEvent], pardons: Sequence[CampaignEvent]) -> set[int]:
    """Return the pardons that go beyond what may be said against complaints, as of
    `campaign_rules.contested`.
    """
    against = sum(event.record.weight for event in complaints)
    known_weight = sum(
        event.record.weight
        for event in complaints
        if not standing.is_newcomer(event.record, event.time)
    )
    by_known = known_weight >= KNOWN_SHARE * against - SLACK
    removed, accepted = set(), {True: 0.0, False: 0.0}
    for event in sorted(pardons, key=lambda event: (event.time, event.id)):
        proven = standing.is_proven(event.record, event.time)
        refused = not proven and (by_known or standing.only_pardons(event.record))
        most = (1.0 if proven else BALANCE) * against + SLACK
        unlimited = proven and not by_known
        if refused or (not unlimited and accepted[proven] + event.record.weight > most):
            removed.add(event.id)
        else:
            accepted[proven] += event.record.weight
    return removed
