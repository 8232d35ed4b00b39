"""`oborona outgoing release` and `drop`: what a person decides of held mail."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.outgoing.hold_list import held_lines, postfix_folder
from oborona.cli.outgoing.released_place import clear_places
from oborona.cli.outgoing.sender_notice import NoticeKind, tell_senders
from oborona.cli.output import echo
from oborona.cli.terminal import plain
from oborona.desk.outgoing.hold_queue import HoldDecision, HoldQueue, hold_queue
from oborona.desk.outgoing.queue_entry import QueueEntry, of_login, queue_entries
from oborona.errors import OboronaError

NOT_DONE: Final = 1  # exit status: something that was asked for is held still
_DONE: Final = {HoldDecision.RELEASE: "let go", HoldDecision.DROP: "thrown away"}

_idents = click.argument("idents", metavar="[ID]...", nargs=-1)
_login = click.option("--login", metavar="LOGIN", help="All that is held of an account.")
_any = click.option(
    "--any", "whoever", is_flag=True, help="Also what something else than Oborona put on hold."
)


class NotHeldError(OboronaError):
    """What a command names is not held, or not by Oborona."""


@click.command()
@_idents
@_login
@_any
@postfix_folder
@pass_cli_context
def release(
    context: CliContext,
    idents: Sequence[str],
    login: str | None,
    whoever: bool,
    folder: Path | None,
) -> None:
    """Let held mail leave: messages by their queue ids, or all of an account.

    It speaks for the address that it came from: from the next day on the account is known there.

    It needs root: anybody else is shown the command that root would give, with exit status 77.
    Nothing is done where one of the ids is not held by Oborona. Exit status 1 when something stays
    held.
    """
    queue = hold_queue(folder)
    chosen = _chosen(context, queue, idents, login, whoever=whoever)
    gone = _carry_out(queue, HoldDecision.RELEASE, chosen)
    clear_places(context, gone)
    if len(gone) < len(chosen):
        click.get_current_context().exit(NOT_DONE)


@click.command()
@_idents
@_login
@_any
@click.option("--yes", is_flag=True, help="Do it without asking: nothing brings them back.")
@click.option("--silent", is_flag=True, help="Tell nobody.")
@postfix_folder
@pass_cli_context
def drop(
    context: CliContext,
    idents: Sequence[str],
    login: str | None,
    whoever: bool,
    yes: bool,
    silent: bool,
    folder: Path | None,
) -> None:
    """Throw held mail away: messages by their queue ids, or all of an account.

    Each account whose login is a mail address is told by one mail what was not sent; not one that
    is banned, and never the sender that a message names.

    It needs root: anybody else is shown the command that root would give, with exit status 77.
    Nothing is done where one of the ids is not held by Oborona. Exit status 1 when something stays
    held.
    """
    queue = hold_queue(folder)
    chosen = _chosen(context, queue, idents, login, whoever=whoever)
    _check_root(queue, HoldDecision.DROP, chosen)
    if not yes and not _confirmed(chosen):
        click.echo("oborona: nothing was thrown away; --yes does it", err=True)
        click.get_current_context().exit(NOT_DONE)
    gone = _carry_out(queue, HoldDecision.DROP, chosen)
    if not silent and gone:
        _tell(context, queue, gone)
    if len(gone) < len(chosen):
        click.get_current_context().exit(NOT_DONE)


def _tell(context: CliContext, queue: HoldQueue, gone: Sequence[QueueEntry]) -> None:
    """Tell whose mail is gone, and say who was told."""
    sent = tell_senders(context, queue, NoticeKind.DROPPED, gone)
    for address in sent.told.values():
        click.echo(f"oborona: {plain(address)} is told", err=True)
    for address, why in sent.failed.items():
        click.echo(f"oborona: {plain(address)} is not told: {why}", err=True)
    for login in sent.unknown:
        click.echo(f"oborona: {plain(login)} is not told: it is no mail address", err=True)


def _chosen(
    context: CliContext,
    queue: HoldQueue,
    idents: Sequence[str],
    login: str | None,
    *,
    whoever: bool,
) -> list[QueueEntry]:
    """Return the messages that a command line names.

    Raises:
        click.UsageError: it names none, or what can't be a queue id.
        NotHeldError: one is not held, or not by Oborona.
    """
    if bool(idents) == (login is not None):
        raise click.UsageError("name messages by their queue ids, or an account by --login")
    for ident in idents:
        if not queue.ident.fullmatch(ident):
            raise click.UsageError(f"{plain(ident)!r} is no queue id")
    found = queue_entries(context, queue.listing().held)
    if login is not None:
        chosen = [one for one in of_login(found, login) if one.ours or whoever]
        if not chosen:
            raise NotHeldError(f"nothing of {plain(login)} is held by Oborona")
        return chosen
    held = {one.queued.queue_id: one for one in found}
    for ident in idents:
        if ident not in held:
            raise NotHeldError(f"{ident} is not held")
        if not held[ident].ours and not whoever:
            raise NotHeldError(
                f"{ident} is held, but not by Oborona as the journal says; --any does it"
            )
    return [held[ident] for ident in dict.fromkeys(idents)]


def _check_root(queue: HoldQueue, decision: HoldDecision, chosen: Sequence[QueueEntry]) -> None:
    if os.geteuid():
        click.echo("oborona: only root may do this; as root:", err=True)
        echo(queue.command(decision, [one.queued.queue_id for one in chosen]))
        click.get_current_context().exit(os.EX_NOPERM)


def _confirmed(chosen: Sequence[QueueEntry]) -> bool:
    if not sys.stdin.isatty():
        return False
    for one in chosen:
        for line in held_lines(one):
            click.echo(line, err=True)
    return click.confirm("Throw away for ever?", err=True)


def _carry_out(
    queue: HoldQueue, decision: HoldDecision, chosen: Sequence[QueueEntry]
) -> list[QueueEntry]:
    """Do it, and say and return of which messages it was done: as the queue shows then."""
    _check_root(queue, decision, chosen)
    idents = [one.queued.queue_id for one in chosen]
    queue.carry_out(decision, idents)
    still = {message.queue_id for message in queue.listing().held.messages}
    for ident in idents:
        if ident in still:
            click.echo(f"oborona: {ident} is held still", err=True)
        else:
            echo(f"{ident} {_DONE[decision]}")
    return [one for one in chosen if one.queued.queue_id not in still]
