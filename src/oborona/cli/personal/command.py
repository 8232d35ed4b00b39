"""`oborona personal`: what one person denies and allows, whom they know, how strict they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo, echo_json
from oborona.cli.personal.store import open_persons, person_named, until
from oborona.cli.personal.transfer import export, import_
from oborona.cli.signature.command import when
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.domains import registrable
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

_KINDS = (
    click.option(
        "--domain",
        "kind",
        flag_value=PersonalEntryKind.DOMAIN.value,
        help="WHAT is a registered domain.",
    ),
    click.option(
        "--list", "kind", flag_value=PersonalEntryKind.LIST.value, help="WHAT is a List-Id."
    ),
    click.option(
        "--sender",
        "kind",
        flag_value=PersonalEntryKind.SENDER.value,
        help="WHAT is an envelope sender (MAIL FROM).",
    ),
)


def _of_kind(command: Any) -> Any:
    for option in reversed(_KINDS):
        command = option(command)
    return command


@click.group()
def personal() -> None:
    """Show and change a person's own allow and deny lists, contacts and threshold; running workers
    follow within half a second.

    WHAT is a mail address in From, unless an option says otherwise. docs/people/personal.md has
    what goes before what.
    """


for moved in (import_, export):
    personal.add_command(moved)


@personal.command()
@click.argument("person")
@click.argument("what", nargs=-1, required=True)
@_of_kind
@click.option(
    "--from",
    "beside",
    metavar="DOMAIN",
    default="",
    help=(
        "Of a list: the domain that its mail must be proved to come from; default: that of "
        "its List-Id."
    ),
)
@click.option(
    "--expires",
    metavar="DAYS|DATE",
    default="",
    help="Days from now, or the last day; default: never.",
)
@click.option("--note", default="", help="For people.")
@pass_cli_context
def allow(
    context: CliContext, /, person: str, what: Sequence[str], beside: str, **given: Any
) -> None:
    """Allow a sender whose identity is proved: into the inbox, whatever the score."""
    if beside and given["kind"] != PersonalEntryKind.LIST:
        raise click.UsageError("--from goes with --list")
    _put(context, EntryAction.ALLOW, person, what, beside, **given)


@personal.command()
@click.argument("person")
@click.argument("what", nargs=-1, required=True)
@_of_kind
@click.option(
    "--expires",
    metavar="DAYS|DATE",
    default="",
    help="Days from now, or the last day; default: never.",
)
@click.option("--note", default="", help="For people.")
@pass_cli_context
def deny(context: CliContext, /, person: str, what: Sequence[str], **given: Any) -> None:
    """Deny a sender, and whoever claims to be them: into the spam folder at least."""
    _put(context, EntryAction.DENY, person, what, "", **given)


def _put(
    context: CliContext,
    side: EntryAction,
    person: str,
    values: Sequence[str],
    beside: str,
    *,
    kind: str | None,
    expires: str,
    note: str,
) -> None:
    now, address, of = (
        time.time(),
        person_named(person),
        PersonalEntryKind(kind or PersonalEntryKind.ADDRESS),
    )
    end = when(expires, now)
    entries = []
    for value in values:
        proof = (
            (beside or registrable(list_name(value)))
            if of is PersonalEntryKind.LIST and side is EntryAction.ALLOW
            else ""
        )
        try:
            entries.append(
                entry(
                    side,
                    of,
                    value,
                    beside=proof,
                    time=now,
                    expires=end,
                    note=note or f"by {invoking_user()}",
                )
            )
        except InvalidPersonalEntry as fault:
            raise click.BadParameter(str(fault), param_hint="WHAT") from None
    with open_persons(context) as store:
        store.put(address, entries, now=now)
    for own_entry in entries:
        echo(f"{address}: {own_entry.say}{f' from {own_entry.beside}' if own_entry.beside else ''}")


@personal.command()
@click.argument("person")
@click.argument("what", nargs=-1)
@_of_kind
@click.option("--everything", is_flag=True, help="All of it: lists, contacts, strictness.")
@pass_cli_context
def remove(
    context: CliContext, person: str, what: Sequence[str], kind: str | None, everything: bool
) -> None:
    """Remove an entry or a contact; for a text WHAT is its name in `show`.

    Exit status 1 when there was nothing.
    """
    address = person_named(person)
    if bool(what) is everything:
        raise click.UsageError("name WHAT is to be removed, or say --everything")
    with open_persons(context, make=False) as store:
        removed = (
            store.clear(address) if everything else store.remove(address, _entry_keys(what, kind))
        )
    echo(f"{address}: {removed} removed")
    if not removed and not everything:
        click.get_current_context().exit(1)


def _entry_keys(values: Sequence[str], kind: str | None) -> list[tuple[PersonalEntryKind, str]]:
    """Return each thing under every kind that it may be of."""
    things = []
    for text in values:
        if kind is not None:
            value = (
                list_name(text)
                if kind == PersonalEntryKind.LIST
                else text.strip().lower().removeprefix("@")
            )
            things.append(
                (
                    PersonalEntryKind(kind),
                    mail_address(text) if kind == PersonalEntryKind.SENDER else value,
                )
            )
        elif mail_address(text):
            things += [
                (PersonalEntryKind.ADDRESS, mail_address(text)),
                (PersonalEntryKind.CLAIMED, mail_address(text)),
            ]
        else:
            things.append((PersonalEntryKind.TEXT, text.strip().lower()))
    return things


@personal.command()
@click.argument("person")
@click.argument("factor")
@pass_cli_context
def strict(context: CliContext, person: str, factor: str) -> None:
    """Set the FACTOR by which a person's spam threshold is multiplied: 0.5 files twice as readily,
    2.0 half as readily; `default` is 1.
    """
    address = person_named(person)
    try:
        number = 1.0 if factor == "default" else float(factor)
        with open_persons(context) as store:
            store.strict(address, number)
    except ValueError:
        raise click.BadParameter(
            f"{factor[:50]!a} is no number from {STRICTEST:g} to {LAXEST:g}", param_hint="FACTOR"
        ) from None
    echo(f"{address}: spam threshold of the policy times {number:g}")


@personal.command()
@click.argument("person")
@click.option("--contacts", is_flag=True, help="Also each contact; else how many there are.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def show(context: CliContext, person: str, contacts: bool, as_json: bool) -> None:
    """Show a person's entries, the newest last."""
    address, now = person_named(person), time.time()
    with open_persons(context, make=False) as store:
        profile = store.of(address)
    known_contacts = [
        own_entry for own_entry in profile.entries if own_entry.side is EntryAction.CONTACT
    ]
    listed = [
        own_entry for own_entry in profile.entries if own_entry.side is not EntryAction.CONTACT
    ]
    if as_json:
        echo_json(
            {
                "person": address,
                "strictness": profile.strictness,
                "contacts": len(known_contacts),
                "entries": [
                    _object(own_entry, now)
                    for own_entry in (profile.entries if contacts else listed)
                ],
            }
        )
        return
    echo(
        f"{address}: spam threshold of the policy times {profile.strictness:g}, {len(known_contacts)} contacts"
    )
    table = Table("entry", "of", "value", "proved by", "since", "by", "until", "note")
    for own_entry in profile.entries if contacts else listed:
        table.add_row(
            own_entry.side.value,
            own_entry.kind.value,
            plain(own_entry.value),
            plain(own_entry.beside),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(own_entry.time)),
            f"label {own_entry.word}" if own_entry.word else own_entry.source.value,
            until(own_entry.expires) + (" (over)" if own_entry.expired(now) else ""),
            plain(own_entry.note),
        )
    for column in table.columns:
        column.overflow = "fold"  # the end of an address is what tells it from others
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)


def _object(own_entry: PersonalEntry, now: float) -> dict[str, object]:
    return {
        "side": own_entry.side,
        "kind": own_entry.kind,
        "value": own_entry.value,
        "beside": own_entry.beside,
        "time": own_entry.time,
        "source": own_entry.source,
        "expires": own_entry.expires,
        "expired": own_entry.expired(now),
        "word": own_entry.word,
        "note": own_entry.note,
    }
