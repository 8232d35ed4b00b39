"""`oborona outgoing held`: what waits for a person to decide."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.desk.outgoing.hold_queue import hold_queue
from oborona.desk.outgoing.queue_entry import (
    QueueEntry,
    entry_object,
    of_login,
    queue_entries,
)

LENGTH: Final = 100  # characters of an address, or of a rule's words
_TO: Final = 2  # recipients that are named

postfix_folder = click.option(
    "--postfix",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of main.cf, where Postfix has several instances.",
)


@click.command()
@click.option("--login", metavar="LOGIN", help="Only messages of an account.")
@click.option("--json", "as_json", is_flag=True, help="JSON, a message a line.")
@postfix_folder
@pass_cli_context
def held(context: CliContext, login: str | None, as_json: bool, folder: Path | None) -> None:
    """Show which mail is held in the mail server's queue, the oldest first: since when, of which
    account, its score and why, from whom to whom.

    The queue is Postfix's hold queue, or Exim's frozen messages. What something else than Oborona
    put there, and what is in no journal, is marked so. Exit status 1 when nothing is held.
    """
    found = queue_entries(context, hold_queue(folder).listing().held)
    if login is not None:
        found = of_login(found, login)
    for one in found:
        if as_json:
            echo_json(entry_object(one))
        else:
            for line in held_lines(one):
                echo(line)
    if not found:
        click.echo("nothing is held" + (f" of {plain(login)}" if login else ""), err=True)
        click.get_current_context().exit(1)


def held_lines(message: QueueEntry) -> Iterator[str]:
    """Yield a message in two lines: what it is, and why it is held."""
    queued, entry = message.queued, message.entry
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(queued.since))
    to = ", ".join(f"<{_cut(address)}>" for address in queued.recipients[:_TO])
    if len(queued.recipients) > _TO:
        to += f" and {len(queued.recipients) - _TO:,} more"
    score = "" if entry is None else f"{entry.score:.1f} / {entry.line:g}  "
    account = f"{_cut(message.login)}  " if message.login else ""
    people = f"<{_cut(queued.sender)}> → {to or 'nobody'}"
    yield plain(f"{queued.queue_id}  {when}  {account}{score}{people}")
    reasons = [
        f"{hit.name} {hit.score:+g}{f' ({_cut(hit.say)})' if hit.say else ''}"
        for hit in message.reasons
    ] + [f"limit {_cut(words)}" for words in message.limits]
    if message.banned:
        why = "held, for its account is banned"
    elif message.ours:
        why = "held"
    elif entry is None:
        why = "not in the journal: whose hold it is, nobody knows"
    else:
        why = "not held by Oborona"
    yield plain(f"    {why}{': ' if reasons else ''}{', '.join(reasons)}")


def _cut(text: str) -> str:
    return text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…"
