"""A person's own lists, contacts and strictness are changed."""

from __future__ import annotations

import math
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.asks.personal import ShownEntry, shown_entry
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.persons.store import open_persons, person_within, stored_person
from oborona.desk.persons.transfer import read_person, undo_file
from oborona.desk.refusals import MisusedCallError, UnusableValueError
from oborona.desk.site import Site
from oborona.domains import registrable
from oborona.feedback.address_book import MAX_OCTETS, BrokenAddressBook
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.policy.signatures.check import LAST_TIME
from oborona.reputation.personal import (
    LAXEST,
    STRICTEST,
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    entry,
    list_name,
    mail_address,
)

MOST_VALUES: Final = 1000  # in one call
_Values = Annotated[list[str], Meta(max_length=MOST_VALUES)]


class DenyOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What a person denies.

    Args:
        person: mail address.
        what: mail addresses in From, or what `kind` says.
        kind: of these.
        expires: Unix seconds; 0 = never.
        note: for people; empty = who did it.
    """

    person: str
    what: _Values
    kind: PersonalEntryKind = PersonalEntryKind.ADDRESS
    expires: float = 0.0
    note: str = ""


class AllowOrder(DenyOrder, kw_only=True, forbid_unknown_fields=True):
    """What a person allows.

    Args:
        beside: of a list: the domain that its mail must be proved to come from; empty = that of its
            List-Id.
    """

    beside: str = ""


class ListedEntries(ActReport, frozen=True, kw_only=True):
    """Entries that a person has now.

    Args:
        person: mail address in its normal form.
        entries: that were put.
        say: each in words.
    """

    person: str
    entries: list[ShownEntry]
    say: list[str]


@act("personal.allow", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def allow_senders(site: Site, caller: Caller, asked: AllowOrder) -> ListedEntries:
    """Allow senders whose identity is proved: into the inbox, whatever the score.

    Raises:
        UnusableValueError: something is not what its kind says.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    if asked.beside and asked.kind is not PersonalEntryKind.LIST:
        raise MisusedCallError("a domain beside it is of lists alone")
    return _put(site, caller, asked, EntryAction.ALLOW, asked.beside)


