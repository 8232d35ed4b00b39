"""What people have said of entities, as it is shown."""

from __future__ import annotations

import msgspec

from oborona.desk.reputation.entity import kind_of
from oborona.message.shingle_name import name_of
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.rows import PinAction, PinChange
from oborona.types import Shingle


class ShownPin(msgspec.Struct, frozen=True, kw_only=True):
    """A manual override.

    Args:
        entity: as it is typed; by its hash where it has no name.
        kind: what it is, in a word.
        name: of the entity; empty = not known.
        flag: that is in force.
        reason: why.
        by: who said it.
        since: Unix seconds.
        until: Unix seconds; 0 = for ever.
    """

    entity: str
    kind: str
    name: str
    flag: ReputationFlag
    reason: str
    by: str
    since: float
    until: float


class ShownChange(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did by hand.

    Args:
        at: Unix seconds.
        by: who.
        what: they did.
        reason: why.
        entity: to what; empty = to no one entity.
        name: of the entity, or the message's id.
        flag: of a manual override.
        until: of a manual override, Unix seconds; 0 = for ever.
    """

    at: float
    by: str
    what: PinAction
    reason: str
    entity: str
    name: str
    flag: str
    until: float


def shown_pin(pin: Pin) -> ShownPin:
    """Return a pin as it is shown."""
    return ShownPin(
        entity=pin.name or name_of(pin.shingle),
        kind=kind_of(pin.type),
        name=pin.name,
        flag=pin.flag,
        reason=pin.reason,
        by=pin.by,
        since=pin.since,
        until=pin.until,
    )


def shown_change(change: PinChange) -> ShownChange:
    """Return what somebody did as it is shown."""
    entity: Shingle | None = change.entity
    return ShownChange(
        at=change.at,
        by=change.by,
        what=change.what,
        reason=change.reason,
        entity=change.name or (name_of(entity) if entity else ""),
        name=change.name,
        flag=change.flag,
        until=change.until,
    )
