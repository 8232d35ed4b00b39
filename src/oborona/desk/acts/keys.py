"""Acts on API keys: made, and removed."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import ActOrder, NotAllowedError, act
from oborona.desk.people.authority import check_gift, check_power
from oborona.desk.people.views import changed_people, person_named
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay
from oborona.people.key_book import KeyBook, narrowed
from oborona.people.person import checked_domains
from oborona.people.rights import Right

DAY_S = 86_400.0


class NewKeyOrder(ActOrder, kw_only=True):
    """A key that is to be made.

    Args:
        person: for whom it calls: who is logged in; at a terminal anybody.
        name: what it is for.
        rights: what it may; all of them the person's.
        domains: recipients' domains that narrow it; empty = nothing but the person's scope.
        days: it ends after so many.
    """

    person: str
    name: str
    rights: list[Right]
    domains: list[str] = msgspec.field(default_factory=list)
    days: float


class KeyOrder(ActOrder, kw_only=True):
    """Which key."""

    person: str
    name: str


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key; it is shown once.

    Args:
        key: empty: it was tried.
        until: it works that long, Unix seconds.
    """

    person: str
    name: str
    key: str
    until: float


class RemovedKey(msgspec.Struct, frozen=True, kw_only=True):
    """Which key was removed."""

    person: str
    name: str


@act("keys.add", Right.PEOPLE, about=("person", "name"), tells_secret=True)
def add_key(site: Site, caller: Caller, asked: NewKeyOrder) -> NewKey:
    """Make an API key for a program.

    Raises:
        PeopleError: it can't be: its name, its end, a right that its person has not.
        NotAllowedError: a key asks for it, or somebody asks for another, or the caller would give
            what they have not.
    """
    now = time.time()
    with changed_people(site, asked) as store:
        person = person_named(store, asked.person)
        own = caller.way is CallWay.PAGE and person.name == caller.name
        if not own and caller.way is not CallWay.TERMINAL:
            raise NotAllowedError("a key is made by whom it calls for, logged in, or at a terminal")
        domains = checked_domains(asked.domains)
        check_gift(caller, frozenset(asked.rights), narrowed(person.scope, domains))
        until = now + asked.days * DAY_S
        key = KeyBook(store).add(
            person, asked.name, rights=asked.rights, domains=domains, until=until, now=now
        )
    return NewKey(person=person.name, name=asked.name, key="" if asked.dry else key, until=until)


@act("keys.remove", Right.PEOPLE, about=("person", "name"))
def remove_key(site: Site, caller: Caller, asked: KeyOrder) -> RemovedKey:
    """Remove an API key: it works no more.

    Raises:
        PeopleError: there is none such.
        NotAllowedError: its person may do what the caller may not.
    """
    with changed_people(site, asked) as store:
        person = person_named(store, asked.person)
        check_power(caller, person)
        KeyBook(store).remove(person, asked.name)
    return RemovedKey(person=person.name, name=asked.name)
