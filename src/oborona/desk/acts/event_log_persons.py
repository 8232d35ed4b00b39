"""Acts on persons of event logs: what an admin says of one, and rules that are not held against one
for a while.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.daemon.event_logs import check_packages
from oborona.desk.act_report import ActReport
from oborona.desk.asks.event_log_persons import EventLogPerson, known_persons
from oborona.desk.asks.event_logs import EventLogName
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.event_logs.logs import (
    log_named,
    named_hashes,
    open_log_store,
)
from oborona.desk.event_logs.suppressible_rules import check_suppressible
from oborona.desk.refusals import NothingDoneError, UnusableValueError
from oborona.desk.site import Site
from oborona.eventlog.persons.word_book import PersonWord, PersonWordBook
from oborona.eventlog.suppression.book import RuleSuppression, SuppressionBook
from oborona.eventlog.suppression.quiet_rule import EVERY
from oborona.people.caller import Caller
from oborona.people.rights import Right

LONGEST_S: Final = 366 * 86_400.0
MAX_WHY: Final = 500  # characters
_CLOCKS_S: Final = 60.0  # by which callers' clocks may differ from ours
PersonParts = Annotated[list[str], Meta(min_length=1, max_length=20)]


class PersonSaid(StrEnum):
    """What is said of a person."""

    FRAUD = "fraud"
    GOOD = "good"
    NOTHING = "nothing"  # what was said is taken back


class PersonSayingOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What is to be said of a person of a log; the reason is kept.

    Args:
        log: its name.
        person: a number as tables have it, or a name: an address, a login, a network.
        said: of them.
    """

    log: EventLogName
    person: str
    said: PersonSaid


class SaidPersons(ActReport, frozen=True, kw_only=True):
    """What a log knows of whoever it may call so now; in a dry run, as it was."""

    persons: tuple[EventLogPerson, ...]


@act("eventlog.say", Right.TEACH, about=("log", "person"))
def say_of_person(site: Site, _caller: Caller, asked: PersonSayingOrder) -> SaidPersons:
    """Say that a person of a log is fraud, or is none; models of persons are trained on it.

    Raises:
        ConfigError: packages are missing, there is no such log, or that is no person of it.
        NothingDoneError: there is nothing to take back.
        StoreError: no log has been checked, or what is known of them can't be written.
    """
    check_packages()
    log_named(site, asked.log)
    hashes = named_hashes(site, asked.log, (asked.person,))
    with open_log_store(site) as store:
        book = PersonWordBook(store, asked.log)
        words = book.words()
        before = {_said(words.get(one)) for one in hashes}
        if asked.said is PersonSaid.NOTHING:
            if before == {PersonSaid.NOTHING}:
                raise NothingDoneError("nothing was said of this person")
            if not asked.dry:
                for one in hashes:
                    book.take_back(one)
        elif not asked.dry:
            for one in hashes:
                fraud = asked.said is PersonSaid.FRAUD
                book.say(PersonWord(person=one, fraud=fraud, why=asked.reason, time=time.time()))
        undo = None
        if len(before) == 1:
            named = {"log": asked.log, "person": asked.person, "said": before.pop()}
            undo = UndoCall(call="eventlog.say", asked=named)
        persons = known_persons(store, asked.log, hashes)
    return SaidPersons(dry=asked.dry, undo=undo, persons=persons)


def _said(word: PersonWord | None) -> PersonSaid:
    if word is None:
        return PersonSaid.NOTHING
    return PersonSaid.FRAUD if word.fraud else PersonSaid.GOOD


class SuppressionOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Rules that are not to be held against a person; the reason is kept.

    Args:
        log: its name.
        person: a number as tables have it, or a name; of a log of others all parts that it
            declares, in their order.
        until: Unix seconds.
        since: the same, for what is judged from now on; 0 = now.
        rule: this one alone; empty = all but DUPLICATE.
    """

    log: EventLogName
    person: PersonParts
    until: float
    since: float = 0.0
    rule: str = ""


class BegunSuppressions(ActReport, frozen=True, kw_only=True):
    """What is not held against a person now; in a dry run, would not be."""

    suppressions: tuple[RuleSuppression, ...]


@act("eventlog.suppress", Right.ENTITY, about=("log", "person"))
def suppress_rules(site: Site, caller: Caller, asked: SuppressionOrder) -> BegunSuppressions:
    """Don't hold rules of a log against a person for a while.

    Raises:
        ConfigError: packages are missing, there is no such log or rule, that is no person of the
            log, or too much is suppressed.
        UnusableValueError: the reason or a time can't be used.
        StoreError: no log has been checked, or what is known of them can't be written.
    """
    check_packages()
    schema = log_named(site, asked.log)
    if asked.rule:
        check_suppressible(site, schema, asked.rule)
    now = time.time()
    since = asked.since or now
    if not since <= asked.until <= now + LONGEST_S + _CLOCKS_S:
        raise UnusableValueError("it ends after it begins, within 366 days from now", "until")
    if not now - LONGEST_S - _CLOCKS_S <= since <= now + _CLOCKS_S:
        raise UnusableValueError("it begins within 366 days before now", "since")
    if not asked.dry and not is_one_line(asked.reason):
        raise UnusableValueError(
            f"one line of printable text, of at most {MAX_WHY} characters", "reason"
        )
    begun = [
        RuleSuppression(
            person=one,
            rule=asked.rule or EVERY,
            since=since,
            until=asked.until,
            who=caller.name,
            why=asked.reason,
            asked=now,
        )
        for one in named_hashes(site, asked.log, asked.person)
    ]
    if not asked.dry:
        with open_log_store(site) as store:
            for one in begun:
                SuppressionBook(store, asked.log).begin(one)
    named = {"log": asked.log, "person": asked.person, "rule": asked.rule}
    undo = UndoCall(call="eventlog.unsuppress", asked=named)
    return BegunSuppressions(dry=asked.dry, undo=undo, suppressions=tuple(begun))


def is_one_line(text: str) -> bool:
    """Tell whether a text can be why rules are suppressed."""
    return bool(text.strip()) and text.isprintable() and len(text) <= MAX_WHY


class SuppressionEndOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What is to be held against a person again.

    Args:
        log: its name.
        person: as of `eventlog.suppress`.
        rule: what was said of this one alone; empty = all.
    """

    log: EventLogName
    person: PersonParts
    rule: str = ""


class EndedSuppressions(msgspec.Struct, frozen=True, kw_only=True):
    """How many suppressions are ended; in a dry run, would be."""

    ended: int


@act("eventlog.unsuppress", Right.ENTITY, about=("log", "person"))
def end_suppressions(site: Site, caller: Caller, asked: SuppressionEndOrder) -> EndedSuppressions:
    """Hold rules of a log against a person again, from now on.

    Raises:
        ConfigError: packages are missing, there is no such log, or that is no person of it.
        NothingDoneError: nothing is suppressed for the person.
        StoreError: no log has been checked, or what is known of them can't be written.
    """
    check_packages()
    log_named(site, asked.log)
    now = time.time()
    with open_log_store(site) as store:
        book = SuppressionBook(store, asked.log)
        hashes = named_hashes(site, asked.log, asked.person)
        if asked.dry:
            ended = sum(
                one.is_open(now) and asked.rule in ("", one.rule)
                for person in hashes
                for one in book.all(person)
            )
        else:
            ended = sum(book.take_back(one, asked.rule or None, caller.name, now) for one in hashes)
    if not ended:
        raise NothingDoneError("nothing is suppressed for this person")
    return EndedSuppressions(ended=ended)
