"""A reader's lists: entries put in, taken out, and put back exactly as they were."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from oborona import state_files
from oborona.desk.call import CallError
from oborona.desk.readers.addresses import OwnAddress
from oborona.desk.site import Site
from oborona.reputation.personal import (
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    entry,
    mail_address,
    of_octets,
)
from oborona.stores.persons.store import PersonStore

MOST: Final = 50  # entries about one sender
MAX_TEXT: Final = 4096  # octets of a text's values

EntryValue = Annotated[str, Meta(max_length=320)]


class EntryName(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry is about."""

    kind: PersonalEntryKind
    value: EntryValue


class EarlierEntries(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader had said of some things, before they said something else.

    Args:
        address: theirs.
        things: it is about.
        entries: of these things; none = nothing was said of them.
    """

    address: OwnAddress
    things: Annotated[tuple[EntryName, ...], Meta(max_length=MOST)]
    entries: Annotated[tuple[PersonalEntry, ...], Meta(max_length=MOST)] = ()


class EntryPlan(NamedTuple):
    """Entries that are to take the place of what was said of the same things."""

    things: tuple[EntryName, ...]
    entries: tuple[PersonalEntry, ...]


@contextmanager
def open_persons(site: Site, *, make: bool = True) -> Iterator[PersonStore]:
    """Open the store of persons as the daemon's user.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    with site.as_owner(), PersonStore(site.state / state_files.PERSONS, make=make) as store:
        yield store


def planned_entry(side: EntryAction, what: str, now: float) -> EntryPlan:
    """Return the entry that allows or denies an address or a domain.

    An address is denied to whoever claims it, too.

    Args:
        side: allow or deny.
        what: as a reader writes it.
        now: Unix seconds.

    Raises:
        CallError: it is neither.
    """
    text = what.strip()
    address = mail_address(text)
    kind = PersonalEntryKind.ADDRESS if address else PersonalEntryKind.DOMAIN
    try:
        made = entry(side, kind, text, time=now, note="on the reader's page")
    except InvalidPersonalEntry:
        raise CallError(
            f"{text[:100]!a} is no mail address, such as ann@example.org, and no domain that "
            "somebody registered, such as example.org"
        ) from None
    return EntryPlan(things=things_of(made.value, kind), entries=(made,))


def things_of(value: str, kind: PersonalEntryKind) -> tuple[EntryName, ...]:
    """Return all that an entry's words are about: an address is that of who proves it, and of who
    claims it.
    """
    named = EntryName(kind=kind, value=value)
    if kind is not PersonalEntryKind.ADDRESS:
        return (named,)
    return (named, EntryName(kind=PersonalEntryKind.CLAIMED, value=value))


def said_of(store: PersonStore, address: str, things: Sequence[EntryName]) -> EarlierEntries:
    """Return what a reader has said of some things; whom they know is no word of theirs."""
    named = {(thing.kind, thing.value) for thing in things}
    entries = tuple(
        one
        for one in store.of(address).entries
        if one.side is not EntryAction.CONTACT and (one.kind, one.value) in named
    )
    return EarlierEntries(address=address, things=tuple(things), entries=entries[:MOST])


def put_in_place(
    store: PersonStore, address: str, plan: EntryPlan, now: float
) -> EarlierEntries | None:
    """Write entries in the place of what was said of the same things.

    Returns:
        What was said of them before; None = the same.
    """
    before = said_of(store, address, plan.things)
    if [_meaning(one) for one in before.entries] == [_meaning(one) for one in plan.entries]:
        return None
    named = [(thing.kind, thing.value) for thing in plan.things]
    store.replace(address, named, plan.entries, now=now)
    return before


def checked_entries(earlier: EarlierEntries) -> EntryPlan:
    """Return entries that are put back, each made anew from what it says.

    Raises:
        CallError: one of them can be none, or is about something else.
    """
    things = {(thing.kind, thing.value) for thing in earlier.things}
    made = []
    for given in earlier.entries:
        if given.side is EntryAction.CONTACT or (given.kind, given.value) not in things:
            raise CallError("an entry is not about what is put back")
        try:
            one = _made_anew(given)
        except InvalidPersonalEntry as error:
            raise CallError(str(error)) from None
        if (one.kind, one.value) != (given.kind, given.value):
            raise CallError(f"{given.value[:100]!a} is not in its normal form")
        made.append(one)
    return EntryPlan(things=earlier.things, entries=tuple(made))


def _made_anew(given: PersonalEntry) -> PersonalEntry:
    now = time.time()
    said = min(given.time, now) if given.time == given.time else now  # NaN is no time
    word = given.word if 0 <= given.word < 1 << 63 else 0
    if given.kind is PersonalEntryKind.TEXT:
        if not 0 < len(given.text) <= MAX_TEXT:
            raise InvalidPersonalEntry("a text has values")
        return of_octets(given.side, given.text, time=said, source=given.source, word=word)
    return entry(
        given.side,
        given.kind,
        given.value,
        beside=given.beside,
        time=said,
        source=given.source,
        expires=given.expires if given.expires > 0 else 0.0,
        word=word,
        note=given.note,
    )


def _meaning(one: PersonalEntry) -> tuple[object, ...]:
    return one.side, one.kind, one.value, one.beside, one.expires
