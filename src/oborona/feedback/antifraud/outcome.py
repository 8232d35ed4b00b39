"""What a campaign turned out to be, and who had said so.

    1. the site's own word, the latest      an admin looked
    2. a trap                               spam
    3. two proven people or more, who agree      what they say, with three times the weight of those
       who are believed and say the opposite;
                                                 that it is not spam also with no less than the
                                                 weight of strangers, and not where known people
                                                 contest it

Else nothing is known.  Persons who are not proven settle nothing, however many they are: else
strangers could make each other trusted.  Nobody is their own witness, and who only says what is
known already is not right for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from oborona.feedback.antifraud.belief import is_from_site
from oborona.feedback.antifraud.campaign_rules import CONTEST, SLACK
from oborona.feedback.antifraud.model import CampaignEvent, PersonOutcome
from oborona.feedback.antifraud.standing import is_newcomer, is_proven
from oborona.feedback.events.model import EventKind

WITNESSES: Final = 2  # proven people
MAJORITY: Final = 3.0  # times the weight of those who say the opposite
WORDS: Final = (EventKind.COMPLAINT, EventKind.PARDON)


class CampaignTruth(NamedTuple):
    """What a campaign turned out to be."""

    what: EventKind | None  # COMPLAINT: spam; PARDON: not spam; None: not known
    since: float = 0.0  # Unix seconds, when it could be known
    by_site: bool = False


def campaign_truth(events: Iterable[CampaignEvent]) -> CampaignTruth:
    """Return what a campaign turned out to be.

    Args:
        events: of the campaign, in any order.
    """
    said = list(events)
    return _certain(said) or _Witnesses(latest_events(said)).truth()


def outcomes(events: Sequence[CampaignEvent]) -> list[PersonOutcome]:
    """Return who was right about a campaign, and who was wrong, as far as it is known.

    Each person once, in order of their names.

    Right is who said so, and was believed, before it was known; wrong is whoever said the opposite
    last.

    Args:
        events: of the campaign, in any order.
    """
    said = latest_events(events)
    certain, witnesses = _certain(events), _Witnesses(said)
    found = []
    for one in said:
        if not one.person:
            continue
        known = certain or witnesses.truth(without=one)
        if known.what is not None and one.what is not known.what:
            found.append(PersonOutcome(person=one.person, right=False))
        elif known.what is not None and one.believed and one.time < known.since:
            found.append(PersonOutcome(person=one.person, right=True))
    return sorted(found, key=lambda one: one.person)


def latest_events(events: Iterable[CampaignEvent]) -> list[CampaignEvent]:
    """Return the last complaint or pardon of each person, believed ones before others, in the order
    in which they were said.
    """
    last: dict[str, CampaignEvent] = {}
    for one in sorted(events, key=lambda one: (one.believed, one.time, one.id)):
        if one.what in WORDS and not is_from_site(one.what, one.way, one.person):
            last[one.person] = one
    return sorted(last.values(), key=lambda one: (one.time, one.id))


def _certain(events: Sequence[CampaignEvent]) -> CampaignTruth | None:
    """Return what the site itself says, or a trap."""
    said = sorted(events, key=lambda one: (one.time, one.id))
    site = [
        one for one in said if is_from_site(one.what, one.way, one.person) and one.what in WORDS
    ]
    if site:
        return CampaignTruth(site[-1].what, site[-1].time, by_site=True)
    traps = [one.time for one in said if one.what is EventKind.TRAP]
    return CampaignTruth(EventKind.COMPLAINT, traps[0]) if traps else None


class _Witnesses:
    """Those who are believed, and their weight.

    Args:
        said: the last word of each person, in order of time.
    """

    def __init__(self, said: Sequence[CampaignEvent]) -> None:
        believed = [one for one in said if one.believed]
        self._proven = {
            what: [one for one in believed if one.what is what and is_proven(one.record, one.time)]
            for what in WORDS
        }
        self._sums = _Sums(0.0, 0.0, 0.0, 0.0, 0.0)
        for one in believed:
            self._sums = self._sums.plus(one, 1)

    def truth(self, without: CampaignEvent | None = None) -> CampaignTruth:
        """Return what they say, one of them left out."""
        sums = (
            self._sums if without is None or not without.believed else self._sums.plus(without, -1)
        )
        spam, fine = (
            [one.time for one in self._proven[what][: WITNESSES + 1] if one is not without]
            for what in WORDS
        )
        if len(spam) >= WITNESSES and sums.proven_complaints >= MAJORITY * sums.pardons - SLACK:
            return CampaignTruth(EventKind.COMPLAINT, spam[WITNESSES - 1])
        known = sums.complaints - sums.strangers
        enough = max(MAJORITY * known, sums.strangers) - SLACK
        if len(fine) >= WITNESSES and known < CONTEST - SLACK and sums.proven_pardons >= enough:
            return CampaignTruth(EventKind.PARDON, fine[WITNESSES - 1])
        return CampaignTruth(None)


class _Sums(NamedTuple):
    """Weights."""

    complaints: float
    pardons: float
    proven_complaints: float
    proven_pardons: float
    strangers: float  # who complain

    def plus(self, one: CampaignEvent, sign: int) -> _Sums:
        """Return them with one word more, or less."""
        weight, spam = sign * one.record.weight, one.what is EventKind.COMPLAINT
        of_proven = weight * is_proven(one.record, one.time)
        return _Sums(
            self.complaints + weight * spam,
            self.pardons + weight * (not spam),
            self.proven_complaints + of_proven * spam,
            self.proven_pardons + of_proven * (not spam),
            self.strangers + weight * (spam and is_newcomer(one.record, one.time)),
        )
