"""The entities of a kind that stand out: worst, best, loudest, most changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from oborona import state_files
from oborona.counters.heavy_hitters import NOTE_ROOM
from oborona.counters.window import DAY_S, DAYS
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.flagged_entities import with_history
from oborona.desk.reputation.history import EntityRecord, Reading, entity_records, totals
from oborona.desk.reputation.names import NAMED, entities, of_journal
from oborona.desk.site import Site
from oborona.message.shingles import Hasher, ShingleType
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_readonly
from oborona.types import Metric, Shingle, Window

# entities whose time-lines are judged: those with the most mail, and the most that speaks against
# them
LOOKED_AT: Final = 2000
_SKETCHED: Final = (Metric.SEEN, Metric.SPAM, Metric.COMPLAINTS, Metric.TRAPS)


class RankOrder(StrEnum):
    """What stands first."""

    WORST = "worst"
    BEST = "best"
    LOUDEST = "loudest"
    CHANGED = "changed"


class RankWindow(StrEnum):
    """Within which mail came."""

    HOUR = "hour"
    DAY = "day"
    FORTNIGHT = "fortnight"


def ranked_entities(
    site: Site,
    kind: ShingleType,
    pins: Sequence[Pin],
    order: RankOrder,
    window: RankWindow,
    limit: int,
    now: float,
) -> list[EntityRecord]:
    """Return the entities of a kind that stand out, at most `limit`.

    Names come from the journal and from pins; what counted much and has no name there is known by
    its hash.

    Raises:
        StoreError: counters or journal can't be read.
    """
    hasher = Hasher(site.keys().shingles)
    names = of_journal(
        site.state / state_files.JOURNAL, now - DAYS * DAY_S, [kind] if kind in NAMED else []
    )
    named = {
        entity.shingle: entity for entity in entities(names, pins, hasher) if entity.type == kind
    }
    with open_readonly(site.loaded.settings, site.state) as store:
        records = asyncio.run(_with_mail(store, kind, named, window, hasher, now))
    return _in_order(records, order, window)[:limit]


async def _with_mail(
    store: Reading,
    kind: ShingleType,
    named: dict[Shingle, EntityName],
    window: RankWindow,
    hasher: Hasher,
    now: float,
) -> list[EntityRecord]:
    by_shingle, within = dict(named), Window[window.name]
    for metric in _SKETCHED:
        for shingle, _ in await store.top(kind, metric, within, now, limit=NOTE_ROOM):
            by_shingle.setdefault(shingle, EntityName(kind, "", shingle))
    candidates = await _heaviest(
        store, await with_history(store, list(by_shingle.values()), now), within, now
    )
    return [
        record
        for record in await entity_records(store, candidates, hasher, now)
        if seen_within(record, window)
    ]


def _in_order(
    records: list[EntityRecord], order: RankOrder, window: RankWindow
) -> list[EntityRecord]:
    match order:
        case RankOrder.WORST:
            return sorted(
                records, key=lambda record: (record.judgement.trust, -seen_within(record, window))
            )
        case RankOrder.BEST:
            return sorted(
                records, key=lambda record: (-record.judgement.trust, -seen_within(record, window))
            )
        case RankOrder.CHANGED:
            return sorted(records, key=lambda record: (-change_of(record), record.judgement.trust))
        case RankOrder.LOUDEST:
            return sorted(records, key=lambda record: -seen_within(record, window))


async def _heaviest(
    store: Reading, names: Sequence[EntityName], within: Window, now: float
) -> list[EntityName]:
    """Return the `LOOKED_AT` with the most mail in a window, what speaks against them included."""
    if len(names) <= LOOKED_AT:
        return list(names)
    rows = await totals(store, [entity.shingle for entity in names], now)
    weights = [
        row[within][Metric.SEEN]
        + 10
        * (row[within][Metric.SPAM] + row[within][Metric.COMPLAINTS] + row[within][Metric.TRAPS])
        for row in rows
    ]
    order = sorted(range(len(names)), key=lambda place: -weights[place])
    return [names[place] for place in order[:LOOKED_AT]]


def seen_within(record: EntityRecord, window: RankWindow) -> int:
    """Return how many messages came of an entity within a window."""
    past = record.past
    match window:
        case RankWindow.HOUR:
            return past.hour.seen
        case RankWindow.DAY:
            return past.day.seen
        case RankWindow.FORTNIGHT:
            return past.fortnight.seen


def change_of(record: EntityRecord) -> float:
    """Return how much an entity has changed against its own past."""
    return next(
        (measure.value for measure in record.judgement.measures if measure.name == "change"), 0.0
    )
