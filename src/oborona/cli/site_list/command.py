"""`oborona list`: whom the site lets in and keeps out, whatever the score."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.list_import import (
    MAX_FILE,
    ListImportOrder,
    foreign_entries,
    import_entries,
)
from oborona.desk.acts.lists import (
    ChangedList,
    ListOrder,
    ListUndoOrder,
    RestoredList,
    add_entries,
    remove_from_list,
    undo_list,
)
from oborona.desk.asks.lists import ListQuestion, show_lists
from oborona.desk.lists.files import UnknownListError
from oborona.desk.owner import as_asker
from oborona.reputation.locallists.foreign_formats import ForeignFormat

SHOWN: Final = 20  # lines of an import that can't be used


@click.group(name="list")
def list_() -> None:
    """Show and change the site's allow and deny lists; a running daemon follows within 1.5 seconds.

    NAME is allow, deny, or the name of a [[local_list]] with a file. ENTRY is an address, a
    network, a name (example.com exactly, .example.com with all below it), or a mail address
    (a@example.com, @example.com). docs/policy/lists.md has what goes before what.
    """


@list_.command()
@click.argument("name")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@click.option(
    "--reason", default="", help="For people; stands beside the entry, with your login and the day."
)
@pass_cli_context
def add(context: CliContext, name: str, entries: Sequence[str], reason: str) -> None:
    """Put entries on a list; the list `allow` or `deny` is begun with its first one."""
    order = ListOrder(name=name, entries=list(entries), reason=reason)
    done = add_entries(context, terminal_caller(), order)
    for entry in done.same:
        echo(f"{done.name}: {entry} is there already")
    for entry in done.changed:
        echo(f"{done.name}: {entry} added")
    for warning in done.warnings:
        click.echo(f"oborona: {warning}", err=True)
    if done.changed:
        echo(in_force_line(done))


@list_.command()
@click.argument("name")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@pass_cli_context
def remove(context: CliContext, name: str, entries: Sequence[str]) -> None:
    """Take entries off a list. Exit status 1 when one was not on it."""
    done = remove_from_list(context, terminal_caller(), ListOrder(name=name, entries=list(entries)))
    for entry in done.changed:
        echo(f"{done.name}: {entry} removed")
    for entry in done.same:
        click.echo(
            (f"oborona: {done.name}: {entry} is not on it; oborona list show {name} shows what is"),
            err=True,
        )
    if done.changed:
        echo(in_force_line(done))
    if done.same:
        click.get_current_context().exit(1)


@list_.command(name="import")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in ForeignFormat]),
    help="Default: guessed from the content.",
)
@click.option(
    "--reason",
    default="",
    help="For people; stands above the entries, with the file's name, your login and the day.",
)
@click.option(
    "--skip-broken",
    is_flag=True,
    help="Skip lines that can't be used; without it, one such line stops the import.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be added, and change nothing.")
@pass_cli_context
def import_(
    context: CliContext,
    name: str,
    file: Path,
    form: str | None,
    reason: str,
    skip_broken: bool,
    dry_run: bool,
) -> None:
    """Take the entries of a file: lines as ours, a hosts file, a map of rspamd or Postfix; - is
    standard input.

    A list at a URL is fetched by you (curl) and read from - : what comes from elsewhere lets in and
    keeps out only when somebody has looked at it. Exit status 65 when a line can't be used, and
    nothing was added.
    """
    text = _read(file)
    order = ListImportOrder(
        name=name,
        content=text,
        called=file.name,
        form=ForeignFormat(form) if form else None,
        skip_broken=skip_broken,
        reason=reason,
        dry=dry_run,
    )
    broken = foreign_entries(text, order.form).problems
    for line, problem in broken[:SHOWN]:
        click.echo(f"oborona: {file}:{line}: {plain(problem)}", err=True)
    if len(broken) > SHOWN:
        click.echo(f"oborona: {file}: and {len(broken) - SHOWN} more", err=True)
    if broken and not skip_broken:
        raise UnknownListError(
            f"{file}: {len(broken)} lines can't be used, nothing was added; --skip-broken "
            f"takes the others"
        )
    done = import_entries(context, terminal_caller(), order)
    outcome = "would be added" if dry_run else "added"
    echo(f"{done.name}: {len(done.changed)} {outcome}, {len(done.same)} were there already")
    if not dry_run and done.changed:
        echo(in_force_line(done))


@list_.command()
@click.argument("name")
@pass_cli_context
def undo(context: CliContext, name: str) -> None:
    """Take back the last change that a command made to a list; twice is as before."""
    done = undo_list(context, terminal_caller(), ListUndoOrder(name=name))
    echo(
        f"{done.name}: as before its last change: {done.back} back, {done.gone} gone, "
        f"{done.entries} entries"
    )
    echo(in_force_line(done))


@list_.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def show(context: CliContext, name: str | None, as_json: bool) -> None:
    """Show the lists there are, or the entries of one."""
    if name is None:
        _show_all(context, as_json=as_json)
        return
    for line in show_lists(context, terminal_caller(), ListQuestion(name=name)).entries:
        if as_json:
            echo_json(line)
        else:
            echo(plain(f"{line.entry}  # {line.comment}" if line.comment else line.entry))


def _show_all(context: CliContext, *, as_json: bool) -> None:
    found = show_lists(context, terminal_caller(), ListQuestion())
    if as_json:
        for row in found.lists:
            echo_json(row)
        return
    table = Table("list", "does", "of", "entries", "mode", "file")
    for row in found.lists:
        table.add_row(
            row.name, row.action, " ".join(row.of), str(row.entries), row.mode, row.file or ""
        )
    if found.lists:
        Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
    for name, word in found.to_begin.items():
        echo(f"{name}: no entry yet; oborona list add {word} ENTRY begins it")


def in_force_line(done: ChangedList | RestoredList) -> str:
    """Return what is said once a list was changed."""
    return (
        f"{done.path}; a running daemon takes it within 1.5 seconds; oborona list undo "
        f"{done.called} takes it back"
    )


def _read(file: Path) -> str:
    try:
        if str(file) == "-":
            raw = sys.stdin.buffer.read(MAX_FILE + 1)
        else:
            with as_asker(), file.open("rb") as opened:
                raw = opened.read(MAX_FILE + 1)
    except OSError as error:
        raise UnreadableMail(f"{file}: {error.strerror}") from error
    if len(raw) > MAX_FILE:
        raise UnreadableMail(f"{file}: is larger than {MAX_FILE >> 20} MiB")
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        raise UnreadableMail(f"{file}:{raw.count(10, 0, fault.start) + 1}: is not UTF-8") from None
