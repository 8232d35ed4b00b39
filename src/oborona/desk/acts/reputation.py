"""What people say of entities by hand: overrides and notes."""

from __future__ import annotations

import time

from oborona import state_files
from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.refusals import NothingDoneError, UnusableValueError
from oborona.desk.reputation.entity import EntityName, entity_named
from oborona.desk.reputation.history import PREFIXES
from oborona.desk.reputation.line_text import checked_line
from oborona.desk.reputation.pin_store import (
    pins_for_reading,
    pins_for_writing,
    require_hasher,
    spool,
)
from oborona.desk.reputation.statement import ShownPin, shown_pin
from oborona.desk.site import Site
from oborona.lock import holder
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.rows import PinAction, PinChange
from oborona.stores.pins.store import LAST_TIME
from oborona.types import CounterPrefix


class PinOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An override by hand.

    Args:
        entity: as it is typed.
        flag: that is in force from now on.
        until: when it ends, Unix seconds; 0 = never.
    """

    entity: str
    flag: ReputationFlag
    until: float = 0.0


class PinnedEntity(ActReport, frozen=True, kw_only=True):
    """An override that was set.

    Args:
        entity: as it is typed.
        pin: that is in force now.
        before: that was before; None = there was none.
    """

    entity: str
    pin: ShownPin
    before: ShownPin | None


@act("reputation.set", Right.ENTITY, about=("entity",))
def set_pin(site: Site, caller: Caller, asked: PinOrder) -> PinnedEntity:
    """Override the reputation of an entity by hand, in the place of an earlier override.

    Raises:
        UnusableValueError: the text names no entity that anything is decided by, or the reason or
            the end can't be used.
        StoreError: the pins can't be written.
    """
    now = time.time()
    named = entity_named(asked.entity, require_hasher(site))
    if not named.judged:
        raise UnusableValueError(
            f"nothing is decided by a {named.kind} as it is written, for anybody can write it;"
            " set the author, his domain, the envelope sender or the address"
        )
    pin = Pin(
        type=named.type,
        hash=named.shingle.hash,
        name=_known_name(named),
        flag=asked.flag,
        reason=checked_line(asked.reason, "reason"),
        by=caller.name,
        since=now,
        until=checked_end(asked.until, now),
    )
    with pins_for_reading(site) as store:
        before = None if store is None else store.of(named.shingle, now)
    if not asked.dry:
        with pins_for_writing(site) as store:
            store.put([pin])
    return PinnedEntity(
        dry=asked.dry,
        undo=UndoCall(call="reputation.clear", asked={"entity": named.name})
        if before is None
        else _set_again(named, before),
        entity=named.name,
        pin=shown_pin(pin),
        before=None if before is None else shown_pin(before),
    )


def checked_end(until: float, now: float) -> float:
    """Return when a pin ends.

    Raises:
        UnusableValueError: that is no time to come.
    """
    if until and not now < until < LAST_TIME:
        raise UnusableValueError("a manual override must end in the future, before the year 10000")
    return until


class ClearOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An override that is to be removed.

    Args:
        entity: as it is typed.
        counts: also forget what is counted of it.
    """

    entity: str
    counts: bool = False


class ClearedEntity(ActReport, frozen=True, kw_only=True):
    """An override that was removed.

    Args:
        entity: as it is typed.
        pin: that was in force; None = there was none.
        counts: what is counted of it is forgotten.
        writer: who does that; empty = the writer, when it runs again.
    """

    entity: str
    pin: ShownPin | None
    counts: bool
    writer: str = ""


@act("reputation.clear", Right.ENTITY, about=("entity",))
def clear_pin(site: Site, caller: Caller, asked: ClearOrder) -> ClearedEntity:
    """Remove the override of an entity, so that its history decides again.

    Raises:
        UnusableValueError: the text names no entity, or the reason can't be used.
        NothingDoneError: there is no override, and its counts are not to be forgotten.
        StoreError: the pins or the spool of counters can't be written.
    """
    now, named = time.time(), entity_named(asked.entity, require_hasher(site))
    reason = checked_line(asked.reason, "reason")
    with pins_for_reading(site) as store:
        pin = None if store is None else store.of(named.shingle, now)
    if pin is None and not asked.counts:
        raise NothingDoneError(f"{named.name} has no manual override")
    writer = ""
    if not asked.dry:
        if pin is not None:
            with pins_for_writing(site) as store:
                store.clear(
                    named.shingle, _known_name(named), by=caller.name, reason=reason, now=now
                )
        if asked.counts:
            change = PinChange(
                at=now,
                by=caller.name,
                what=PinAction.FORGET,
                reason=reason,
                entity=named.shingle,
                name=named.name,
            )
            writer = _forget(site, named, change)
    return ClearedEntity(
        dry=asked.dry,
        undo=None if pin is None or asked.counts else _set_again(named, pin),
        entity=named.name,
        pin=None if pin is None else shown_pin(pin),
        counts=asked.counts,
        writer=writer,
    )


def _set_again(named: EntityName, pin: Pin) -> UndoCall:
    asked = {"entity": named.name, "flag": pin.flag, "until": pin.until, "reason": pin.reason}
    return UndoCall(call="reputation.set", asked=asked)


def _known_name(named: EntityName) -> str:
    return named.name if named.piece else ""


def _forget(site: Site, named: EntityName, change: PinChange) -> str:
    """Log it, and forget what is counted of an entity, also beside; return who does it."""
    with spool(site) as counters, pins_for_writing(site) as store:
        store.log(change)
        for prefix in PREFIXES:
            counters.forget(named.shingle, change.at, prefix)
        if named.recipients is not None:
            for prefix in (CounterPrefix.IN, CounterPrefix.OUT):
                counters.forget(named.recipients, change.at, prefix)
    return str(holder(site.state / state_files.COUNTERS / state_files.COUNTERS_LOCK) or "")


class EntityNoteOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A text that is to stand beside an entity."""

    entity: str
    text: str


class NotedEntity(ActReport, frozen=True, kw_only=True):
    """The entity beside which a text stands."""

    entity: str


@act("reputation.note", Right.NOTE, about=("entity",))
def note_entity(site: Site, caller: Caller, asked: EntityNoteOrder) -> NotedEntity:
    """Write something beside an entity, for whoever looks at it next; no verdict asks for it.

    Raises:
        UnusableValueError: the text names no entity, or the note can't be used.
        StoreError: the pins can't be written.
    """
    named, text = entity_named(asked.entity, require_hasher(site)), checked_line(asked.text, "text")
    if not asked.dry:
        with pins_for_writing(site) as store:
            store.note(named.shingle, _known_name(named), text, by=caller.name, now=time.time())
    return NotedEntity(dry=asked.dry, entity=named.name)
