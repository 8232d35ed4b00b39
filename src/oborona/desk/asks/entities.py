"""Entities of a kind: those that stand out, and those that have a flag."""

from __future__ import annotations

import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import ask
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation.entity import KINDS, kind_of
from oborona.desk.reputation.flagged_entities import flagged_entities, selected
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.reputation.rank import (
    RankOrder,
    RankWindow,
    change_of,
    ranked_entities,
    seen_within,
)
from oborona.desk.site import Site
from oborona.message.shingle_name import name_of
from oborona.message.shingles import ShingleType
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.flag import ReputationFlag

MOST_RANKED: Final = 1000
RANKED: Final = 20


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
