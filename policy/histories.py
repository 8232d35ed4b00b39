"""Judgements of time-lines: of the few identities behind a message whose past is worth a closer
look than base records give.

A time-line shows what its totals hide: a sender who warmed up for ten days and bursts today, one
with a rising rate of complaints, one whom nobody reads.  To read and judge one costs some hundred
times what a base record does.  So only these are judged, and a judgement is kept while little has
changed:

    who        the account; the proved author and his domain; the proved sender if there is no
               author
    from       `LEAST_SEEN` messages of two weeks on; below that the base record tells everything
    again      in the next ten minutes; when it has more than `GROWN` times as much mail, and `MORE`
               messages more; when it has more than `GROWN` times as many reports and verdicts
               against it, the first one included

An author's domain counts in his judgement, whether or not it is judged again itself: the same
counts give the same judgement.

Memory: `KEPT` judgements in a process; the least recently used go first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oborona.counters.window import Timeline, bucket_of
from oborona.errors import StoreError
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.unique_pairs import entity_recipients
from oborona.policy.counts import MessageCounts
from oborona.policy.ports import CounterReader
from oborona.reputation.evidence import TRAPS_LEAST
from oborona.reputation.judgement.judge import judge_sender
from oborona.reputation.judgement.model import EntityJudgement
from oborona.reputation.timeline import EntityHistory, entity_history
from oborona.types import CounterPrefix, Metric, ProvedIdentity, Shingle, Window

_TRAPS: Final = int(Metric.TRAPS)
LEAST_SEEN: Final = 20  # messages of two weeks
GROWN: Final = 1.25
# messages: a quarter of a small past is a few, and it would be looked at for each few
MORE: Final = 20
KEPT: Final = 4096

Judgements = Mapping[int, EntityJudgement]
"""By type of identity."""


class _Kept(NamedTuple):
    bucket: int
    seen: int
    against: int
    judgement: EntityJudgement


class Histories:
    """The judgements that a process keeps."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Shingle, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(
        self, shingle: Shingle, row: Sequence[Sequence[int]], now: float
    ) -> EntityJudgement | None:
        """Return what was found of an identity, None where that is too long ago, or much has
        changed since.

        Args:
            shingle: of the identity.
            row: its base record now.
            now: Unix seconds.
        """
        entry = self._kept.get(shingle)
        if entry is None or entry.bucket != bucket_of(now):
            return None
        messages, against = _size(row)
        if messages > max(GROWN * entry.seen, entry.seen + MORE) or against > GROWN * entry.against:
            return None
        self._kept.move_to_end(shingle)
        return entry.judgement

    def keep(
        self, shingle: Shingle, row: Sequence[Sequence[int]], now: float, judgement: EntityJudgement
    ) -> None:
        """Keep what was found of an identity."""
        self._kept[shingle] = _Kept(bucket_of(now), *_size(row), judgement)
        self._kept.move_to_end(shingle)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)


async def judge_histories(
    counters: CounterReader,
    counts: MessageCounts,
    sender: ProvedIdentity,
    hasher: Hasher,
    histories: Histories,
    *,
    now: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> tuple[Judgements, tuple[str, ...]]:
    """Return the judgements of who stands behind a message, and faults for the log.

    Args:
        counters: the store.
        counts: the message's counts.
        sender: sent it.
        hasher: holds the site's secret.
        histories: what was found before.
        now: Unix seconds.
        prefix: the message's direction.
    """
    judgements: dict[int, EntityJudgement] = {}
    identities: dict[int, tuple[Shingle, str]] = {}
    for kind, piece in _identities(sender):
        rows = counts.rows.get(kind)
        if not rows or rows[0][Window.FORTNIGHT][Metric.SEEN] < LEAST_SEEN:
            continue
        shingle = hasher.shingle(kind, piece)
        judgement = histories.of(shingle, rows[0], now)
        if judgement is not None:
            judgements[kind] = judgement
        if judgement is None or (
            kind == ShingleType.AUTHOR_DOMAIN and ShingleType.AUTHOR in identities
        ):
            identities[kind] = shingle, piece
    if not identities:
        return judgements, ()
    try:
        lines = await _read(counters, identities, hasher, now, prefix)
    except StoreError as error:
        return judgements, (f"counters: {error}",)
    around = lines.get(ShingleType.AUTHOR_DOMAIN)
    for number, line in lines.items():
        if number in judgements:
            continue
        judgements[number] = judge_sender(line, around if number == ShingleType.AUTHOR else None)
        histories.keep(identities[number][0], counts.rows[number][0], now, judgements[number])
    return judgements, ()


def _identities(sender: ProvedIdentity) -> list[tuple[ShingleType, str]]:
    if sender.account:
        return [(ShingleType.ACCOUNT, sender.account)]
    if sender.author:
        return [
            (ShingleType.AUTHOR, sender.author),
            (ShingleType.AUTHOR_DOMAIN, sender.author_domain),
        ]
    return [(ShingleType.PROVED_SENDER, sender.sender)] if sender.sender else []


async def _read(
    counters: CounterReader,
    identities: Mapping[int, tuple[Shingle, str]],
    hasher: Hasher,
    now: float,
    prefix: CounterPrefix,
) -> dict[int, EntityHistory]:
    own = [shingle for shingle, _ in identities.values()]
    reached = [entity_recipients(hasher, kind, piece) for kind, (_, piece) in identities.items()]
    timelines = await counters.timelines([*own, *reached], now, prefix)
    first = await counters.timelines(own, now, CounterPrefix.FIRST)
    deleted = await counters.timelines(own, now, CounterPrefix.DELETED)
    lines: list[tuple[Timeline, ...]] = list(
        zip(
            map(_without_stray_traps, timelines[: len(own)]),
            timelines[len(own) :],
            first,
            deleted,
            strict=True,
        )
    )
    return {
        kind: entity_history(line, recipients=recipients, first=met, deleted=thrown)
        for kind, (line, recipients, met, thrown) in zip(identities, lines, strict=True)
    }


def _without_stray_traps(line: Timeline) -> Timeline:
    """Return a time-line without trap hits where these are too few to say anything: the sender may
    be trying whose address is a trap.
    """
    if not 0 < sum([day[_TRAPS] for day in line.days]) < TRAPS_LEAST:
        return line
    buckets, days = (
        [[*row[:_TRAPS], 0, *row[_TRAPS + 1 :]] for row in rows]
        for rows in (line.buckets, line.days)
    )
    return Timeline(buckets=buckets, days=days)


def _size(row: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return how much mail there is, and how much speaks against it or for it in people's words."""
    counts = row[Window.FORTNIGHT]
    words = (
        counts[Metric.SPAM]
        + counts[Metric.COMPLAINTS]
        + counts[Metric.TRAPS]
        + counts[Metric.PARDONS]
    )
    return counts[Metric.SEEN], words
