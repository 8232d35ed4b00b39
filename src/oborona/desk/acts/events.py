"""Acts on events: taken back, and given their decision of before again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import msgspec

from oborona.desk.asks.events import EventId, find_event
from oborona.desk.call import ActOrder, CallError, UndoCall, act
from oborona.desk.events.event_log import EventFilter, events, open_event_log
from oborona.desk.persons.store import person_named
from oborona.desk.site import Site
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventDecision, EventKind, StoredEvent
from oborona.people.caller import Caller
from oborona.people.rights import Right

TAKEN_BACK: Final = "TAKEN_BACK"
MOST: Final = 1_000_000  # events of a person


class EventWithdrawal(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Events that are not to be believed after all: by their ids, or all of a person.

    Args:
        ids: of events.
        person: in their place.
        since: Unix seconds; of a person, what was written down from then on.
        own: what followed for the person's own mail is taken back, too.
    """

    ids: Sequence[EventId] = ()
    person: str = ""
    since: float = 0.0
    own: bool = False


class WithdrawnEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is taken back, and what it was."""

    id: int
    what: EventKind
    person: str
    source: str
    was: str


class EventWithdrawalOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Events that were taken back; in a dry run, that would be."""

    events: tuple[WithdrawnEvent, ...]
    undo: UndoCall | None  # None = nothing was taken back


class EventRestoration(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Events that were taken back, and are to be as before."""

    ids: Sequence[EventId]


class EventRestorationOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Events that are as before they were taken back; in a dry run, that would be."""

    events: tuple[int, ...]
    undo: UndoCall | None  # None = nothing was restored


@act("events.take_back", Right.TEACH, about=("ids", "person"))
def take_back_events(site: Site, caller: Caller, asked: EventWithdrawal) -> EventWithdrawalOutcome:
    """Take events back: the trainer undoes what followed from them, and they stay in the log."""
    if bool(asked.ids) is bool(asked.person):
        raise CallError("name ids of reports, or a person, one of both")
    if asked.since and not asked.person:
        raise CallError("a time goes with a person")
    with open_event_log(site) as log:
        standing = [
            event
            for event in _chosen_events(log, caller, asked)
            if event.decided is None or event.counts or (asked.own and event.own)
        ]
        note = f"by {caller.name}{f': {asked.reason}' if asked.reason else ''}"
        if standing and not asked.dry:
            decisions = [
                (
                    event.id,
                    EventDecision(
                        counts=False,
                        own=event.own and not asked.own,
                        rules=(TAKEN_BACK,),
                        say=note,
                    ),
                )
                for event in standing
            ]
            log.decide(decisions, now=time.time())
    idents = [event.id for event in standing]
    return EventWithdrawalOutcome(
        events=tuple(
            WithdrawnEvent(
                id=event.id,
                what=event.what,
                person=event.person,
                source=event.source,
                was=event.opinion,
            )
            for event in standing
        ),
        undo=UndoCall(call="events.restore", asked={"ids": idents}) if idents else None,
    )


@act("events.restore", Right.TEACH, about=("ids",))
def restore_events(site: Site, caller: Caller, asked: EventRestoration) -> EventRestorationOutcome:
    """Decide events that were taken back as they were decided before; one that was not decided
    then is decided now.
    """
    with open_event_log(site) as log:
        chosen = [find_event(log, ident, caller.scope) for ident in dict.fromkeys(asked.ids)]
        idents = [event.id for event in chosen if event.rules == (TAKEN_BACK,)]
        if not asked.dry:
            idents = log.restore(idents, TAKEN_BACK, now=time.time())
    return EventRestorationOutcome(
        events=tuple(idents),
        undo=UndoCall(call="events.take_back", asked={"ids": idents}) if idents else None,
    )


def _chosen_events(log: EventLog, caller: Caller, asked: EventWithdrawal) -> list[StoredEvent]:
    """Return the events that an order names.

    Raises:
        CallError: what is to be a person is none.
        NotFoundError: there is no event of an id.
    """
    if asked.person:
        person = person_named(asked.person)
        return events(log, EventFilter(person=person, since=asked.since, most=MOST), caller.scope)
    return [find_event(log, ident, caller.scope) for ident in dict.fromkeys(asked.ids)]
