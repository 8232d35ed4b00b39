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
from oborona.feedback.antifraud.believe import of_the_site
from oborona.feedback.antifraud.campaign_rules import (
    AGAINST,
    BALANCE,
    BURST,
    BURST_S,
    CONTEST,
    KNOWN_SHARE,
    SLACK,
)
from oborona.feedback.antifraud.model import Told
from oborona.feedback.antifraud.outcome import Truth, latest, truth
from oborona.feedback.events.model import What


def revise(events: Sequence[Told]) -> list[int]:
    """Return the ids of believed events that are not to be believed any more, in ascending order.

    Asked again without them it returns nothing.

    Args:
        events: of one campaign, in any order, those that are not believed among them.
    """
    known = truth(events)
    traps = any(one.what is What.TRAP for one in events)
    people = [
        one for one in events if one.believed and not of_the_site(one.what, one.way, one.person)
    ]
    gone = {one.id for one in people if _settled(one, known, traps)}
    complaints = [one for one in people if one.what is What.COMPLAINT and one.id not in gone]
    pardons = [one for one in people if one.what is What.PARDON and one.id not in gone]
    if known.what is None:
        strangers = _strangers(complaints, pardons)
        gone |= strangers
        complaints = [one for one in complaints if one.id not in strangers]
        if sum(one.record.weight for one in complaints) >= CONTEST - SLACK:
            burst = _burst(events)
            gone |= {one.id for one in pardons if one.person in burst}
            gone |= _contested(complaints, [one for one in pardons if one.person not in burst])
    return sorted(gone)


def _settled(one: Told, known: Truth, traps: bool) -> bool:
    if one.what is What.PARDON and ((traps and not known.by_site) or known.what is What.COMPLAINT):
        return True
    if one.what is What.COMPLAINT and known.what is What.PARDON:
        return known.by_site or standing.young(one.record, one.time)
    agrees = known.what is one.what
    return (
        one.what in (What.COMPLAINT, What.PARDON)
        and one.record.weight < standing.LEAST
        and not agrees
    )


def _strangers(complaints: Sequence[Told], pardons: Sequence[Told]) -> set[int]:
    proven = sum(one.record.weight for one in pardons if standing.proven(one.record, one.time))
    known = sum(one.record.weight for one in complaints if not standing.young(one.record, one.time))
    strangers = [one for one in complaints if standing.young(one.record, one.time)]
    weight = sum(one.record.weight for one in strangers)
    if proven < max(AGAINST, weight) - SLACK or known >= KNOWN_SHARE * proven - SLACK:
        return set()
    return {one.id for one in strangers}


def _burst(events: Sequence[Told]) -> set[str]:
    """Return the known persons who pardon as one."""
    said = [
        one
        for one in latest(events)
        if one.what is What.PARDON and not standing.young(one.record, one.time)
    ]
    found: set[str] = set()
    for start in range(len(said) - BURST + 1):
        some = said[start : start + BURST]
        if some[-1].time - some[0].time < BURST * BURST_S:
            found.update(one.person for one in some)
    return found


def _contested(complaints: Sequence[Told], pardons: Sequence[Told]) -> set[int]:
    """Return the pardons that go beyond what may be said against complaints, as of
    `campaign_rules.contested`.
    """
    against = sum(one.record.weight for one in complaints)
    known = sum(one.record.weight for one in complaints if not standing.young(one.record, one.time))
    by_known = known >= KNOWN_SHARE * against - SLACK
    gone, said = set(), {True: 0.0, False: 0.0}
    for one in sorted(pardons, key=lambda one: (one.time, one.id)):
        proven = standing.proven(one.record, one.time)
        refused = not proven and (by_known or standing.only_pardons(one.record))
        most = (1.0 if proven else BALANCE) * against + SLACK
        unlimited = proven and not by_known
        if refused or (not unlimited and said[proven] + one.record.weight > most):
            gone.add(one.id)
        else:
            said[proven] += one.record.weight
    return gone