@act("personal.deny", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def deny_senders(site: Site, caller: Caller, asked: DenyOrder) -> ListedEntries:
    """Deny senders, and whoever claims to be them: into the spam folder at least.

    Raises:
        UnusableValueError: something is not what its kind says.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    return _put(site, caller, asked, EntryAction.DENY, "")


def _put(
    site: Site, caller: Caller, asked: DenyOrder, side: EntryAction, beside: str
) -> ListedEntries:
    now, address = time.time(), person_within(caller, asked.person, Right.PERSON)
    if asked.expires and not now < asked.expires <= LAST_TIME:
        raise UnusableValueError("an end is 0 for never, or a time to come", "expires")
    if not asked.what:
        raise UnusableValueError("name at least one", "what")
    note = asked.note or f"by {caller.name}"
    entries = []
    for value in asked.what:
        listed = asked.kind is PersonalEntryKind.LIST and side is EntryAction.ALLOW
        proof = (beside or registrable(list_name(value))) if listed else ""
        try:
            entries.append(
                entry(
                    side,
                    asked.kind,
                    value,
                    beside=proof,
                    time=now,
                    expires=asked.expires,
                    note=note,
                )
            )
        except InvalidPersonalEntry as fault:
            raise UnusableValueError(str(fault), "what") from None
    before = stored_person(site, address).entries
    if not asked.dry:
        with open_persons(site) as store:
            store.put(address, entries, now=now)
    return ListedEntries(
        dry=asked.dry,
        undo=_undo_put(address, entries, before),
        person=address,
        entries=[shown_entry(own_entry, now) for own_entry in entries],
        say=[
            f"{own_entry.say}{f' from {own_entry.beside}' if own_entry.beside else ''}"
            for own_entry in entries
        ],
    )


def _undo_put(
    address: str, entries: list[PersonalEntry], before: list[PersonalEntry]
) -> UndoCall | None:
    """Return what takes entries off again, or puts those back whose place they took."""
    put = {(own_entry.kind, own_entry.value) for own_entry in entries}
    replaced = [
        own_entry
        for own_entry in before
        if own_entry.side is not EntryAction.CONTACT and (own_entry.kind, own_entry.value) in put
    ]
    if not replaced:
        arguments = {
            "person": address,
            "what": [own_entry.value for own_entry in entries],
            "kind": entries[0].kind,
            "contacts": False,
        }
        return UndoCall(call="personal.remove", asked=arguments)
    if {(own_entry.kind, own_entry.value) for own_entry in replaced} != put:
        return None
    return _import_again(address, replaced, None)


def _import_again(
    address: str, entries: list[PersonalEntry], strictness: float | None
) -> UndoCall | None:
    content = undo_file(address, entries, strictness)
    if content is None:
        return None
    return UndoCall(call="personal.import", asked={"person": address, "content": content})


class RemoveOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """What is to be removed.

    Args:
        person: mail address.
        what: as it stands in `personal.show`; of a text its name.
        kind: of these; None = addresses, and names of texts.
        contacts: addresses among them cease to be contacts, too.
        everything: lists, contacts and strictness.
    """

    person: str
    what: _Values = msgspec.field(default_factory=list)
    kind: PersonalEntryKind | None = None
    contacts: bool = True
    everything: bool = False


class RemovedEntries(ActReport, frozen=True, kw_only=True):
    """What was removed.

    Args:
        person: mail address in its normal form.
        removed: how many.
        entries: which.
    """

    person: str
    removed: int
    entries: list[ShownEntry]


@act("personal.remove", Right.PERSON, Right.OWN, scoped=True, about=("person", "what"))
def remove_entries(site: Site, caller: Caller, asked: RemoveOrder) -> RemovedEntries:
    """Remove entries or contacts of a person.

    Raises:
        UnusableValueError: it is no mail address.
        MisusedCallError: neither what is removed is named, nor everything.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written, or there is none.
    """
    address, now = person_within(caller, asked.person, Right.PERSON), time.time()
    if bool(asked.what) is asked.everything:
        raise MisusedCallError("name what is to be removed, or everything")
    keys = set(_entry_keys(asked.what, asked.kind))
    with open_persons(site, make=False) as store:
        before = store.of(address)
        gone = [
            own_entry
            for own_entry in before.entries
            if asked.everything
            or (
                (own_entry.kind, own_entry.value) in keys
                and (asked.contacts or own_entry.side is not EntryAction.CONTACT)
            )
        ]
        removed = len(gone)
        if asked.dry:
            pass
        elif asked.everything:
            removed = store.clear(address)
        else:
            removed = store.remove(address, keys, contacts=asked.contacts)
    strictness = before.strictness if asked.everything else None
    return RemovedEntries(
        dry=asked.dry,
        undo=_import_again(address, gone, strictness) if gone or asked.everything else None,
        person=address,
        removed=removed,
        entries=[shown_entry(own_entry, now) for own_entry in gone],
    )


def _entry_keys(
    values: list[str], kind: PersonalEntryKind | None
) -> list[tuple[PersonalEntryKind, str]]:
    """Return each thing under every kind that it may be of."""
    things = []
    for text in values:
        if kind is not None:
            value = (
                list_name(text)
                if kind is PersonalEntryKind.LIST
                else text.strip().lower().removeprefix("@")
            )
            things.append((kind, mail_address(text) if kind is PersonalEntryKind.SENDER else value))
        elif mail_address(text):
            things += [
                (PersonalEntryKind.ADDRESS, mail_address(text)),
                (PersonalEntryKind.CLAIMED, mail_address(text)),
            ]
        else:
            things.append((PersonalEntryKind.TEXT, text.strip().lower()))
    return things


class StrictnessOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """How strict a person is: the factor of their spam threshold."""

    person: str
    factor: float


class SetStrictness(ActReport, frozen=True, kw_only=True):
    """How strict a person is now, and was before."""

    person: str
    factor: float
    before: float


@act("personal.strict", Right.PERSON, Right.OWN, scoped=True, about=("person",))
def set_strictness(site: Site, caller: Caller, asked: StrictnessOrder) -> SetStrictness:
    """Set the factor by which a person's spam threshold is multiplied.

    Raises:
        UnusableValueError: it is no mail address, or the factor is out of bounds.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    address = person_within(caller, asked.person, Right.PERSON)
    if not (math.isfinite(asked.factor) and STRICTEST <= asked.factor <= LAXEST):
        raise UnusableValueError(
            f"{asked.factor:g} is no number from {STRICTEST:g} to {LAXEST:g}", "factor"
        )
    before = stored_person(site, address).strictness
    if not asked.dry:
        with open_persons(site) as store:
            store.strict(address, asked.factor)
    undo = UndoCall(call="personal.strict", asked={"person": address, "factor": before})
    return SetStrictness(
        dry=asked.dry, person=address, factor=asked.factor, before=before, undo=undo
    )


class PersonImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An address book, or what `personal.export` answers.

    Args:
        person: mail address.
        content: the file.
        called: its name.
    """

    person: str
    content: Annotated[bytes, Meta(max_length=MAX_OCTETS + 1)]
    called: Annotated[str, Meta(max_length=1000)] = "-"


class ImportedPerson(ActReport, frozen=True, kw_only=True):
    """What was taken of a file.

    Args:
        person: mail address in its normal form.
        format: of the file.
        entries: how many it holds.
        new: how many of them were not there before.
        passed_over: how many are no mail address.
        problems: of the file, in words.
    """

    person: str
    format: str
    entries: int
    new: int
    passed_over: int
    problems: list[str]


@act("personal.import", Right.PERSON, Right.OWN, scoped=True, about=("person",))
def import_person(site: Site, caller: Caller, asked: PersonImportOrder) -> ImportedPerson:
    """Take an address book as contacts, or what was exported: all of it, or nothing.

    Raises:
        UnusableValueError: it is no mail address.
        BrokenAddressBook: the file can't be used.
        NotFoundError: the person is beyond what the caller may change.
        StoreError: the store can't be written.
    """
    address, now = person_within(caller, asked.person, Right.PERSON), time.time()
    try:
        file = read_person(asked.content, address, now)
    except BrokenAddressBook as fault:
        raise BrokenAddressBook(f"{asked.called}: {fault}") from None
    new = 0
    if not asked.dry:
        with open_persons(site) as store:
            new = store.put(address, file.entries, now=now)
            if file.strictness is not None:
                store.strict(address, file.strictness)
    return ImportedPerson(
        dry=asked.dry,
        person=address,
        format=file.format,
        entries=len(file.entries),
        new=new,
        passed_over=file.passed_over,
        problems=list(file.problems),
    )
