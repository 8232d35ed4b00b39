"""`oborona personal import` and `export`: address books in, and all that is kept of a person out
and in again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.personal_import import PersonImportOrder, import_person
from oborona.desk.asks.personal import PersonExportQuestion, export_person
from oborona.desk.persons.store import person_named
from oborona.feedback.address_book import MAX_OCTETS


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
    address = person_named(person)
    order = PersonImportOrder(person=address, content=_read(file), called=str(file), dry=dry_run)
    done = import_person(context, terminal_caller(), order)
    if as_json:
        echo_json(
            {
                "format": done.format,
                "taken": 0 if dry_run else done.entries,
                "would": done.entries,
                "new": done.new,
                "passed_over": done.passed_over,
                "problems": done.problems,
            }
        )
        return
    for problem in done.problems:
        click.echo(f"oborona: {file}: {problem}", err=True)
    words = (
        f"{done.entries} would be taken"
        if dry_run
        else f"{done.entries} taken, {done.new} of them not there before"
    )
    passed_over = f"; {done.passed_over} are no mail address" if done.passed_over else ""
    echo(f"{address}: {words}{passed_over}")


@click.command()
@click.argument("person")
@pass_cli_context
def export(context: CliContext, person: str) -> None:
    """Print all that is kept of a person, as one JSON object that `import` takes."""
    echo_json(export_person(context, terminal_caller(), PersonExportQuestion(person=person)))


def _read(file: Path) -> bytes:
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_OCTETS + 1)
        with file.open("rb") as opened:
            return opened.read(MAX_OCTETS + 1)
    except OSError as error:
        raise UnreadableMail(f"{file}: {error.strerror}") from error
