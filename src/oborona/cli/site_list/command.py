"""`oborona list`: whom the site lets in and keeps out, whatever the score."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.invoking_user import invoking_user
from oborona.cli.mailboxes import UnreadableMail
from oborona.cli.output import echo, echo_json
from oborona.cli.site_list.files import (
    EMPTY,
    OWN,
    SiteList,
    UnknownListError,
    contents,
    file_of,
    find_list,
    implicit_list,
    in_force_line,
    list_lock,
    undo_file,
    usage,
    write,
)
from oborona.cli.terminal import PIPED, Terminal, plain
from oborona.desk.owner import as_asker
from oborona.reputation.locallists import BrokenLine, ListAction
from oborona.reputation.locallists.edit import lines, with_entries, without_entries
from oborona.reputation.locallists.foreign_formats import ForeignFormat, foreign_lines, form_of
from oborona.reputation.subject import ListSubject

MAX_FILE = 64 << 20
SHOWN = 20  # lines of an import that can't be used


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
    site_list = find_list(context, name)
    with list_lock(site_list):
        try:
            edited = with_entries(contents(site_list.path), entries, _note(reason))
        except ValueError as fault:
            raise usage(fault) from None
        if edited.changed:
            _write(site_list, edited.raw)
    for entry in edited.same:
        echo(f"{site_list.name}: {entry} is there already")
    for entry in edited.changed:
        echo(f"{site_list.name}: {entry} added")
    _warn(context, site_list, edited.changed)
    if edited.changed:
        echo(in_force_line(site_list))


@list_.command()
@click.argument("name")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@pass_cli_context
def remove(context: CliContext, name: str, entries: Sequence[str]) -> None:
    """Take entries off a list. Exit status 1 when one was not on it."""
    site_list = find_list(context, name)
    with list_lock(site_list):
        try:
            edited = without_entries(contents(site_list.path), entries)
        except ValueError as fault:
            raise usage(fault) from None
        if edited.changed:
            _write(site_list, edited.raw or EMPTY)
    for entry in edited.changed:
        echo(f"{site_list.name}: {entry} removed")
    for entry in edited.same:
        click.echo(
            (
                f"oborona: {site_list.name}: {entry} is not on it; oborona list show {name} shows what is"
            ),
            err=True,
        )
    if edited.changed:
        echo(in_force_line(site_list))
    if edited.same:
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
    some = list(foreign_lines(text, ForeignFormat(form) if form else form_of(text)))
    broken = [entry for entry in some if entry.problem]
    for entry in broken[:SHOWN]:
        click.echo(f"oborona: {file}:{entry.line}: {plain(entry.problem)}", err=True)
    if len(broken) > SHOWN:
        click.echo(f"oborona: {file}: and {len(broken) - SHOWN} more", err=True)
    if broken and not skip_broken:
        raise UnknownListError(
            f"{file}: {len(broken)} lines can't be used, nothing was added; --skip-broken "
            f"takes the others"
        )
    site_list = find_list(context, name)
    with list_lock(site_list):
        before = contents(site_list.path)
        head = f"# {_note(f'from {plain(file.name)}' + (f': {reason}' if reason else ''))}\n"
        edited = with_entries(before, [entry.entry for entry in some if entry.entry], "")
        fresh = edited.raw[len(before.rstrip(b"\n")) + 1 if before else 0 :]
        if edited.changed and not dry_run:
            _write(
                site_list,
                before
                + (b"" if before.endswith(b"\n") or not before else b"\n")
                + head.encode()
                + fresh,
            )
    outcome = "would be added" if dry_run else "added"
    echo(
        f"{site_list.name}: {len(edited.changed)} {outcome}, {len(edited.same)} were there already"
    )
    if edited.changed and not dry_run:
        echo(in_force_line(site_list))


@list_.command()
@click.argument("name")
@pass_cli_context
def undo(context: CliContext, name: str) -> None:
    """Take back the last change that a command made to a list; twice is as before."""
    site_list = find_list(context, name)
    with list_lock(site_list):
        before = contents(undo_file(site_list.path))
        if not before:
            raise UnknownListError(f"{site_list.name}: no change to take back")
        _write(site_list, before)
    echo(f"{site_list.name}: as before, {sum(1 for _ in lines(before))} entries")
    echo(in_force_line(site_list))


@list_.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def show(context: CliContext, name: str | None, as_json: bool) -> None:
    """Show the lists there are, or the entries of one."""
    if name is None:
        _show_all(context, as_json=as_json)
        return
    site_list = find_list(context, name)
    for line in lines(contents(site_list.path)):
        if as_json:
            echo_json({"list": site_list.name, "entry": line.entry, "comment": line.comment})
        else:
            echo(plain(f"{line.entry}  # {line.comment}" if line.comment else line.entry))


def _show_all(context: CliContext, *, as_json: bool) -> None:
    policy = context.policy()
    table = Table("list", "does", "of", "entries", "mode", "file")
    rows = [
        (local_list.name, local_list.action.value, [of.value for of in local_list.of], sum(map(len, local_list.tables)), local_list.mode.value, file_of(policy, local_list.name))
        for local_list in policy.local_lists.lists
    ]  # fmt: skip
    for name, action, of, entries, mode, file in rows:
        if as_json:
            fields = {"list": name, "action": action, "of": of, "entries": entries, "mode": mode}
            echo_json(fields | {"file": None if file is None else str(file)})
        table.add_row(
            name, action, " ".join(of), str(entries), mode, "" if file is None else str(file)
        )
    if as_json:
        return
    if rows:
        Terminal(width=None if sys.stdout.isatty() else PIPED).print(table, highlight=False)
    names = {name for name, *_ in rows}
    for implicit in OWN:
        if implicit.name not in names:
            echo(f"{implicit.name}: no entry yet; oborona list add {implicit.word} ENTRY begins it")


def _write(site_list: SiteList, raw: bytes) -> None:
    try:
        write(site_list, raw)
    except BrokenLine as fault:
        raise UnknownListError(
            f"{site_list.path}:{fault.line}: {fault.problem}; nothing was changed"
        ) from None


def _warn(context: CliContext, site_list: SiteList, added: Sequence[str]) -> None:
    """Say what an admin would wonder about later: an entry that another list outweighs, or that
    counts only when proved.
    """
    lists = context.policy().local_lists
    implicit = implicit_list(site_list.name)
    action = (
        site_list.list.action
        if site_list.list is not None
        else implicit.action
        if implicit is not None
        else None
    )
    for entry in added:
        of = (
            ListSubject.FROM
            if "@" in entry
            else ListSubject.CLIENT
            if _numeric(entry)
            else ListSubject.RDNS
        )
        probe = entry if not entry.startswith("@") else f"x{entry}"
        listing = lists.look(of, probe.removeprefix(".").partition("/")[0])
        if listing is not None and listing.action is not action:
            click.echo(
                (
                    f"oborona: {listing.list} has {listing.entry} and would {listing.action.value}: "
                    f"the narrower decides, of equals the denial"
                ),
                err=True,
            )
    if action is ListAction.ALLOW and any(not _numeric(entry) for entry in added):
        click.echo(
            (
                "oborona: a name or mail address is let in when SPF, DKIM or the client's own "
                "name proves it; where it was not, oborona explain ID says so"
            ),
            err=True,
        )


def _numeric(entry: str) -> bool:
    return ":" in entry or entry.replace(".", "").replace("/", "").isdigit()


def _note(reason: str) -> str:
    author = f"{invoking_user()}, {time.strftime('%Y-%m-%d')}"
    return plain(f"{reason.strip()} ({author})" if reason.strip() else author)


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
