"""What an entity was seen with: who and what stands beside it in the mail of the last days, as the
journal names it, with what the counters say of each.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import msgspec

from oborona.desk.reputation.entity import (
    KINDS,
    EntityName,
    entity_named,
    entity_of,
    kind_of,
    name_for,
)
from oborona.desk.reputation.history import entity_records, network_of
from oborona.desk.reputation.neighbour_mail import EntityMail, EntityMailReader
from oborona.desk.reputation.neighbour_pieces import HELO, NeighbourKey, pieces_beside
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.message.shingles import Hasher
from oborona.reputation.flag import ReputationFlag
from oborona.stores.counters import open_readonly
from oborona.types import Shingle

LOOKED_AT: Final = 200  # messages with the entity, the newest
SIBLINGS_OF: Final = 300  # messages of its network
EACH: Final = 12  # of a kind that are told
NAME_OF_HELO: Final = "helo"
DAY_S: Final = 86_400


class EntityNeighbour(msgspec.Struct, frozen=True, kw_only=True):
    """Who or what was seen with an entity.

    Args:
        kind: what it is, in a word; also `helo`.
        name: as it is shown.
        entity: as it is typed; empty = nothing is counted of it.
        messages: with both, refusals before the content included; of an address of the same
            network, its own.
        against: of those, judged as spam or refused.
        last: when the newest came, Unix seconds.
        flag: of the judgement on its past.
    """

    kind: str
    name: str
    entity: str
    messages: int
    against: int
    last: float
    flag: ReputationFlag


class Neighbourhood(msgspec.Struct, frozen=True, kw_only=True):
    """What an entity was seen with.

    Args:
        entity: as it is typed.
        since: how far back was asked for, Unix seconds.
        reached: how far back was looked, where that is less; None = all of it.
        messages: that were looked at, refusals included.
        neighbours: by kind, those seen most first.
        further: how many more there are, by kind.
    """

    entity: str
    since: float
    reached: float | None
    messages: int
    neighbours: list[EntityNeighbour]
    further: dict[str, int]


class _Together:
    """Counts the mail that has both."""

    __slots__ = ("against", "last", "messages")

    def __init__(self) -> None:
        self.messages = self.against = 0
        self.last = 0.0

    def add(self, mail: EntityMail) -> None:
        self.messages += mail.times
        self.against += mail.times if mail.against else 0
        self.last = max(self.last, mail.last)


_Counted = dict[NeighbourKey, _Together]


def look_around(site: Site, text: str, days: int, within_s: float) -> Neighbourhood:
    """Return what an entity was seen with.

    Args:
        site: whose mail.
        text: the entity, as it is typed.
        days: back.
        within_s: seconds that looking through the mail may take.

    Raises:
        UnusableValueError: the text names none.
        StoreError: journal or counters can't be read.
    """
    now, hasher = time.time(), Hasher(site.keys().shingles)
    named = entity_named(text, hasher)
    reader = EntityMailReader(site, now - days * DAY_S, within_s)
    counted, number, own = _Counted(), 0, (named.type, named.piece)
    for mail in reader.mail_of(named, LOOKED_AT):
        number += mail.times
        for key in set(pieces_beside(mail.hit, mail.entry)) - {own}:
            counted.setdefault(key, _Together()).add(mail)
    home = network_of(named, hasher)
    if home is not None:  # its siblings are in no mail with it
        for mail in reader.mail_of(home, SIBLINGS_OF, whole=False):
            for key in set(pieces_beside(mail.hit, mail.entry)) - {own}:
                if key[0] == named.type:
                    counted.setdefault(key, _Together()).add(mail)
    told, further = _most_seen(counted)
    flags = _flags(site, [key for key, _ in told], hasher, now)
    return Neighbourhood(
        entity=named.name,
        since=now - days * DAY_S,
        reached=reader.reached,
        messages=number,
        neighbours=[_shown(key, seen, flags, hasher) for key, seen in told],
        further=further,
    )


def _most_seen(counted: _Counted) -> tuple[list[tuple[NeighbourKey, _Together]], dict[str, int]]:
    """Return those that were seen most of each kind, and how many others there are of it."""
    told, further = list[tuple[NeighbourKey, _Together]](), dict[str, int]()
    for kind in (*KINDS.values(), HELO):
        found = [(key, seen) for key, seen in counted.items() if key[0] == kind]
        found.sort(key=lambda one: (-one[1].messages, one[0][1]))
        told += found[:EACH]
        if len(found) > EACH:
            further[_kind(kind)] = len(found) - EACH
    return told, further


def _flags(
    site: Site, keys: list[NeighbourKey], hasher: Hasher, now: float
) -> dict[Shingle, ReputationFlag]:
    names = [entity_of(kind, piece, hasher) for kind, piece in keys if kind != HELO]
    try:
        with open_readonly(site.loaded.settings, site.state) as store:
            records = asyncio.run(entity_records(store, names, hasher, now))
    except StoreAbsent:
        return {}
    return {record.entity.shingle: record.judgement.flag for record in records}


def _shown(
    key: NeighbourKey, seen: _Together, flags: dict[Shingle, ReputationFlag], hasher: Hasher
) -> EntityNeighbour:
    kind, piece = key
    named: EntityName | None = None if kind == HELO else entity_of(kind, piece, hasher)
    return EntityNeighbour(
        kind=_kind(kind),
        name=piece if named is None else name_for(kind, piece),
        entity="" if named is None else named.name,
        messages=seen.messages,
        against=seen.against,
        last=seen.last,
        flag=ReputationFlag.UNKNOWN
        if named is None
        else flags.get(named.shingle, ReputationFlag.UNKNOWN),
    )


def _kind(kind: int) -> str:
    return NAME_OF_HELO if kind == HELO else kind_of(kind)
