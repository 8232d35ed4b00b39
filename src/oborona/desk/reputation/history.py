"""What the counters have of an entity, and what follows from it: read beside a running daemon."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from oborona.client_network import client_network
from oborona.counters.cluster.reader import ClusterReader
from oborona.counters.readonly import ReadOnlyCounters
from oborona.counters.window import Timeline, timeline
from oborona.desk.reputation.entity import EntityName, entity_of
from oborona.domains import registrable
from oborona.message.shingles import Hasher, ShingleType, envelope_shingles
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.ports import GeoIpLookup, Totals
from oborona.reputation.address import RepIP
from oborona.reputation.judgement.judge import judge
from oborona.reputation.judgement.model import EntityJudgement
from oborona.reputation.timeline import EntityHistory, entity_history
from oborona.types import Client, CounterPrefix, Envelope, Shingle, Window

Reading = ReadOnlyCounters | ClusterReader
BESIDE: Final = (CounterPrefix.REFUSED, CounterPrefix.FIRST, CounterPrefix.DELETED)
PREFIXES: Final = (
    CounterPrefix.IN,
    CounterPrefix.OUT,
    CounterPrefix.RECIPIENTS,
    CounterPrefix.OCTETS,
    *BESIDE,
)
"""All that is kept of an entity."""
AT_ONCE: Final = 1000  # shingles in one read
_EMPTY: Final = timeline({}, {}, 0.0)


class EntityRecord(NamedTuple):
    """An entity with its past."""

    entity: EntityName
    past: EntityHistory
    judgement: EntityJudgement


async def entity_records(
    store: Reading, entities: Sequence[EntityName], hasher: Hasher, now: float
) -> list[EntityRecord]:
    """Return entities with their time-lines and the judgements on them at Unix time `now`.

    Raises:
        StoreError: the store can't be read.
    """
    pasts = await _pasts(store, entities, now)
    around = [_around(entity, hasher) for entity in entities]
    homes = list({home.shingle: home for home in around if home is not None}.values())
    known_records = dict(
        zip((home.shingle for home in homes), await _pasts(store, homes, now), strict=True)
    )
    return [
        EntityRecord(entity, own, judge(own, None if home is None else known_records[home.shingle]))
        for entity, own, home in zip(entities, pasts, around, strict=True)
    ]


def unseen_record(entity: EntityName) -> EntityRecord:
    """Return an entity of which nothing was counted."""
    past = entity_history(_EMPTY, refused=None, first=None, deleted=None, recipients=None)
    return EntityRecord(entity, past, judge(past, None))


async def repips(
    store: Reading, addresses: Sequence[str], hasher: Hasher, places: GeoIpLookup, now: float
) -> list[RepIP]:
    """Return what would be said of addresses at connect.

    Raises:
        StoreError: the store can't be read.
    """
    groups = [
        shingles_to_read(
            envelope_shingles(Envelope(client=Client(ip=address)), hasher, places.find(address))
        )
        for address in addresses
    ]
    rows = iter(await totals(store, [shingle for group in groups for shingle in group], now))
    return [MessageCounts(group, list(islice(rows, len(group)))).repip() for group in groups]


async def totals(store: Reading, shingles: Sequence[Shingle], now: float) -> Totals:
    """Return base rows, some thousand at a time.

    Raises:
        StoreError: the store can't be read.
    """
    all_totals: Totals = []
    for begin in range(0, len(shingles), AT_ONCE):
        some = shingles[begin : begin + AT_ONCE]
        rows = await store.read(some, now)
        places = [place for place, piece in enumerate(some) if piece.type == ShingleType.ACCOUNT]
        sent = await store.read([some[place] for place in places], now, CounterPrefix.OUT)
        for place, row in zip(places, sent, strict=True):
            rows[place] = row
        all_totals += rows
    return all_totals


def octets(store: Reading, entity: EntityName, now: float) -> int | None:
    """Return what the counters keep of an entity, its records beside included.

    None where that can't be told.

    Raises:
        StoreError: the store can't be read.
    """
    if not isinstance(store, ReadOnlyCounters):
        return None
    own = sum(store.sizes([entity.shingle], now, prefix)[0] for prefix in PREFIXES)
    if entity.recipients is None:
        return own
    return own + sum(
        store.sizes([entity.recipients], now, prefix)[0]
        for prefix in (CounterPrefix.IN, CounterPrefix.OUT)
    )


async def _pasts(store: Reading, entities: Sequence[EntityName], now: float) -> list[EntityHistory]:
    pasts = list[EntityHistory]()
    for begin in range(0, len(entities), AT_ONCE):
        some = entities[begin : begin + AT_ONCE]
        shingles = [entity.shingle for entity in some]
        own = await _own_lines(store, some, shingles, now)
        beside = [await _lines(store, shingles, now, prefix) for prefix in BESIDE]
        recipients = await _own_lines(store, some, [entity.recipients for entity in some], now)
        pasts += [
            entity_history(
                line or _EMPTY, refused=refused, first=first, deleted=deleted, recipients=people
            )
            for line, refused, first, deleted, people in zip(own, *beside, recipients, strict=True)
        ]
    return pasts


async def _own_lines(
    store: Reading, entities: Sequence[EntityName], shingles: Sequence[Shingle | None], now: float
) -> list[Timeline | None]:
    """Return time-lines of mail: of accounts of what they sent, of all others of what came in."""
    sent = [entity.type == ShingleType.ACCOUNT for entity in entities]
    of_accounts = [piece if out else None for piece, out in zip(shingles, sent, strict=True)]
    of_others = [None if out else piece for piece, out in zip(shingles, sent, strict=True)]
    outbound = await _lines(store, of_accounts, now, CounterPrefix.OUT)
    inbound = await _lines(store, of_others, now)
    return [
        out if is_account else line
        for is_account, out, line in zip(sent, outbound, inbound, strict=True)
    ]


async def _lines(
    store: Reading,
    shingles: Sequence[Shingle | None],
    now: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> list[Timeline | None]:
    """Return time-lines; None where nothing was counted, which is most of them and costs next to
    nothing.
    """
    present = [shingle for shingle in shingles if shingle is not None]
    rows = await store.read(present, now, prefix)
    counted = [
        shingle for shingle, row in zip(present, rows, strict=True) if any(row[Window.FORTNIGHT])
    ]
    lines = (
        dict(zip(counted, await store.timelines(counted, now, prefix), strict=True))
        if counted
        else {}
    )
    return [None if shingle is None else lines.get(shingle) for shingle in shingles]


def network_of(entity: EntityName, hasher: Hasher) -> EntityName | None:
    """Return the network of an address; None of anything else."""
    if entity.type != ShingleType.CLIENT_IP or not entity.piece:
        return None
    return entity_of(ShingleType.CLIENT_NETWORK, client_network(entity.piece), hasher)


def _around(entity: EntityName, hasher: Hasher) -> EntityName | None:
    """Return what an entity is part of: its network, or the domain of an author.

    None where it is part of nothing that is judged.
    """
    if entity.type == ShingleType.AUTHOR and entity.piece:
        return entity_of(
            ShingleType.AUTHOR_DOMAIN, registrable(entity.piece.rpartition("@")[2]), hasher
        )
    return network_of(entity, hasher)
