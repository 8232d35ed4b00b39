"""Entities: one with its past, those that stand out, what was done by hand, what is remembered."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.counters.stats import StoreStats
from oborona.desk.call import ask
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation.entity import KINDS, entity_named, kind_of
from oborona.desk.reputation.flagged_entities import flagged_entities, selected
from oborona.desk.reputation.history import PREFIXES
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.reputation.portrait import ShownEntity, portray_entity, show_portrait
from oborona.desk.reputation.rank import (
    RankOrder,
    RankWindow,
    change_of,
    ranked_entities,
    seen_within,
)
from oborona.desk.reputation.statement import ShownChange, shown_change
from oborona.desk.site import Site
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, ShingleType
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.flag import ReputationFlag
from oborona.stores.counters import check_is_local, store_stats
from oborona.stores.pins.pin_reader import SHOWN
from oborona.types import CounterPrefix

BESIDE: Final = {
    CounterPrefix.REFUSED: "refused",
    CounterPrefix.FIRST: "first contacts",
    CounterPrefix.DELETED: "deleted",
}
MOST_CHANGES: Final = 100_000
MOST_RANKED: Final = 1000
RANKED: Final = 20


class EntityQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which entity, as it is typed."""

    entity: str


@ask("reputation.show", Right.TRACK)
def show_entity(site: Site, caller: Caller, asked: EntityQuestion) -> ShownEntity:
    """Return an entity with its past, its judgement, and what people said of it.

    Raises:
        UnusableValueError: the text names none.
        StoreError: counters or pins can't be read.
    """
    return show_portrait(portray_entity(site, asked.entity))


class RankQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which entities stand out.

    Args:
        kind: of them.
        by: what stands first.
        window: mail came within it, and the loudest are counted in it.
        limit: at most so many.
    """

    kind: str = "address"
    by: RankOrder = RankOrder.WORST
    window: RankWindow = RankWindow.DAY
    limit: Annotated[int, Meta(ge=1, le=MOST_RANKED)] = RANKED


class RankedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """One that stands out.

    Args:
        entity: as it is typed; its hash where it has no name.
        shingle: TYPE:HASH.
        flag: by the judgement on its past.
        pinned: flag of its manual override.
        trust: points, -100 to 100.
        change: against its own past.
        seen: messages within the window.
        say: the evidence in words.
    """

    entity: str
    shingle: str
    flag: ReputationFlag
    pinned: ReputationFlag | None
    trust: float
    change: float
    seen: int
    say: str


class EntityRanking(msgspec.Struct, frozen=True, kw_only=True):
    """Entities that stand out, the first first."""

    entities: list[RankedEntity]


@ask("reputation.top", Right.TRACK)
def rank_entities(site: Site, caller: Caller, asked: RankQuestion) -> EntityRanking:
    """Return the entities of a kind that stand out.

    Raises:
        UnusableValueError: there is no such kind.
        StoreError: counters, journal or pins can't be read.
    """
    kind, now = kind_named(asked.kind), time.time()
    with pins_for_reading(site) as store:
        pins = [] if store is None else store.all(now)
    flags = {pin.shingle: pin.flag for pin in pins}
    ranked = ranked_entities(site, kind, pins, asked.by, asked.window, asked.limit, now)
    return EntityRanking(
        entities=[
            RankedEntity(
                entity=record.entity.name,
                shingle=name_of(record.entity.shingle),
                flag=record.judgement.flag,
                pinned=flags.get(record.entity.shingle),
                trust=record.judgement.trust,
                change=change_of(record),
                seen=seen_within(record, asked.window),
                say=record.judgement.say,
            )
            for record in ranked
        ]
    )


def kind_named(text: str) -> ShingleType:
    """Return a kind of entities by its name.

    Raises:
        UnusableValueError: there is none.
    """
    kind = KINDS.get(text)
    if kind is None:
        raise UnusableValueError(f"no kind {text[:40]!a}; there are {', '.join(KINDS)}", "kind")
    return kind


class ChangeQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What was done by hand.

    Args:
        entity: to which; empty = to any.
        limit: at most so many, the latest.
    """

    entity: str = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_CHANGES)] = SHOWN


class ChangeList(msgspec.Struct, frozen=True, kw_only=True):
    """What was done by hand, the latest first."""

    changes: list[ShownChange]


