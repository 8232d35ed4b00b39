"""People, their sessions and keys as answers show them, and the store that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from oborona import state_files
from oborona.desk.call import ActOrder, NotFoundError
from oborona.desk.configured_site import ConfiguredSite
from oborona.people.key_book import ApiKey
from oborona.people.login_try import LoginTry
from oborona.people.passkey_book import Passkey
from oborona.people.person import Person, PersonState, normal_name
from oborona.people.rights import Right, Role
from oborona.people.session_book import PersonSession
from oborona.people.store import PeopleStore


class PersonView(msgspec.Struct, frozen=True, kw_only=True):
    """A person.

    Args:
        domains: recipients' domains that narrow what they see; empty = none is named.
        addresses: their own.
        whole_site: they see everybody's mail, as far as their roles see any.
        password: they have set one.
        second_step: they log in with a code of a telephone, too.
        made: Unix seconds; so is the next.
        came: when they logged in last; 0 = never.
    """

    name: str
    roles: list[Role]
    domains: list[str]
    addresses: list[str]
    whole_site: bool
    language: str
    state: PersonState
    password: bool
    second_step: bool
    made: float
    made_by: str
    came: float


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """An API key.

    Args:
        person: for whom it calls.
        name: what it is for.
        domains: what narrows it; empty = nothing but its person's scope.
        made: Unix seconds; so are the next two.
        until: when it ends.
        last: when it was used; 0 = never.
        place: from where.
    """

    person: str
    name: str
    rights: list[Right]
    domains: list[str]
    made: float
    until: float
    last: float
    place: str


class PasskeyView(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey as lists show it.

    Args:
        ident: names it.
        name: that its person gave it.
        made: Unix seconds; so is the next.
        last: when it was used; 0 = never.
    """

    ident: str
    name: str
    made: float
    last: float


class PersonDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A person with their passkeys, sessions, keys, and the last tries to log in by their name."""

    person: PersonView
    passkeys: list[PasskeyView]
    sessions: list[PersonSession]
    keys: list[KeyView]
    tries: list[LoginTry]


def open_people(site: ConfiguredSite, *, make: bool = False) -> PeopleStore:
    """Open the store of people of a site.

    Args:
        site: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return PeopleStore(site.state / state_files.PEOPLE, make=make)


class _TriedError(Exception):
    """An order was tried: what it wrote is taken back."""


@contextmanager
def changed_people(
    site: ConfiguredSite, order: ActOrder, *, make: bool = False
) -> Iterator[PeopleStore]:
    """Open the store of people for an act: all that it writes, or nothing, as of one that is tried.

    Args:
        site: whose state folder it lies in.
        order: whether it is only tried.
        make: begin one where there is none.

    Raises:
        StoreError: as of `open_people`.
    """
    with open_people(site, make=make) as store, suppress(_TriedError), store.transaction():
        yield store
        if order.dry:
            raise _TriedError


def person_named(store: PeopleStore, name: str) -> Person:
    """Return a person by name.

    Raises:
        NotFoundError: there is none.
    """
    person = store.find(normal_name(name))
    if person is None:
        raise NotFoundError(f"there is nobody called {name[:100]!a}")
    return person


def person_view(person: Person) -> PersonView:
    """Return a person as answers show them."""
    return PersonView(
        name=person.name,
        roles=[role for role in Role if role in person.roles],
        domains=sorted(person.domains),
        addresses=sorted(person.addresses),
        whole_site=person.scope.whole,
        language=person.language,
        state=person.state,
        password=bool(person.password),
        second_step=bool(person.totp),
        made=person.made,
        made_by=person.made_by,
        came=person.came,
    )


def key_view(key: ApiKey) -> KeyView:
    """Return a key as answers show it."""
    return KeyView(
        person=key.person,
        name=key.name,
        rights=[right for right in Right if right in key.rights],
        domains=sorted(key.domains),
        made=key.made,
        until=key.until,
        last=key.last,
        place=key.place,
    )


def passkey_view(key: Passkey) -> PasskeyView:
    """Return a passkey as answers show it."""
    return PasskeyView(ident=key.ident, name=key.name, made=key.made, last=key.last)
