"""The outcome of a campaign, spam or not, and who had reported it rightly.

    1. the site's own report    the latest: an admin looked at it
    2. a trap hit               spam
    3. proven people            two or more who agree, with three times the weight of the accepted
                                people who disagree; "not spam" also needs no less than the weight
                                of strangers, and that known people do not contest it

Otherwise the outcome is unknown.  People who are not proven decide nothing, however many they are:
else strangers could make each other trusted.  Nobody is their own witness, and a report of what is
known already earns no trust.
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
    """The outcome of a campaign."""

    what: EventKind | None  # COMPLAINT: spam; PARDON: not spam; None: not known
    since: float = 0.0  # Unix seconds, when it could be known
    by_site: bool = False


def campaign_truth(events: Iterable[CampaignEvent]) -> CampaignTruth:
    """Return what a campaign turned out to be.

    Args:
        events: of the campaign, in any order.
    """
    latest = list(events)
    return _certain(latest) or _Witnesses(latest_events(latest)).truth()


def outcomes(events: Sequence[CampaignEvent]) -> list[PersonOutcome]:
    """Return who was right about a campaign, and who was wrong, as far as it is known.

    Each person once, in order of their names.

    Right is who said so, and was believed, before it was known; wrong is whoever said the opposite
    last.

    Args:
        events: of the campaign, in any order.
    """
    latest = latest_events(events)
    certain, witnesses = _certain(events), _Witnesses(latest)
    judged = []
    for event in latest:
        if not event.person:
            continue
        truth = certain or witnesses.truth(without=event)
        if truth.what is not None and event.what is not truth.what:
            judged.append(PersonOutcome(person=event.person, right=False))
        elif truth.what is not None and event.believed and event.time < truth.since:
            judged.append(PersonOutcome(person=event.person, right=True))
    return sorted(judged, key=lambda outcome: outcome.person)


def latest_events(events: Iterable[CampaignEvent]) -> list[CampaignEvent]:
    """Return the last complaint or pardon of each person, believed ones before others, in the order
    in which they were said.
    """
    last: dict[str, CampaignEvent] = {}
    for event in sorted(events, key=lambda event: (event.believed, event.time, event.id)):
        if event.what in WORDS and not is_from_site(event.what, event.way, event.person):
            last[event.person] = event
    return sorted(last.values(), key=lambda event: (event.time, event.id))


def _certain(events: Sequence[CampaignEvent]) -> CampaignTruth | None:
    """Return what the site itself says, or a trap."""
    ordered = sorted(events, key=lambda event: (event.time, event.id))
    site = [
        event
        for event in ordered
        if is_from_site(event.what, event.way, event.person)
        and event.what in WORDS
        and event.believed  # what an admin takes back is the site's word no more
    ]
    if site:
        return CampaignTruth(site[-1].what, site[-1].time, by_site=True)
    traps = [event.time for event in ordered if event.what is EventKind.TRAP]
    return CampaignTruth(EventKind.COMPLAINT, traps[0]) if traps else None


class _Witnesses:
    """Those who are believed, and their weight.

    Args:
        said: the last word of each person, in order of time.
    """

    def __init__(self, ordered: Sequence[CampaignEvent]) -> None:
        believed = [event for event in ordered if event.believed]
        self._proven = {
            kind: [
                event
                for event in believed
                if event.what is kind and is_proven(event.record, event.time)
            ]
            for kind in WORDS
        }
        self._sums = _Sums(0.0, 0.0, 0.0, 0.0, 0.0)
        for event in believed:
            self._sums = self._sums.plus(event, 1)

    def truth(self, without: CampaignEvent | None = None) -> CampaignTruth:
        """Return what they say, one of them left out."""
        sums = (
            self._sums if without is None or not without.believed else self._sums.plus(without, -1)
        )
        spam, fine = (
            [event.time for event in self._proven[kind][: WITNESSES + 1] if event is not without]
            for kind in WORDS
        )
        if len(spam) >= WITNESSES and sums.proven_complaints >= MAJORITY * sums.pardons - SLACK:
            return CampaignTruth(EventKind.COMPLAINT, spam[WITNESSES - 1])
        known_weight = sums.complaints - sums.strangers
        enough = max(MAJORITY * known_weight, sums.strangers) - SLACK
        if (
            len(fine) >= WITNESSES
            and known_weight < CONTEST - SLACK
            and sums.proven_pardons >= enough
        ):
            return CampaignTruth(EventKind.PARDON, fine[WITNESSES - 1])
        return CampaignTruth(None)


class _Sums(NamedTuple):
    """Weights."""

    complaints: float
    pardons: float
    proven_complaints: float
    proven_pardons: float
    strangers: float  # who complain

    def plus(self, event: CampaignEvent, sign: int) -> _Sums:
        """Return them with one word more, or less."""
        weight, spam = sign * event.record.weight, event.what is EventKind.COMPLAINT
        of_proven = weight * is_proven(event.record, event.time)
        return _Sums(
            self.complaints + weight * spam,
            self.pardons + weight * (not spam),
            self.proven_complaints + of_proven * spam,
            self.proven_pardons + of_proven * (not spam),
            self.strangers + weight * (spam and is_newcomer(event.record, event.time)),
        )
