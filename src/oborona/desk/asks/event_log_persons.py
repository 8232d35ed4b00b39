"""Asks about persons of event logs: what is known, what is not held against one, who is gone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec

from oborona.daemon.event_logs import check_packages
from oborona.desk.asks.event_logs import EventLogName
from oborona.desk.call import ask
from oborona.desk.event_logs.logs import log_named, named_hashes, open_log_store
from oborona.desk.site import Site
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.daily.book import CaughtDay, DayPassBook
from oborona.eventlog.erasure.book import ErasureBook, PersonErasure
from oborona.eventlog.known_logs import schemas
from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook
from oborona.eventlog.suppression.book import RuleSuppression, SuppressionBook
from oborona.people.caller import Caller
from oborona.people.rights import Right


class EventLogPersonQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A person of a log.

    Args:
        log: its name.
        person: a number as tables have it, or a name: an address, a login, a network.
    """

    log: EventLogName
    person: str


class EventLogPerson(msgspec.Struct, frozen=True, kw_only=True):
    """What a log knows of a person.

    Args:
        person: keyed hash, as tables have it.
        word: what an admin says; None = nobody has said anything.
        caught: on which days, with how many rows.
        suppressed: rules that are not held against them, or were not.
    """

    person: int
    word: PersonWord | None
    caught: dict[str, CaughtDay]
    suppressed: list[RuleSuppression]


class EventLogPersons(msgspec.Struct, frozen=True, kw_only=True):
    """What a log knows of whoever it may call so."""

    persons: tuple[EventLogPerson, ...]


@ask("eventlog.person", Right.PERSON_SEE, person=("person",))
def show_event_person(
    site: Site, _caller: Caller, asked: EventLogPersonQuestion
) -> EventLogPersons:
    """Return on which days a log caught a person, and what was said of them.

    Raises:
        ConfigError: packages are missing, there is no such log, or that is no person of it.
        StoreError: no log has been checked, or what is known of them can't be read.
    """
    check_packages()
    log_named(site, asked.log)
    hashes = named_hashes(site, asked.log, (asked.person,))
    with open_log_store(site) as store:
        return EventLogPersons(persons=known_persons(store, asked.log, hashes))


def known_persons(store: LogStore, log: str, hashes: Sequence[int]) -> tuple[EventLogPerson, ...]:
    """Return what is known of persons."""
    words = PersonWordBook(store, log).words()
    return tuple(
        EventLogPerson(
            person=one,
            word=words.get(one),
            caught=DayPassBook(store, log).days_of(one),
            suppressed=SuppressionBook(store, log).all(one),
        )
        for one in hashes
    )


class SuppressionsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Suppressions of a log.

    Args:
        log: its name.
        over: those that are over, too.
    """

    log: EventLogName
    over: bool = False


class SuppressionList(msgspec.Struct, frozen=True, kw_only=True):
    """Suppressions, the last first."""

    suppressions: tuple[RuleSuppression, ...]


@ask("eventlog.suppressed", Right.PERSON_SEE)
def list_suppressions(site: Site, _caller: Caller, asked: SuppressionsQuestion) -> SuppressionList:
    """Return for which persons of a log rules are suppressed, until when, by whom and why.

    Raises:
        ConfigError: packages are missing, or there is no such log.
        StoreError: no log has been checked, or what is known of them can't be read.
    """
    check_packages()
    log_named(site, asked.log)
    now = time.time()
    with open_log_store(site) as store:
        found = SuppressionBook(store, asked.log).all()
    return SuppressionList(
        suppressions=tuple(one for one in found if asked.over or one.is_open(now))
    )


class ErasuresQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """In which log; empty = in all."""

    log: str = ""


class LogErasure(msgspec.Struct, frozen=True, kw_only=True):
    """That a person is taken out of a log.

    Args:
        log: its name.
        erasure: its number.
        asked: Unix seconds.
        done: the same; None = it waits.
        removed: rows, by kind of table.
        unread: tables that can't be read: nobody knows whose rows they have.
    """

    log: str
    erasure: int
    asked: float
    done: float | None
    removed: Mapping[str, int]
    unread: tuple[str, ...]


class LogErasures(msgspec.Struct, frozen=True, kw_only=True):
    """Who was to be taken out, log by log, the first first."""

    erasures: tuple[LogErasure, ...]


@ask("eventlog.erasures", Right.STATUS)
def list_erasures(site: Site, _caller: Caller, asked: ErasuresQuestion) -> LogErasures:
    """Return which persons were to be taken out of logs, and whether they are.

    Raises:
        ConfigError: packages are missing, or there is no such log.
        StoreError: no log has been checked, or what is known of them can't be read.
    """
    check_packages()
    names = (
        [log_named(site, asked.log).name]
        if asked.log
        else [one.name for one in schemas(site.loaded.settings)]
    )
    with open_log_store(site) as store:
        return LogErasures(
            erasures=tuple(
                log_erasure(log, one) for log in names for one in ErasureBook(store, log).all()
            )
        )


def log_erasure(log: str, one: PersonErasure) -> LogErasure:
    """Return an erasure as it is told."""
    return LogErasure(
        log=log,
        erasure=one.id,
        asked=one.asked,
        done=one.done,
        removed=one.removed,
        unread=one.unread,
    )
