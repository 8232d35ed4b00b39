"""Asks about people: who may log in, who is logged in, which keys there are."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import NotAllowedError, ask
from oborona.desk.people.views import (
    KeyView,
    PasskeyView,
    PersonDetails,
    PersonView,
    key_view,
    open_people,
    passkey_view,
    person_named,
    person_view,
)
from oborona.desk.site import Site
from oborona.people.caller import Caller, CallWay
from oborona.people.key_book import KeyBook
from oborona.people.login_try import AttemptBook
from oborona.people.passkey_book import PasskeyBook
from oborona.people.person import Person
from oborona.people.rights import Right, Role
from oborona.people.session_book import PersonSession, SessionBook
from oborona.people.store import PeopleStore


class PeopleQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which people.

    Args:
        role: those who have it; None = everybody.
    """

    role: Role | None = None


class PersonQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which person."""

    name: str


class OwnQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """About who asks; there is nothing to say."""


class KeyQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which keys.

    Args:
        person: those of this one; empty = everybody's.
    """

    person: str = ""


class PeopleList(msgspec.Struct, frozen=True, kw_only=True):
    """People, by name."""

    people: list[PersonView]


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one person, the newest first."""

    sessions: list[PersonSession]


class PasskeyList(msgspec.Struct, frozen=True, kw_only=True):
    """Passkeys of one person, the oldest first."""

    passkeys: list[PasskeyView]


class KeyList(msgspec.Struct, frozen=True, kw_only=True):
    """Keys, by person and name."""

    keys: list[KeyView]


@ask("people.list", Right.PEOPLE_SEE)
def list_people(site: Site, caller: Caller, asked: PeopleQuestion) -> PeopleList:
    """Tell who may log in."""
    with open_people(site) as store:
        people = store.all()
    return PeopleList(
        people=[
            person_view(person)
            for person in people
            if asked.role is None or asked.role in person.roles
        ]
    )


@ask("people.show", Right.PEOPLE_SEE)
def show_person(site: Site, caller: Caller, asked: PersonQuestion) -> PersonDetails:
    """Tell of a person: what they may, their sessions and keys, the last tries by their name."""
    with open_people(site) as store:
        return _details(store, person_named(store, asked.name))


@ask("people.me", Right.AUDIT_OWN, scoped=True)
def show_oneself(site: Site, caller: Caller, asked: OwnQuestion) -> PersonDetails:
    """Tell who is logged in of themselves.

    Raises:
        NotAllowedError: it is a program, or somebody at a terminal.
    """
    if caller.way is not CallWay.PAGE:
        raise NotAllowedError("only who is logged in is asked about as themselves")
    with open_people(site) as store:
        return _details(store, person_named(store, caller.name))


@ask("passkeys.list", Right.PEOPLE_SEE)
def list_passkeys(site: Site, caller: Caller, asked: PersonQuestion) -> PasskeyList:
    """Tell which passkeys a person has."""
    with open_people(site) as store:
        return PasskeyList(passkeys=_passkeys(store, person_named(store, asked.name)))


@ask("people.sessions", Right.PEOPLE_SEE)
def list_sessions(site: Site, caller: Caller, asked: PersonQuestion) -> SessionList:
    """Tell where a person is logged in."""
    with open_people(site) as store:
        return SessionList(sessions=_sessions(store, person_named(store, asked.name)))


@ask("keys.list", Right.PEOPLE_SEE)
def list_keys(site: Site, caller: Caller, asked: KeyQuestion) -> KeyList:
    """Tell which keys there are; those that are over, too."""
    with open_people(site) as store:
        whose = person_named(store, asked.person).name if asked.person else ""
        keys = KeyBook(store).all()
    return KeyList(keys=[key_view(key) for key in keys if whose in ("", key.person)])


def _details(store: PeopleStore, person: Person) -> PersonDetails:
    return PersonDetails(
        person=person_view(person),
        passkeys=_passkeys(store, person),
        sessions=_sessions(store, person),
        keys=[key_view(key) for key in KeyBook(store).all() if key.person == person.name],
        tries=AttemptBook(store).of(person),
    )


def _sessions(store: PeopleStore, person: Person) -> list[PersonSession]:
    return SessionBook(store, step_required=False).of(person, time.time())


def _passkeys(store: PeopleStore, person: Person) -> list[PasskeyView]:
    return [passkey_view(key) for key in PasskeyBook(store).of(person)]
