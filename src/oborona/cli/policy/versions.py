"""`oborona policy history`, `diff` and `roll-back`: versions of the site's policy folder."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.cli.terminal import Terminal, plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.policy import (
    DifferenceQuestion,
    HistoryQuestion,
    compare_policies,
    list_versions,
)
from oborona.desk.owner import as_asker, as_owner_of
from oborona.desk.policy.difference import MeaningChange
from oborona.desk.policy.folder_replacement import replace_files
from oborona.desk.policy.guarded_roll_back import roll_back_to
from oborona.desk.policy.publication import PolicyPublication
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.store import PolicyVersion

without_option = click.option(
    "--without",
    metavar="MACHINE",
    multiple=True,
    help="Do not wait for this machine of the site; it catches up by itself.",
)


@click.command()
@click.option(
    "--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Versions."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def history(context: CliContext, limit: int, as_json: bool) -> None:
    """Show the versions of the site's policy folder, the newest first: when, who, why.

    What was edited on the disk since anybody looked is written down as a version first.
    """
    with as_owner_of(context.state):
        found = list_versions(context, terminal_caller(), HistoryQuestion(most=limit))
    if as_json:
        for version in found.versions:
            echo(msgspec.json.encode(version))
        return
    console = Terminal(soft_wrap=True)
    for version in found.versions:
        mark = "*" if version.number == found.current else " "
        console.print(f"{mark} {plain(version_line(version))}", highlight=False)


@click.command()
@click.argument("before", metavar="[VERSION]", type=click.IntRange(1), required=False)
@click.argument("after", metavar="[VERSION]", type=click.IntRange(1), required=False)
@click.option("--draft", default="", metavar="NAME", help="What a draft would change.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
@pass_cli_context
def diff(
    context: CliContext, before: int | None, after: int | None, draft: str, as_json: bool
) -> None:
    """Show what differs between two versions of the policy, or between one and the files as they
    are now: by rule, then line by line.
    """
    if not (before or draft):
        raise click.UsageError("name a version (oborona policy history), or --draft NAME")
    question = DifferenceQuestion(draft=draft, before=before or 0, after=after or 0)
    with as_owner_of(context.state):
        found = compare_policies(context, terminal_caller(), question)
    if as_json:
        echo(msgspec.json.encode(found))
        return
    for problem in found.problems:
        echo(plain(f"warning: {problem.file}:{problem.line}: {problem.message}"))
    show_changes(found.changes)
    for file in found.files:
        for line in file.lines:
            echo(plain(line))
        if file.cut:
            echo(f"{file.file}: and more")
    if not found.files:
        echo("nothing differs")


@click.command(name="roll-back")
@click.argument("version", type=click.IntRange(1))
@click.option("--reason", required=True, help="Why: it stands in the history, with your name.")
@click.option("--sure", is_flag=True, help="Also if much good mail would be judged otherwise.")
@without_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@pass_cli_context
def roll_back(
    context: CliContext,
    version: int,
    reason: str,
    sure: bool,
    without: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Let the policy folder hold what it held at VERSION, once it is checked and its tests hold,
    and have the daemon judge by it.

    With `console.policy = "overlay"` of 90-console.toml alone. If the daemon refuses it, what was
    there is put back.
    """
    with as_owner_of(context.state):
        done = roll_back_to(
            context,
            terminal_caller(),
            version,
            reason,
            sure=sure,
            dry=dry_run,
            write=write_as_asker,
            without=without,
        )
    show_publication(done, dry=dry_run)


def show_publication(done: PolicyPublication, *, dry: bool) -> None:
    """Print what was published, or would be.

    Args:
        done: it.
        dry: nothing was done.
    """
    show_changes(done.changes)
    echo(f"files: {', '.join(done.files)}")
    if done.note:
        echo(done.note)
    if dry:
        echo("nothing was done: --dry-run")
        return
    echo(
        f"policy {done.meaning}: version {done.version}, in force in {done.workers} workers; "
        f"oborona policy roll-back {done.undo} takes it back"
    )


def write_as_asker(folder: Path, before: FileSet, after: FileSet) -> None:
    """Write the policy folder as who asks: it is root's, and the stores are the daemon's."""
    with as_asker():
        replace_files(folder, before, after)


def show_changes(changes: tuple[MeaningChange, ...]) -> None:
    """Print what differs in meaning."""
    for change in changes:
        named = f"{change.sort} {change.name}".rstrip()
        told = change.text if change.state == "changed" else change.state
        echo(plain(f"{named}: {told}"))


def version_line(version: PolicyVersion) -> str:
    """Return a version of a policy folder in one line."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.at))
    what = f"{version.sort} {version.of}" if version.of else version.sort.value
    state = "" if version.state == "published" else f" ({version.state}: {version.trouble})"
    author = version.author or "-"
    if version.approved:
        author = f"{author} (approved by {version.approved})"
    words = [f"{version.number:5}", when, what, version.meaning or "-", author]
    return f"{'  '.join(words)}  {version.comment}{state}"
