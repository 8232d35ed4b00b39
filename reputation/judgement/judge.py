"""What is to be expected of an entity: trust points and a flag, from all measures of its time-line.

For it, up to 100 points, all of them times `clean`:

    share        30        of knowing so much good mail: good / (good + 10), where today's good mail
                 counts no more than older good mail and 5
    age          40        times that; all of it at a mean age of 4 days
    readers      30        times that; all of it when 3 of 10 messages are read
    clean                  1 at a share of bad mail of 5 %, 0 at 20 %; and 1 at a complaint rate of
                           0.1 %, 0 at 0.3 %
    steady                 half of these points for good mail on one day, all for three days
    breadth                half of these points for who writes to one recipient, all for who reaches
                           five a day

Against it:

    share        100       from the least share of bad mail to be expected of nobody known, 0.053,
                 to a least share of 1; of that 50 by its neighbours at most
    complaints   60        from a rate of 0.5 % to 1.5 %
    change       25        from 3 times the usual to 60 times, by equal steps for equal ratios
    contact      20        from half of its readers strangers to all of them, times confidence
    readers      25        from half of what is known deleted unread to all of it

The sum is the trust, -100 to 100, and the flag where it lies:

    bad   <= -75 < poor <= -45 < unknown < 50 <= good

Nobody is bad whose bad mail weighs less than four times the good, or is fewer messages than that:
such a trust stops at -74.

Monotone: one more spam, complaint or trap hit never raises the trust, one more pardon or read never
lowers it, whatever happened before.  So all that speaks for an entity is made of good mail, usual
is what was good, and how regular its rhythm is has no points.

The way back.  Bad evidence halves every two and a half days and is gone after two weeks.  Who sent
bad mail on one day, of the weight of so many days of his good mail, and before and since good mail
alone, is that many days later

    weight of the bad day     3    10    20    50    days of good mail
    not bad any more          0     0     2     5
    not poor any more         1     4     6     9
    good again                8    13    14    14

and who falls silent instead stays bad until the weight, halved every two and a half days, is about
15 messages; two weeks at most.  Verdicts of ours are evidence: a filter's mistake lasts as long.
"""

from __future__ import annotations

from math import log
from typing import Final

from oborona.reputation.evidence import SpamEvidence, least
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.judgement import (
    age,
    breadth,
    change,
    complaints,
    first_contact,
    readership,
    rhythm,
    share,
    steadiness,
)
from oborona.reputation.judgement.model import EntityJudgement, HistoryMeasure
from oborona.reputation.timeline import EntityHistory

# How a value becomes a part of one: 0 up to a line, 1 from another line on, straight or by its
# logarithm between them.


def ramp(value: float, start: float, full: float) -> float:
    """Return 0 at `start` to 1 at `full`, straight between them."""
    return min(1.0, max(0.0, (value - start) / (full - start)))


def steps(value: float, start: float, full: float) -> float:
    """Return 0 at `start` to 1 at `full`, equal steps for equal ratios; both above 0."""
    return 0.0 if value <= start else min(1.0, log(value / start) / log(full / start))


BAD: Final = -75.0  # points; at or below it
POOR: Final = -45.0
GOOD: Final = 50.0
NOT_BAD: Final = BAD + 1  # whose bad mail is not most of it

KNOWN: Final = 30.0  # points for it
AGE: Final = 40.0
READ: Final = 30.0
HALF_KNOWN: Final = 10.0  # good messages
UNTRIED: Final = 5.0  # good messages of the last day that count without older ones
OLD_ENOUGH: Final = 4.0  # days of mean age
WELL_READ: Final = 0.3  # share
CLEAN, UNCLEAN = 0.05, 0.2  # share of bad mail
LIKED, DISLIKED = 0.001, 0.003  # complaint rate (Google, Email sender guidelines)
AT_ONCE: Final = 0.5  # of its points, for good mail on one day
OFTEN: Final = 3  # days
NARROW: Final = 0.5  # of its points, for who writes to one recipient
BROAD: Final = 5.0  # recipients a day

NEIGHBOURS: Final = 50.0  # points against it: at most, for what is around it
COMPLAINTS, HATED_FROM, HATED = 60.0, 0.005, 0.015
CHANGE, CHANGED_FROM, CHANGED = 25.0, 3.0, 60.0  # times
CONTACT, STRANGERS = 20.0, 0.5
THROWN_AWAY, UNREAD = 25.0, 0.5

TOLD: Final = 1.0  # points
ALWAYS_TOLD: Final = frozenset({"share", "complaints", "rhythm"})

_IGNORANCE: Final = least(SpamEvidence())


