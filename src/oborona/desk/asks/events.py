"""Asks about events: what people and traps said of mail, who they are, and what was believed."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Final

import msgspec

from oborona.desk.call import NotFoundError, ask
from oborona.desk.events.event_log import (
    EventFilter,
    ReporterSummary,
    events,
    open_event_log,
    persons,
    thresholds,
)
from oborona.desk.persons.store import person_named
from oborona.desk.site import Site
from oborona.eventlog.person_verdicts import opened_verdicts
from oborona.feedback.antifraud.model import DailyThresholds
from oborona.feedback.antifraud.thresholds import FLOORS
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind, StoredEvent
from oborona.people.caller import Caller, Scope
from oborona.people.rights import Right

MOST: Final = 1_000  # rows of an answer over the API
Rows = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
EventId = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class ReporterOrder(StrEnum):
    """Which persons come first: those with most of it, or the latest."""

    WRONG = "wrong"
    RIGHT = "right"
    COMPLAINTS = "complaints"
    PARDONS = "pardons"
    FIRST = "first"


class EventsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which events are asked for; without any condition the last ones."""

    person: str = ""
    what: EventKind | None = None
    rule: str = ""  # that speaks against them
    since: float = 0.0  # Unix seconds
    counts: bool | None = None
    before: EventId | None = None  # the next page: `next` of the one before
    most: Rows = 20


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some events, the newest first."""

    events: tuple[StoredEvent, ...]
    next: int | None  # `before` of the next page; None = there is none


class EventQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An event by its id."""

    id: EventId


class EarlierDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of an event that was replaced."""

    event: int
    turn: int
    time: float  # Unix seconds, when it fell
    counts: bool
    own: bool
    weight: float
    rules: tuple[str, ...]
    say: str


class EventDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All of an event but its message."""

    event: StoredEvent
    raw_octets: int  # that are kept of its message; 0 = none
    decisions_before: tuple[EarlierDecision, ...]


class EventTextQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The message of an event as it was handed in."""

    id: EventId
    reason: str = ""


class EventText(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it was handed in."""

    octets: bytes


class ReportersQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which of those who spoke are asked for."""

    order: ReporterOrder = ReporterOrder.COMPLAINTS
    most: Rows = 20


class ReporterList(msgspec.Struct, frozen=True, kw_only=True):
    """Those who spoke."""

    persons: tuple[ReporterSummary, ...]


class ReporterQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One who spoke, and the last of what they said."""

    person: str
    most: Rows = 10


class ReporterDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One who spoke."""

    person: ReporterSummary | None
    thresholds: DailyThresholds  # of today
    events: tuple[StoredEvent, ...]


@ask("events.list", Right.TRACK, scoped=True, person=("person",))
def list_events(site: Site, caller: Caller, asked: EventsQuestion) -> EventPage:
    """Return what was said, the newest first."""
    selection = EventFilter(
        person=person_named(asked.person) if asked.person else "",
        what=asked.what,
        rule=asked.rule.strip().upper(),
        since=asked.since,
        counts=asked.counts,
        before=asked.before,
        most=asked.most,
    )
    with open_event_log(site) as log:
        found = events(log, selection, caller.scope)
    last = found[-1].id if len(found) == asked.most else None
    return EventPage(events=tuple(found), next=last)


@ask("events.show", Right.TRACK, scoped=True)
def show_event(site: Site, caller: Caller, asked: EventQuestion) -> EventDetails:
    """Return what was decided of an event, why, what that replaced, and what followed."""
    with open_event_log(site) as log:
        event = find_event(log, asked.id, caller.scope)
        return EventDetails(
            event=event,
            raw_octets=len(log.raw(event.id)),
            decisions_before=tuple(
                EarlierDecision(**decision._asdict()) for decision in log.decisions(event.id)
            ),
        )


@ask("events.raw", Right.CONTENT, scoped=True, person=("id",))
def show_event_text(site: Site, caller: Caller, asked: EventTextQuestion) -> EventText:
    """Return the message of an event."""
    with open_event_log(site) as log:
        octets = log.raw(find_event(log, asked.id, caller.scope).id)
    if not octets:
        raise NotFoundError(f"the message of report {asked.id} is not kept")
    return EventText(octets=octets)


@ask("events.persons", Right.PERSON_SEE, scoped=True)
def list_reporters(site: Site, caller: Caller, asked: ReportersQuestion) -> ReporterList:
    """Return who spoke, and how far they are believed."""
    settings = site.loaded.settings
    with open_event_log(site) as log, opened_verdicts(settings, site.state) as verdicts:
        found = persons(log, verdicts, asked.order, asked.most, time.time(), caller.scope)
    return ReporterList(persons=tuple(found))


@ask("events.person", Right.PERSON_SEE, scoped=True, person=("person",))
def show_reporter(site: Site, caller: Caller, asked: ReporterQuestion) -> ReporterDetails:
    """Return how far a person is believed, and the last of what they said."""
    name, now, settings = person_named(asked.person), time.time(), site.loaded.settings
    order = ReporterOrder.FIRST
    with open_event_log(site) as log, opened_verdicts(settings, site.state) as verdicts:
        known = persons(log, verdicts, order, 1, now, caller.scope, name)
        said = events(log, EventFilter(person=name, most=asked.most), caller.scope)
        today = next((limit for _, limit in thresholds(log, 1)), FLOORS)
    if not known and not said:
        raise NotFoundError(f"{name} has never reported anything")
    return ReporterDetails(person=known[0] if known else None, thresholds=today, events=tuple(said))


def find_event(log: EventLog, ident: int, scope: Scope) -> StoredEvent:
    """Return an event of a scope.

    Raises:
        NotFoundError: there is none of this id, or its person is beyond the scope.
    """
    try:
        event = log.get(ident)
    except KeyError:
        event = None
    if event is None or not scope.covers(event.person):
        raise NotFoundError(f"there is no report {ident}")
    return event
