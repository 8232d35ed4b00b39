"""`oborona personal import` and `export`: address books in, and all that is kept of a person out
and in again.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Final

import click
import msgspec
from msgspec import Meta

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.output import echo, echo_json
from oborona.cli.personal.store import open_persons, person_named
from oborona.feedback.address_book import MAX_OCTETS, BrokenAddressBook, read_address_book
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
    """A person, as `export` writes them."""

    format: str
    person: str
    strictness: Annotated[float, Meta(ge=STRICTEST, le=LAXEST)] = 1.0
    entries: Annotated[tuple[PersonalEntry, ...], Meta(max_length=MAX_CONTACTS + MAX_SAID)] = ()


@click.command(name="import")
@click.argument("person")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Say what would be taken, and take nothing.")
@click.option("--json", "as_json", is_flag=True)
@pass_cli_context
def import_(context: CliContext, person: str, file: Path, dry_run: bool, as_json: bool) -> None:
    """Take an address book (vCard, CSV of Google, Outlook, Thunderbird) as contacts, or what
    `export` wrote; - is standard input.

    What is no mail address is passed over and told. All of it is taken, or, where the file can't be
    used, nothing.
    """
    address, now = person_named(person), time.time()
    octets = _read(file)
    try:
        strictness: float | None = None
        problems: tuple[str, ...] = ()
        if octets.lstrip()[:1] == b"{":
            exported = _exported(octets)
            form, strictness, entries, passed_over = (
                FORMAT,
                exported.strictness,
                list(exported.entries),
                0,
            )
        else:
            book = read_address_book(octets)
            form, passed_over, problems = book.format, book.passed_over, book.problems
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
    except BrokenAddressBook as fault:
        raise BrokenAddressBook(f"{file}: {fault}") from None
    new = 0
    if not dry_run:
        with open_persons(context) as store:
            new = store.put(address, entries, now=now)
            if strictness is not None:
                store.strict(address, strictness)
    if as_json:
        echo_json(
            {
                "format": form,
                "taken": 0 if dry_run else len(entries),
                "would": len(entries),
                "new": new,
                "passed_over": passed_over,
                "problems": problems,
            }
        )
        return
    for problem in problems:
        click.echo(f"oborona: {file}: {problem}", err=True)
    words = (
        f"{len(entries)} would be taken"
        if dry_run
        else f"{len(entries)} taken, {new} of them not there before"
    )
    echo(f"{address}: {words}" + (f"; {passed_over} are no mail address" if passed_over else ""))


@click.command()
@click.argument("person")
@pass_cli_context
def export(context: CliContext, person: str) -> None:
    """Print all that is kept of a person, as one JSON object that `import` takes."""
    address = person_named(person)
    with open_persons(context, make=False) as store:
        profile = store.of(address)
    echo_json(
        PersonExport(
            format=FORMAT,
            person=address,
            strictness=profile.strictness,
            entries=tuple(profile.entries),
        )
    )


def _read(file: Path) -> bytes:
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_OCTETS + 1)
        with file.open("rb") as opened:
            return opened.read(MAX_OCTETS + 1)
    except OSError as error:
        raise UnreadableMail(f"{file}: {error.strerror}") from error


def _exported(octets: bytes) -> PersonExport:
    """Return what `export` wrote, each entry made anew from what it says.

    Raises:
        BrokenBook: it is no such thing.
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
