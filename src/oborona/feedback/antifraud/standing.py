"""The trust in a reporter, from newcomer to proven.

    weight = (right + 4 * 0.3) / (right + 3 wrong + 4)      0.3 of a newcomer, 0.72 after 6
    campaigns reported rightly, 0.17 after one wrongly

    young    the person's first action with their mail is less than 14 days ago, or nothing is known
             of them at all
    known    not young
    caught   event logs caught the person on so many days of the last month: each, three at most, is
             worth a campaign wrongly told
    proven   known, the first action 30 days ago or more, and a weight of 0.7

Trust grows slowly and falls quickly, as in Cloudmark's Trust Evaluation System: a person is right
who agrees with people that are trusted already.  Agreement with strangers earns nothing, else
strangers would make each other trusted.

Source: V. Prakash, A. O'Donnell, Fighting Spam with Reputation Systems, ACM Queue 3(9), 2005.
"""

from __future__ import annotations

from typing import Final

from oborona.feedback.antifraud.model import NEWCOMER, PersonRecord

PRIOR: Final = 4.0  # campaigns that ignorance is worth
WRONG: Final = 3.0  # a campaign wrongly told is worth so many rightly told ones
DAY_S: Final = 86_400.0
# who buys accounts uses them sooner; counters forget after the same time
YOUNG_S: Final = 14 * DAY_S
PROVEN_S: Final = 30 * DAY_S
PROVEN: Final = 0.7  # weight; 6 campaigns rightly told, and none wrongly
# days that count of those on which event logs caught a person: three silence who is new, and nobody
# is lost who was right often
MOST_CAUGHT: Final = 3
LEAST: Final = 0.1  # below it nobody listens; 3 campaigns wrongly told, and none rightly


def weight_of(right: float, wrong: float, caught: int = 0) -> float:
    """Return how far a person is believed, above 0 and below 1.

    Args:
        right: campaigns of which the person said what came out, 0 or more.
        wrong: those of which the person said the opposite.
        caught: days of the last month on which event logs caught the person.
    """
    false = wrong + min(caught, MOST_CAUGHT)
    return (right + PRIOR * NEWCOMER) / (right + WRONG * false + PRIOR)


def is_newcomer(record: PersonRecord, at: float) -> bool:
    """Tell whether a person has no past at some time, Unix seconds."""
    return not record.first or at - record.first < YOUNG_S


def only_pardons(record: PersonRecord) -> bool:
    """Tell whether a person never complained, and was never right.

    Of the pardons that Yahoo! Mail counted in four months of 2009, 63 % came from such accounts:
    spammers', as its authors conclude.

    Source: J. Rao, D. Reiley, The Economics of Spam, Journal of Economic Perspectives 26(3), 2012.
    """
    return not record.complaints and record.right < 1


def is_proven(record: PersonRecord, at: float) -> bool:
    """Tell whether a person is known well, and was right."""
    return bool(record.first) and at - record.first >= PROVEN_S and record.weight >= PROVEN
