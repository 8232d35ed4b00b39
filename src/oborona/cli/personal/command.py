"""`oborona personal`: what one person denies and allows, whom they know, how strict they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.personal.store import until
from oborona.cli.personal.transfer import export, import_
from oborona.cli.signature.command import when
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.personal import (
    AllowOrder,
    DenyOrder,
    ListedEntries,
    StrictnessOrder,
    allow_senders,
    deny_senders,
    set_strictness,
)
from oborona.desk.acts.personal_removal import RemoveOrder, remove_entries
from oborona.desk.asks.personal import PersonalListQuestion, show_person
from oborona.desk.persons.store import person_named
from oborona.desk.refusals import UnusableValueError
from oborona.reputation.personal import LAXEST, STRICTEST, PersonalEntryKind

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
    order = AllowOrder(beside=beside, **_order(person, what, **given))
    _say(allow_senders(context, terminal_caller(), order))


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
    order = DenyOrder(**_order(person, what, **given))
    _say(deny_senders(context, terminal_caller(), order))


def _order(
    person: str, what: Sequence[str], *, kind: str | None, expires: str, note: str
) -> dict[str, Any]:
    return {
        "person": person_named(person),
        "what": list(what),
        "kind": PersonalEntryKind(kind or PersonalEntryKind.ADDRESS),
        "expires": when(expires, time.time()),
        "note": note,
    }


def _say(listed: ListedEntries) -> None:
    for words in listed.say:
        echo(f"{listed.person}: {words}")


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
    order = RemoveOrder(
        person=address,
        what=list(what),
        kind=None if kind is None else PersonalEntryKind(kind),
        everything=everything,
    )
    removed = remove_entries(context, terminal_caller(), order).removed
    echo(f"{address}: {removed} removed")
    if not removed and not everything:
        click.get_current_context().exit(1)


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
        order = StrictnessOrder(person=address, factor=number)
        set_strictness(context, terminal_caller(), order)
    except (ValueError, UnusableValueError):
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
    question = PersonalListQuestion(person=person, contacts=contacts)
    shown = show_person(context, terminal_caller(), question)
    if as_json:
        echo_json(shown)
        return
    echo(
        f"{shown.person}: spam threshold of the policy times {shown.strictness:g}, {shown.contacts} contacts"
    )
    table = Table("entry", "of", "value", "proved by", "since", "by", "until", "note")
    for own_entry in shown.entries:
        table.add_row(
            own_entry.side.value,
            own_entry.kind.value,
            plain(own_entry.value),
            plain(own_entry.beside),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(own_entry.time)),
            f"label {own_entry.word}" if own_entry.word else own_entry.source.value,
            until(own_entry.expires) + (" (over)" if own_entry.expired else ""),
            plain(own_entry.note),
        )
    for column in table.columns:
        column.overflow = "fold"  # the end of an address is what tells it from others
    Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
