"""Acts on people: who may log in, and with what."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.people.authority import check_gift, check_power
from oborona.desk.people.views import PersonView, changed_people, person_named, person_view
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.link_book import LINK_S, PATH, LinkBook
from oborona.people.person import (
    Person,
    PersonState,
    checked_addresses,
    checked_domains,
    checked_language,
    checked_name,
    checked_roles,
    scope_of,
)
from oborona.people.rights import Right, Role, rights_of
from oborona.people.store import PeopleStore, new_person


class PersonOrder(ActOrder, kw_only=True):
    """Whom an act is about."""

    name: str


class NewPersonOrder(PersonOrder, kw_only=True):
    """Somebody who is to be added.

    Args:
        roles: one at least.
        domains: recipients' domains that narrow what they see; empty = staff see the whole site.
        addresses: their own.
        language: of the pages.
    """

    roles: list[Role]
    domains: list[str] = msgspec.field(default_factory=list)
    addresses: list[str] = msgspec.field(default_factory=list)
    language: str = "en"


class RolesOrder(PersonOrder, kw_only=True):
    """What a person may from now on; None = as it is.

    Args:
        domains: empty = nothing narrows it.
    """

    roles: list[Role] | None = None
    domains: list[str] | None = None
    addresses: list[str] | None = None
    language: str | None = None


class LinkOrder(PersonOrder, kw_only=True):
    """Who gets a new link.

    Args:
        without_step: their second step is removed, too: the telephone is lost.
    """

    without_step: bool = False


class PersonAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A person as they are now.

    Args:
        undo: makes them what they were; their sessions stay ended.
    """

    person: PersonView
    undo: UndoCall | None = None


class PersonLink(msgspec.Struct, frozen=True, kw_only=True):
    """A person, and the link by which they set a password.

    Args:
        path: of the link, below the address of the console; it is shown once. Empty: it was tried.
        until: it works that long, Unix seconds.
    """

    person: PersonView
    path: str
    until: float


class ForgottenPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Who was forgotten."""

    name: str


@act("people.add", Right.PEOPLE, about=("name",), tells_secret=True)
def add_person(site: Site, caller: Caller, asked: NewPersonOrder) -> PersonLink:
    """Add a person, who sets their password by a link.

    Raises:
        PeopleError: it can't be: the name, a role, a domain.
        NotAllowedError: the caller would give what they have not.
    """
    now = time.time()
    person = new_person(
        checked_name(asked.name),
        roles=checked_roles(asked.roles),
        domains=checked_domains(asked.domains),
        addresses=checked_addresses(asked.addresses),
        language=checked_language(asked.language),
        made_by=caller.name,
        now=now,
    )
    check_gift(caller, person.rights, person.scope)
    with changed_people(site, asked, make=True) as store:
        return _link(store, store.add(person), now, asked)


@act("people.roles", Right.PEOPLE, about=("name",))
def change_roles(site: Site, caller: Caller, asked: RolesOrder) -> PersonAnswer:
    """Change what a person may; their sessions end.

    Raises:
        PeopleError: it can't be: a role, a domain, the last admin.
        NotAllowedError: the caller would give or take what they have not.
    """
    with changed_people(site, asked) as store:
        person = person_named(store, asked.name)
        check_power(caller, person)
        roles = person.roles if asked.roles is None else checked_roles(asked.roles)
        domains = person.domains if asked.domains is None else checked_domains(asked.domains)
        addresses = (
            person.addresses if asked.addresses is None else checked_addresses(asked.addresses)
        )
        language = person.language if asked.language is None else checked_language(asked.language)
        check_gift(caller, rights_of(roles), scope_of(roles, domains, addresses))
        changed = msgspec.structs.replace(
            person, roles=roles, domains=domains, addresses=addresses, language=language
        )
        store.change(changed, ends=True)
    before = {
        "name": person.name,
        "roles": sorted(person.roles),
        "domains": sorted(person.domains),
        "addresses": sorted(person.addresses),
        "language": person.language,
    }
    return PersonAnswer(person=person_view(changed), undo=UndoCall("people.roles", before))


@act("people.off", Right.PEOPLE, about=("name",))
def turn_off(site: Site, caller: Caller, asked: PersonOrder) -> PersonAnswer:
    """Let a person log in no more, nor their keys call; their sessions end.

    Raises:
        PeopleError: it is the last admin.
        NotAllowedError: they may do what the caller may not.
    """
    return _set_state(site, caller, asked, PersonState.OFF)


@act("people.on", Right.PEOPLE, about=("name",))
def turn_on(site: Site, caller: Caller, asked: PersonOrder) -> PersonAnswer:
    """Let a person log in again, with the password that they had.

    Raises:
        NotAllowedError: they may do what the caller may not.
    """
    return _set_state(site, caller, asked, PersonState.ACTIVE)


@act("people.link", Right.PEOPLE, about=("name",), tells_secret=True)
def make_link(site: Site, caller: Caller, asked: LinkOrder) -> PersonLink:
    """Give a person a new link; their password is void, and their sessions end.

    Raises:
        NotAllowedError: they may do what the caller may not.
    """
    with changed_people(site, asked) as store:
        person = person_named(store, asked.name)
        check_power(caller, person)
        store.void_password(person)
        if asked.without_step:
            store.drop_step(person)
        return _link(store, store.named(person.name), time.time(), asked)


@act("people.forget", Right.PEOPLE, about=("name",))
def forget_person(site: Site, caller: Caller, asked: PersonOrder) -> ForgottenPerson:
    """Drop a person with their keys, their sessions and the tries to log in by their name.

    Raises:
        PeopleError: it is the last admin.
        NotAllowedError: they may do what the caller may not.
    """
    with changed_people(site, asked) as store:
        person = person_named(store, asked.name)
        check_power(caller, person)
        store.forget(person)
    return ForgottenPerson(name=person.name)


def _set_state(site: Site, caller: Caller, asked: PersonOrder, state: PersonState) -> PersonAnswer:
    with changed_people(site, asked) as store:
        person = person_named(store, asked.name)
        check_power(caller, person)
        changed = msgspec.structs.replace(person, state=state)
        store.change(changed, ends=True)
    back = "people.on" if state is PersonState.OFF else "people.off"
    undo = UndoCall(back, {"name": person.name}) if person.state is not state else None
    return PersonAnswer(person=person_view(changed), undo=undo)


def _link(store: PeopleStore, person: Person, now: float, asked: PersonOrder) -> PersonLink:
    if asked.dry:  # there is none
        return PersonLink(person=person_view(person), path="", until=now + LINK_S)
    token = LinkBook(store).make(person, now)
    return PersonLink(person=person_view(person), path=f"{PATH}{token}", until=now + LINK_S)
