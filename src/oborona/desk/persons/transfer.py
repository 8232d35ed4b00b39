"""A person as a file: all that is kept of them, and address books."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from oborona.desk.call import UndoCall
from oborona.feedback.address_book import BrokenAddressBook, read_address_book
from oborona.reputation.personal import (
    LAXEST,
    STRICTEST,
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    entry,
    of_octets,
)
from oborona.stores.persons.store import MAX_CONTACTS, MAX_SAID

FORMAT: Final = "oborona-personal-1"
MAX_TEXT: Final = 4096  # octets of a text's values: 48 take 432


class PersonExport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person, as `export` writes them; without a strictness it is left as it is."""

    format: str
    person: str
    strictness: Annotated[float, Meta(ge=STRICTEST, le=LAXEST)] | None = None
    entries: Annotated[tuple[PersonalEntry, ...], Meta(max_length=MAX_CONTACTS + MAX_SAID)] = ()


class PersonFile(NamedTuple):
    """What a file says of a person.

    Args:
        format: of the file.
        strictness: None = it says nothing of it.
        entries: that it holds.
        passed_over: how many are no mail address.
        problems: of the file, in words.
    """

    format: str
    strictness: float | None
    entries: list[PersonalEntry]
    passed_over: int
    problems: tuple[str, ...]


def read_person(octets: bytes, address: str, now: float) -> PersonFile:
    """Return what an address book, or what `export` wrote, says of a person.

    Args:
        octets: the file.
        address: the person's.
        now: Unix seconds.

    Raises:
        BrokenAddressBook: it is neither.
    """
    if octets.lstrip()[:1] == b"{":
        exported = _exported(octets)
        return PersonFile(FORMAT, exported.strictness, list(exported.entries), 0, ())
    book = read_address_book(octets)
    entries = [
        entry(
            EntryAction.CONTACT,
            PersonalEntryKind.ADDRESS,
            contact,
            time=now,
            source=PersonalEntrySource.BOOK,
        )
        for contact in book.addresses
        if contact != address
    ]
    return PersonFile(book.format, None, entries, book.passed_over, book.problems)


def _exported(octets: bytes) -> PersonExport:
    """Return what `export` wrote, each entry made anew from what it says.

    Raises:
        BrokenAddressBook: it is no such thing.
    """
    try:
        exported = msgspec.json.decode(octets, type=PersonExport)
        if exported.format != FORMAT:
            raise BrokenAddressBook(
                f"is of format {exported.format[:40]!a}, this Oborona knows {FORMAT}"
            )
        return msgspec.structs.replace(
            exported, entries=tuple(map(_imported_entry, exported.entries))
        )
    except (msgspec.DecodeError, UnicodeError, ValueError) as fault:
        raise BrokenAddressBook(f"is not what `export` writes: {fault}") from None


def _imported_entry(own_entry: PersonalEntry) -> PersonalEntry:
    """Return an entry as somebody typed it: words of another site are none of this one."""
    source = own_entry.source if own_entry.word == 0 else PersonalEntrySource.COMMAND
    if own_entry.kind is PersonalEntryKind.TEXT:
        if len(own_entry.text) > MAX_TEXT or own_entry.side is EntryAction.CONTACT:
            raise BrokenAddressBook(f"holds a text that can't be used: {own_entry.value[:40]!a}")
        return of_octets(own_entry.side, own_entry.text, time=own_entry.time, source=source)
    return entry(
        own_entry.side,
        own_entry.kind,
        own_entry.value,
        beside=own_entry.beside,
        time=own_entry.time,
        source=source,
        expires=own_entry.expires,
        note=own_entry.note,
    )


def undo_file(address: str, entries: list[PersonalEntry], strictness: float | None) -> bytes | None:
    """Return the file that puts entries back exactly; None where none does.

    What followed from a person's word is tied to it, which no file can say.
    """
    if any(own_entry.word or own_entry.kind is PersonalEntryKind.TEXT for own_entry in entries):
        return None
    return msgspec.json.encode(
        PersonExport(format=FORMAT, person=address, strictness=strictness, entries=tuple(entries))
    )


def import_again(
    address: str, entries: list[PersonalEntry], strictness: float | None
) -> UndoCall | None:
    """Return the call that puts entries back exactly; None where none does."""
    content = undo_file(address, entries, strictness)
    if content is None:
        return None
    return UndoCall(call="personal.import", asked={"person": address, "content": content})
