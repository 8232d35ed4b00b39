"""A person's own lists, contacts and strictness."""

from __future__ import annotations

import time

import msgspec

from oborona.desk.call import ask
from oborona.desk.persons.store import open_persons, person_within
from oborona.desk.persons.transfer import FORMAT, PersonExport
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.personal import (
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
)


class PersonalListQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which person.

    Args:
        person: mail address.
        contacts: also each contact; else how many there are.
    """

    person: str
    contacts: bool = False


class ShownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a person's lists.

    Args:
        side: allowed, denied, or known.
        kind: of the value.
        value: whom or what it is about.
        beside: domain that mail of a list is proved to come from.
        time: since when, Unix seconds.
        source: where it comes from.
        expires: Unix seconds; 0 = never.
        expired: it is over.
        word: number of the word that it follows from; 0 = of none.
        note: for people.
    """

    side: EntryAction
    kind: PersonalEntryKind
    value: str
    beside: str
    time: float
    source: PersonalEntrySource
    expires: float
    expired: bool
    word: int
    note: str


class ShownPerson(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a person.

    Args:
        person: mail address in its normal form.
        strictness: factor of the spam threshold.
        contacts: how many.
        entries: the newest last.
    """

    person: str
    strictness: float
    contacts: int
    entries: list[ShownEntry]


@ask("personal.show", Right.PERSON_SEE, Right.OWN, scoped=True, person=("person",))
def show_person(site: Site, caller: Caller, asked: PersonalListQuestion) -> ShownPerson:
    """Return a person's entries.

    Raises:
        UnusableValueError: it is no mail address.
        NotFoundError: the person is beyond what the caller may see.
        StoreError: the store can't be read, or there is none.
    """
    address, now = person_within(caller, asked.person, Right.PERSON_SEE), time.time()
    with open_persons(site, make=False) as store:
        profile = store.of(address)
    contacts = sum(own_entry.side is EntryAction.CONTACT for own_entry in profile.entries)
    return ShownPerson(
        person=address,
        strictness=profile.strictness,
        contacts=contacts,
        entries=[
            shown_entry(own_entry, now)
            for own_entry in profile.entries
            if asked.contacts or own_entry.side is not EntryAction.CONTACT
        ],
    )


def shown_entry(own_entry: PersonalEntry, now: float) -> ShownEntry:
    """Return an entry as it is shown."""
    return ShownEntry(
        side=own_entry.side,
        kind=own_entry.kind,
        value=own_entry.value,
        beside=own_entry.beside,
        time=own_entry.time,
        source=own_entry.source,
        expires=own_entry.expires,
        expired=own_entry.expired(now),
        word=own_entry.word,
        note=own_entry.note,
    )


class PersonExportQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which person, by their mail address."""

    person: str


@ask("personal.export", Right.PERSON_SEE, Right.OWN, scoped=True, person=("person",))
def export_person(site: Site, caller: Caller, asked: PersonExportQuestion) -> PersonExport:
    """Return all that is kept of a person, as `personal.import` takes it.

    Raises:
        UnusableValueError: it is no mail address.
        NotFoundError: the person is beyond what the caller may see.
        StoreError: the store can't be read, or there is none.
    """
    address = person_within(caller, asked.person, Right.PERSON_SEE)
    with open_persons(site, make=False) as store:
        profile = store.of(address)
    return PersonExport(
        format=FORMAT,
        person=address,
        strictness=profile.strictness,
        entries=tuple(profile.entries),
    )