@ask("reputation.log", Right.TRACK)
def list_changes(site: Site, caller: Caller, asked: ChangeQuestion) -> ChangeList:
    """Return who changed what by hand, and why.

    Raises:
        UnusableValueError: the text names no entity.
        StoreError: the pins can't be read.
    """
    selection = (
        entity_named(asked.entity, Hasher(site.keys().shingles)).shingle if asked.entity else None
    )
    with pins_for_reading(site) as store:
        changes = [] if store is None else store.changes(selection, asked.limit)
    return ChangeList(changes=[shown_change(change) for change in changes])


class RememberedQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class RememberedKind(msgspec.Struct, frozen=True, kw_only=True):
    """What the counters remember of a kind of entities.

    Args:
        kind: of them.
        entities: how many.
        octets: in all.
        each: on average, with what lies beside.
        largest: octets of the largest record.
        records: beside, by what they count.
    """

    kind: str
    entities: int
    octets: int
    each: float
    largest: int
    records: dict[str, int]


class RememberedKinds(msgspec.Struct, frozen=True, kw_only=True):
    """What the counters remember, a kind each."""

    kinds: list[RememberedKind]


@ask("reputation.stats", Right.STATUS)
def count_entities(site: Site, caller: Caller, asked: RememberedQuestion) -> RememberedKinds:
    """Return, for each kind of entity, how many the counters remember, and in how many octets.

    All records are walked over.

    Raises:
        ConfigError: the counters are in a cluster.
        StoreError: the counters can't be read.
    """
    check_is_local(site.loaded.settings)
    report = store_stats(site.loaded.settings, site.state, time.time(), types=True)
    if not isinstance(report, StoreStats):
        raise TypeError(report)  # `check_is_local` has refused a cluster
    records: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    octets: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    largest: dict[int, int] = defaultdict(int)
    for share in report.types or ():
        records[share.type, share.prefix] += share.records
        octets[share.type, share.prefix] += share.bytes
        largest[share.type] = max(largest[share.type], share.largest)
    kinds = []
    for kind, type_ in KINDS.items():
        out = type_ == ShingleType.ACCOUNT
        number = records[type_, CounterPrefix.OUT if out else CounterPrefix.IN]
        whole = sum(octets[type_, prefix] for prefix in PREFIXES)
        kinds.append(
            RememberedKind(
                kind=kind,
                entities=number,
                octets=whole,
                each=whole / number if number else 0.0,
                largest=largest[type_],
                records={label: records[type_, prefix] for prefix, label in BESIDE.items()},
            )
        )
    return RememberedKinds(kinds=kinds)


class FlaggedQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which entities have a flag.

    Args:
        flag: which; poor: the bad ones, too.
        kinds: of what.
    """

    flag: ReputationFlag = ReputationFlag.BAD
    kinds: Annotated[list[str], Meta(min_length=1, max_length=17)] = msgspec.field(
        default_factory=lambda: ["address"]
    )


class FlaggedRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entity with a flag.

    Args:
        entity: as it is typed.
        kind: what it is, in a word.
        flag: at connect of an address, of anything else that of its judgement; its override first.
        say: why.
        until: of its override, Unix seconds; 0 = no end.
        pinned: somebody said so.
        origin: where the override was imported from; empty = it is this site's.
    """

    entity: str
    kind: str
    flag: ReputationFlag
    say: str
    until: float
    pinned: bool
    origin: str


class FlaggedList(msgspec.Struct, frozen=True, kw_only=True):
    """Entities with a flag, sorted by kind and name; those without a name are left out."""

    entities: list[FlaggedRow]


@ask("reputation.export", Right.TRACK)
def list_flagged(site: Site, caller: Caller, asked: FlaggedQuestion) -> FlaggedList:
    """Return the entities that have a flag here.

    Raises:
        UnusableValueError: there is no such kind, or unknown ones are asked for.
        StoreError: counters, journal or pins can't be read.
    """
    if asked.flag is ReputationFlag.UNKNOWN:
        raise UnusableValueError("most entities are unknown: ask for good, poor or bad", "flag")
    kinds = [kind_named(kind) for kind in asked.kinds]
    found = selected(flagged_entities(site, kinds, time.time()), asked.flag)
    return FlaggedList(
        entities=[
            FlaggedRow(
                entity=flagged.entity.name,
                kind=kind_of(flagged.entity.type),
                flag=flagged.flag,
                say=flagged.say,
                until=flagged.until,
                pinned=flagged.pinned,
                origin=flagged.origin,
            )
            for flagged in found
        ]
    )
