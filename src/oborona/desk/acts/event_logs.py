"""Acts that the process of event logs carries out: a person is taken out of logs, and a day is gone
over.  What a call does is to ask it.
"""

from __future__ import annotations

import time
from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta

from oborona import lock, state_files
from oborona.daemon.event_logs import check_packages
from oborona.desk.acts.event_log_persons import PersonParts
from oborona.desk.asks.event_log_persons import LogErasure, log_erasure
from oborona.desk.asks.event_logs import DAY_S, EventLogName
from oborona.desk.call import ActOrder, act
from oborona.desk.event_logs.logs import log_named, open_log_store, person_hashes
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.errors import ConfigError
from oborona.eventlog.daily.book import DayPassBook
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.erasure.persons import scrub_reasons
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.known_logs import root_folder, schemas
from oborona.eventlog.schema import OWN_NAMES
from oborona.people.caller import Caller
from oborona.people.rights import Right


class ErasureOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Who is to be taken out of event logs.

    Args:
        person: an address, a login, a network; of a log of others all parts that it declares, in
            their order.
        log: this one alone; empty = our own.
    """

    person: PersonParts
    log: str = ""


class AskedErasures(msgspec.Struct, frozen=True, kw_only=True):
    """Erasures that were asked for.

    Args:
        erasures: log by log.
        runs: the process of event logs does, and carries them out.
    """

    erasures: tuple[LogErasure, ...]
    runs: bool


@act("eventlog.forget", Right.SYSTEM, about=("person",))
def forget_event_person(site: Site, _caller: Caller, asked: ErasureOrder) -> AskedErasures:
    """Have a person taken out of all tables of event logs; nothing brings the rows back.

    `eventlog.erasures` tells when it is done.

    Raises:
        ConfigError: packages are missing, there is no such log, or that is no person of it.
        StoreError: no log has been checked, or what is known of them can't be written.
    """
    check_packages()
    settings = site.loaded.settings
    names = (
        [log_named(site, asked.log).name]
        if asked.log
        else [one.name for one in schemas(settings) if one.name in OWN_NAMES]
    )
    with open_log_store(site) as store:
        hashes = {log: person_hashes(site, log, asked.person) for log in names}
        erasures = []
        for log in names:
            book = ErasureBook(store, log)
            numbers = set(book.ask(hashes[log], time.time()))
            book.scrub(asked.person)
            folder = LogFolder(root_folder(settings, site.state), log)
            scrub_reasons(folder.aside_folder, asked.person)
            erasures += [log_erasure(log, one) for one in book.all() if one.id in numbers]
        runs = lock.holder(site.state / state_files.EVENT_LOG_LOCK) is not None
    return AskedErasures(erasures=tuple(erasures), runs=runs)


class DayPassOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A day that is to be gone over.

    Args:
        log: its name.
        day: UTC, as 2026-11-23; empty = yesterday.
    """

    log: EventLogName
    day: Annotated[str, Meta(max_length=10)] = ""


class AskedDayPass(msgspec.Struct, frozen=True, kw_only=True):
    """A pass that was asked for.

    Args:
        log: its name.
        day: UTC.
        asked_of: the process that does it within seconds; empty = none runs, and it waits for one.
    """

    log: str
    day: str
    asked_of: str


@act("eventlog.pass", Right.RELOAD, about=("log",))
def ask_day_pass(site: Site, _caller: Caller, asked: DayPassOrder) -> AskedDayPass:
    """Have a whole day of a log gone over: all rules look at all of its rows.

    Raises:
        ConfigError: packages are missing, there is no such log, or the day has no rows yet.
        UnusableValueError: it is no day.
        StoreError: no log has been checked, or what is known of them can't be written.
    """
    check_packages()
    log_named(site, asked.log)
    try:
        day = date.fromisoformat(asked.day).isoformat() if asked.day else ""
    except ValueError:
        raise UnusableValueError(
            f"{asked.day!r} is no day; write one as 2026-11-23", "day"
        ) from None
    day = day or time.strftime("%Y-%m-%d", time.gmtime(time.time() - DAY_S))
    with open_log_store(site) as store:
        book = DayPassBook(store, asked.log)
        if not book.days(day, day):
            raise ConfigError(f"the day {day} of {asked.log} has no rows, or is not delivered yet")
        book.request(day)
        holder = lock.holder(site.state / state_files.EVENT_LOG_LOCK)
    return AskedDayPass(log=asked.log, day=day, asked_of="" if holder is None else str(holder))
