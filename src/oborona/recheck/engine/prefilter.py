"""The prefilter: whether the counts of a message's hashes have moved far enough since it was judged
to judge it again; pure.

Evidence (spam, complaints, pardons, traps) has moved when it grew or shrank by more than a quarter,
the first one included; the number seen, when it is more than twice as much and four messages more.
Smaller changes affect only verdicts near a threshold, and a sender of thousands of messages a day
gets one complaint more every minute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oborona.journal.evidence import VerdictEvidence
from oborona.message.hashing import ShingleType
from oborona.policy.counts import MessageCounts
from oborona.types import Metric, Shingle, Window

GROWN: Final = 0.25  # share of what was counted then
MORE_SEEN: Final = 4  # messages, beside twice as many
CARRIERS: Final = frozenset(
    {
        ShingleType.TEXT,
        ShingleType.TEMPLATE,
        ShingleType.URL,
        ShingleType.PHONE,
        ShingleType.WALLET,
        ShingleType.HANDLE,
        ShingleType.CODE,
        ShingleType.CHECKSUM,
        ShingleType.MEMBER_CHECKSUM,
        ShingleType.PICTURE,
        ShingleType.PICTURE_HASH,
    }
)
"""Types of pieces that are a campaign's own, and no sender's or host's."""
# messages to a word, at most, that is a word on all of them: what everybody links to is complained
# of, too
SPOKEN: Final = 50

_DAY, _FORTNIGHT = int(Window.DAY), int(Window.FORTNIGHT)
_SEEN = int(Metric.SEEN)
_SAID: Final = tuple(map(int, (Metric.SPAM, Metric.COMPLAINTS, Metric.PARDONS, Metric.TRAPS)))
_AGAINST: Final = (int(Metric.COMPLAINTS), int(Metric.TRAPS))


def counts_moved(
    evidence: VerdictEvidence, shingles: Sequence[Shingle], now: Mapping[Shingle, list[list[int]]]
) -> bool:
    """Tell whether a message is worth a whole look.

    Args:
        evidence: what its verdict rested on.
        shingles: its pieces, in the order in which they were asked for.
        now: counts of now of each.
    """
    then: dict[int, list[list[list[int]]]] = {}
    for kind, rows in evidence.counts:
        then.setdefault(kind, []).extend(rows)
    place: dict[int, int] = {}
    for shingle in shingles:
        kind = shingle[0]
        at = place.get(kind, 0)
        place[kind] = at + 1
        before = then.get(kind, ())
        if at < len(before) and _row_moved(before[at], now[shingle]):
            return True
    return evidence.away  # it was judged without counts


def _row_moved(then: list[list[int]], now: list[list[int]]) -> bool:
    was, is_ = then[_FORTNIGHT], now[_FORTNIGHT]
    for metric in _SAID:
        if was[metric] != is_[metric] and abs(is_[metric] - was[metric]) > GROWN * was[metric]:
            return True
    return now[_DAY][_SEEN] > 2 * then[_DAY][_SEEN] + MORE_SEEN


def counts_lost(then: MessageCounts, now: MessageCounts) -> bool:
    """Tell whether counts were lost since a message was judged: its pieces were seen in less than
    half as many messages as then.
    """
    return 2 * _copies_seen(now) < _copies_seen(then)


def _copies_seen(counts: MessageCounts) -> int:
    return sum(row[_FORTNIGHT][_SEEN] for rows in counts.rows.values() for row in rows)


def complained_since(then: MessageCounts, now: MessageCounts) -> bool:
    """Tell whether people complained of a message's text, links or files, or a trap got them, since
    it was judged.
    """
    return any(
        now.copies(_FORTNIGHT, metric) > then.copies(_FORTNIGHT, metric)
        or any(_has_risen(then, now, kind, metric) for kind in CARRIERS)
        for metric in _AGAINST
    )


def _has_risen(then: MessageCounts, now: MessageCounts, kind: int, metric: int) -> bool:
    spoken = now.count(kind, _FORTNIGHT, metric)
    return spoken > then.count(kind, _FORTNIGHT, metric) and SPOKEN * spoken >= now.count(
        kind, _FORTNIGHT, _SEEN
    )