def judge(past: EntityHistory, around: EntityHistory | None = None) -> EntityJudgement:
    """Return what is to be expected of an address, a sender or another entity.

    Args:
        past: its time-line; of nothing, 0 points.
        around: of the network, domain or AS that it lies in, its own mail included; None where
            there is none.
    """
    return _judge_alone(past, past, around)


def judge_sender(past: EntityHistory, around: EntityHistory | None = None) -> EntityJudgement:
    """Return what is to be expected of who sends the message in hand: the good mail of the last 24
    hours may be the same message, and says nothing of him.

    How much he sends, how old that is, to how many strangers, and who complains of it is asked of
    all his mail.

    Args:
        past: his time-line.
        around: as of `judge`.
    """
    return _judge_alone(past, past.settled, None if around is None else around.settled)


def _judge_alone(
    whole: EntityHistory, past: EntityHistory, around: EntityHistory | None
) -> EntityJudgement:
    own = share.evidence(past)
    beside = share.surrounding_evidence(own, around)
    against = _against(own, beside)
    by_name = {
        measure.name: measure
        for measure in (
            share.measure(past, around),
            complaints.measure(whole),
            change.measure(whole),
            first_contact.measure(whole),
            readership.measure(whole),
            age.measure(whole),
            steadiness.measure(past),
            breadth.measure(past),
            rhythm.measure(whole),
        )
    }
    rate = by_name["complaints"].value
    clean = _clean(own) * (1 - ramp(rate, LIKED, DISLIKED))
    earned = clean * _confidence(past)
    known, old = KNOWN * earned, AGE * earned * ramp(by_name["age"].value, 0, OLD_ENOUGH)
    read = READ * earned * ramp(by_name["readers"].value, 0, WELL_READ)
    lasting = 1 - (1 - AT_ONCE) * (1 - ramp(by_name["steady"].value, 1, OFTEN))
    wide = (
        1 - (1 - NARROW) * (1 - ramp(by_name["breadth"].value, 1, BROAD))
        if by_name["breadth"].value
        else 1.0
    )
    points = {
        "share": known - against,
        "complaints": -COMPLAINTS * ramp(rate, HATED_FROM, HATED),
        "change": -CHANGE * steps(by_name["change"].value, CHANGED_FROM, CHANGED),
        "contact": -CONTACT
        * ramp(by_name["contact"].value, STRANGERS, 1)
        * by_name["contact"].confidence,
        "readers": read - THROWN_AWAY * ramp(readership.deleted_unread_share(whole), UNREAD, 1),
        "age": old,
        "steady": -(1 - lasting) * (known + old + read),
        "breadth": -lasting * (1 - wide) * (known + old + read),
    }
    trust = max(-100.0, min(100.0, sum(points.values())))
    if not share.mostly_bad(past, own):
        trust = max(trust, NOT_BAD)
    measures = tuple(
        HistoryMeasure(
            measure.name,
            measure.value,
            measure.confidence,
            measure.say,
            points.get(measure.name, 0.0) + 0.0,
        )
        for measure in by_name.values()
    )
    return EntityJudgement(_flag(trust), trust, measures, _say(measures))


def _against(own: SpamEvidence, beside: SpamEvidence) -> float:
    """Points against it for the least share of bad mail that is to be expected."""
    alone = least(own)
    among = least(own, share.prior_share(beside))
    return max(_evidence_share(alone), min(NEIGHBOURS, _evidence_share(among)))


def _evidence_share(lowest: float) -> float:
    return 100 * max(0.0, lowest - _IGNORANCE) / (1 - _IGNORANCE)


def _clean(own: SpamEvidence) -> float:
    return 1 - ramp(own.bad / own.known, CLEAN, UNCLEAN) if own.known else 0.0


def _confidence(past: EntityHistory) -> float:
    """How much good mail is known, 0 to 1."""
    tried = share.settled_good(past)
    good = tried + min(share.recent_good(past), tried + UNTRIED)
    return good / (good + HALF_KNOWN)


def _flag(trust: float) -> ReputationFlag:
    if trust <= BAD:
        return ReputationFlag.BAD
    if trust <= POOR:
        return ReputationFlag.POOR
    return ReputationFlag.GOOD if trust >= GOOD else ReputationFlag.UNKNOWN


def _say(measures: tuple[HistoryMeasure, ...]) -> str:
    """The evidence in words, the weightiest first; what had no part in it is left out."""
    measures_to_tell = (
        measure
        for measure in measures
        if measure.say and (abs(measure.points) >= TOLD or measure.name in ALWAYS_TOLD)
    )
    return "; ".join(
        measure.say
        for measure in sorted(measures_to_tell, key=lambda measure: -abs(measure.points))
    )
