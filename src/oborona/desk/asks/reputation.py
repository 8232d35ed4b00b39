"""One entity with its past, and what was done by hand."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import ask
from oborona.desk.messages.unicode_text import encodable
from oborona.desk.reputation.entity import entity_named
from oborona.desk.reputation.neighbourhood import Neighbourhood, look_around
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.reputation.portrait import (
    ShownEntity,
    portray_entity,
    portray_unseen,
    show_portrait,
)
from oborona.desk.reputation.statement import ShownChange, shown_change
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.message.shingles import Hasher
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.pins.pin_reader import SHOWN

MOST_CHANGES: Final = 100_000
MOST_DAYS: Final = 14  # the journal and the counters have no more, as they ship


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
    try:
        portrait = portray_entity(site, asked.entity)
    except StoreAbsent:  # nothing was counted yet: an override can be set ahead
        portrait = portray_unseen(site, asked.entity)
    return show_portrait(portrait)


class NeighbourQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What an entity was seen with.

    Args:
        entity: as it is typed.
        days: back.
        within: seconds after which what was found is the answer.
    """

    entity: str
    days: Annotated[int, Meta(ge=1, le=MOST_DAYS)] = 7
    within: Annotated[float, Meta(ge=0.05, le=8)] = 1.5


@ask("reputation.neighbours", Right.TRACK)
def show_neighbours(site: Site, caller: Caller, asked: NeighbourQuestion) -> Neighbourhood:
    """Return who and what stands beside an entity in the mail of the last days.

    Raises:
        UnusableValueError: the text names none.
        StoreError: journal or counters can't be read.
    """
    return encodable(look_around(site, asked.entity, asked.days, asked.within))


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
