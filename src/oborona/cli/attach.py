"""`oborona attach` and `detach`: the change to the mail server's settings that has it ask us,
shown, and made when told so; at `attach` the DNS lists that are free for the site, too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from oborona import secret
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.free_lists.offer import answers_of, offer_lists
from oborona.cli.output import echo
from oborona.desk.exim import what_to_add
from oborona.desk.gtube import GtubeOutcome, prove
from oborona.desk.postfix.change import (
    MainChange,
    RefusedError,
    attach_change,
    detach_change,
    diff,
    make,
    must_ask,
    repair_advice,
    running,
)
from oborona.desk.postfix.instance import PostfixError, PostfixInstance
from oborona.desk.postfix.reach import UnreachableError, reach, word_for
from oborona.desk.programs import program
from oborona.errors import ConfigError, StoreError
from oborona.policy.free_lists import MAX_MESSAGES

NOT_DONE: Final = 1  # exit status: Postfix does not ask us, or asks us still

_folder = click.option(
    "--postfix",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of main.cf, where Postfix has several instances.",
)
_yes = click.option("--yes", is_flag=True, help="Make the change without asking.")
_dry_run = click.option("--dry-run", is_flag=True, help="Show the change, and make none.")


@click.command()
@click.argument("server", type=click.Choice(["postfix", "exim"]), required=False)
@_folder
@_yes
@_dry_run
@click.option(
    "--messages-a-day",
    type=click.IntRange(1, MAX_MESSAGES),
    help="Turn on the DNS lists that are free for a site of this size, refused messages counted.",
)
@click.option(
    "--commercial/--no-commercial",
    default=None,
    help="Whether customers pay for the mailboxes or the filtering.",
)
@click.option(
    "--lists", type=click.Choice(["none"]), help="none: turn off the lists of --messages-a-day."
)
@pass_cli_context
def attach(
    context: CliContext,
    server: str | None,
    folder: Path | None,
    yes: bool,
    dry_run: bool,
    messages_a_day: int | None,
    commercial: bool | None,
    lists: str | None,
) -> None:
    """Connect the mail server of this machine to Oborona: show the change to its configuration, and
    make it when confirmed.

    Postfix: one entry in main.cf's smtpd_milters, before those that are there; main.cf is kept
    beside the new one, checked, and read anew. The change is refused where mail would still pass
    unfiltered. Exim: the lines to add are shown, nothing is changed.

    Then the DNS lists that are free for the site, with their terms: asked on a terminal, or by
    options. Where neither says anything, none is turned on.

    Exit status 1 when nothing was changed and Postfix does not ask us, or DNS lists were asked for
    and not confirmed; 78 when it would not help, and what to mend first.
    """
    answers = answers_of(messages_a_day, commercial, lists)
    if server == "exim" or (server is None and program("postconf") is None and program("exim4")):
        echo(what_to_add(context.loaded.settings))
        offer_lists(context, answers, yes=yes, dry_run=dry_run)
        return
    postfix = PostfixInstance(folder)
    address = context.loaded.settings.doors.milter
    if not address.listen:
        raise ConfigError("doors.milter.listen is empty: there is nothing to ask")
    change = attach_change(postfix, address.address)
    _answers(context, postfix)
    if not change.changes:
        echo(f"Postfix asks us already: smtpd_milters = {change.value}")
        _note(change)
    else:
        _show(postfix, change)
        if _confirmed(yes=yes, dry_run=dry_run):
            _make(postfix, change)
            echo(
                "Send yourself a message with the GTUBE text, or run `oborona doctor`: it "
                "sends one to us as Postfix would."
            )
    offer_lists(context, answers, yes=yes, dry_run=dry_run)


@click.command()
@_folder
@_yes
@_dry_run
@pass_cli_context
def detach(context: CliContext, folder: Path | None, yes: bool, dry_run: bool) -> None:
    """Take back the change of `attach`: Postfix no longer asks Oborona, and all mail passes.

    Exit status 1 when nothing was changed and Postfix still asks us.
    """
    postfix = PostfixInstance(folder)
    change = detach_change(postfix, context.loaded.settings.doors.milter.address)
    if not change.changes:
        echo(
            f"main.cf does not name "
            f"{word_for(context.loaded.settings.doors.milter.address, postfix.queue)}: "
            f"nothing to take back"
        )
        _note(change)
        if change.notes:
            click.get_current_context().exit(NOT_DONE)
        return
    _show(postfix, change)
    if _confirmed(yes=yes, dry_run=dry_run):
        _make(postfix, change)


def _answers(context: CliContext, postfix: PostfixInstance) -> None:
    """Try the address that Postfix will be told, as each smtpd that must ask.

    Raises:
        PostfixError: it is not reached, or somebody else is.
    """
    word = word_for(context.loaded.settings.doors.milter.address, postfix.queue)
    try:
        key = secret.load(context.state).signature
    except StoreError as error:
        key = b""
        click.echo(f"note: {error}: whether Oborona answers at {word} was not tried", err=True)
    for smtpd in must_ask(postfix.smtpds):
        try:
            peer = reach(word, smtpd, postfix).peer
        except UnreachableError as error:
            raise RefusedError(
                f"{error}; {repair_advice(context.loaded.settings.doors.milter.address)}"
            ) from None
        if not key:
            peer.close()
        elif (proof := prove(peer, key)).outcome is GtubeOutcome.NOT_OURS:
            raise RefusedError(f"{word}: {proof.words}")


def _show(postfix: PostfixInstance, change: MainChange) -> None:
    echo(diff(postfix, change))
    _note(change)
    if running(postfix):
        echo("then: postfix check, postfix reload")


def _note(change: MainChange) -> None:
    for note in change.notes:
        click.echo(f"note: {note}", err=True)


def _confirmed(*, yes: bool, dry_run: bool) -> bool:
    """Tell whether the change is to be made; ends the command where nobody confirms it."""
    leave = click.get_current_context().exit
    if dry_run:
        return False
    if os.geteuid():
        click.echo("oborona: only root may change main.cf; nothing was changed", err=True)
        leave(NOT_DONE)
    if not yes:
        if not sys.stdin.isatty():
            click.echo("oborona: nothing was changed; --yes makes the change", err=True)
            leave(NOT_DONE)
        if not click.confirm("Make this change?", err=True):
            leave(NOT_DONE)
    return True


def _make(postfix: PostfixInstance, change: MainChange) -> None:
    backup = make(postfix, change)
    echo(f"done; main.cf as it was is {backup}")
    if not running(postfix):
        echo("Postfix does not run: it reads main.cf when it starts")
        return
    try:
        postfix.run("postfix", "reload")
    except PostfixError as error:
        raise PostfixError(f"main.cf is changed, but Postfix was not told: {error}") from error
    echo("Postfix has read it")
