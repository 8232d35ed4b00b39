"""`oborona outgoing hold-queue`: what an account has in the mail server's queue waits until a
person decides.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.outgoing.hold_list import postfix_folder
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.desk.outgoing.hold_queue import HoldDecision, hold_queue
from oborona.desk.outgoing.queue_entry import queue_logins

NOTHING: Final = 1  # exit status: there is none, or some of it can't be held


@click.command(name="hold-queue")
@click.argument("login", metavar="LOGIN")
@click.option("--dry-run", is_flag=True, help="Name the messages, and leave them.")
@click.option("--json", "as_json", is_flag=True, help="JSON, a message a line.")
@postfix_folder
@pass_cli_context
def hold_queue_of(
    context: CliContext, login: str, dry_run: bool, as_json: bool, folder: Path | None
) -> None:
    """Put on hold what the account LOGIN has in the mail server's queue, and print the queue ids.

    A ban does so by itself (docs/people/accounts.md). It needs root: anybody else is shown the
    command that root would give, with exit status 77. `oborona outgoing release --any ID` takes it
    back. Exit status 1 when nothing of it waits.
    """
    queue = hold_queue(folder)
    messages = [message for message in queue.listing().messages if not message.held]
    sent_by = queue_logins(context, messages)
    chosen = [one for one in messages if sent_by.get(one.queue_id) == login.lower()]
    if not chosen:
        click.echo(f"nothing of {plain(login)} waits in the queue", err=True)
        click.get_current_context().exit(NOTHING)
    idents = [message.queue_id for message in chosen]
    if os.geteuid() and not dry_run:
        click.echo("oborona: only root may do this; as root:", err=True)
        echo(queue.command(HoldDecision.HOLD, idents))
        click.get_current_context().exit(os.EX_NOPERM)
    held = set(idents)
    if not dry_run:
        queue.carry_out(HoldDecision.HOLD, idents)
        held &= {message.queue_id for message in queue.listing().held.messages}
    for message in chosen:
        if message.queue_id not in held:
            continue  # delivered meanwhile
        if as_json:
            echo_json({"queue_id": message.queue_id, "since": message.since, "held": not dry_run})
        else:
            echo(message.queue_id)
    if not held:
        click.get_current_context().exit(NOTHING)
