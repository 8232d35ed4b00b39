"""The share of an entity's mail that is bad, as far as the amount of mail can tell.

    bad, good    as in `oborona.reputation.evidence`, of sums in which the old is worth less
                 (`oborona.reputation.timeline`)
    good         of the last 24 hours is worth a quarter (UNRIPE): most of it nobody has read yet,
                 so that nobody can have complained.  Bad evidence ages a little faster, so that all
                 in all a steady share is told as what it is

    value        share: the mean of the Beta posterior, 0 to 1; nothing known gives 0.5
    confidence   (bad + good) / (bad + good + 4)

Those around it (network, domain) are the prior, where they are worse than ignorance: bad neighbours
make a newcomer suspect, good ones make nobody good.
"""

from __future__ import annotations

from typing import Final

from oborona.reputation.evidence import PRIOR, ReportWeight, SpamEvidence, mean
from oborona.reputation.judgement.model import HistoryMeasure
from oborona.reputation.judgement.phrases import some
from oborona.reputation.timeline import EntityHistory, TimelineBucket

BAD_TO_GOOD: Final = 4.0  # by weight
UNRIPE: Final = 0.25  # of a good message that came within the last 24 hours


def evidence(past: EntityHistory) -> SpamEvidence:
    """Return what speaks against an entity, and for it."""
    sums = past.weighed
    passed = past.older.passed + recent_good(past)
    return SpamEvidence(
        bad=max(0.0, sums.spam - sums.pardons)
        + ReportWeight.COMPLAINT * sums.complaints
        + ReportWeight.TRAP * sums.traps,
        good=max(0.0, passed - sums.complaints - sums.traps) + ReportWeight.PARDON * sums.pardons,
    )


def recent_good(past: EntityHistory) -> float:
    """Return what the good mail of the last 24 hours is worth."""
    return UNRIPE * max(0, past.day.seen - past.day.spam)


def settled_good(past: EntityHistory) -> float:
    """Return what older good mail is worth, and what people took out of the spam folder."""
    sums = past.weighed
    passed = past.older.passed - sums.complaints - sums.traps
    return max(0.0, passed) + ReportWeight.PARDON * sums.pardons


def mostly_bad(past: EntityHistory, own: SpamEvidence) -> bool:
    """Tell whether bad mail outweighs the good four times, and is no less of it by number: one
    message may be judged, complained of and trapped.
    """
    sums = past.weighed
    messages = max(sums.spam - sums.pardons, sums.complaints, sums.traps)
    fine = sums.passed - sums.complaints - sums.traps
    return own.bad > 0 and own.bad >= BAD_TO_GOOD * own.good and messages >= fine


def surrounding_evidence(own: SpamEvidence, around: EntityHistory | None) -> SpamEvidence:
    """Return the evidence on those around an entity, itself left out."""
    if around is None:
        return SpamEvidence()
    every = evidence(around)
    return SpamEvidence(max(0.0, every.bad - own.bad), max(0.0, every.good - own.good))


def prior_share(beside: SpamEvidence) -> float:
    """Return the share that the surroundings make likely, never below ignorance."""
    return max(0.5, mean(beside))


def measure(past: EntityHistory, around: EntityHistory | None = None) -> HistoryMeasure:
    """Return the expected share of bad mail.

    Args:
        past: of the entity.
        around: of what lies around it, its own included.
    """
    own = evidence(past)
    prior = prior_share(surrounding_evidence(own, around))
    say = _describe(past.fortnight)
    if around is not None and prior > 0.5:
        street = around.fortnight
        phrase = _describe(street)
        say = f"{say}; its neighbours: {phrase}" if say else f"its neighbours: {phrase}"
    return HistoryMeasure("share", mean(own, prior), own.known / (own.known + PRIOR), say)


def _describe(counts: TimelineBucket) -> str:
    parts = []
    if counts.spam:
        parts.append(f"{counts.spam:,} of {counts.seen:,} were spam")
    elif counts.seen:
        parts.append(
            f"none of {counts.seen:,} was spam" if counts.seen > 1 else "1 message, no spam"
        )
    for number, noun in ((counts.traps, "traps"), (counts.pardons, "not-spam reports")):
        if number:
            parts.append(some(number, noun))
    return ", ".join(parts)
