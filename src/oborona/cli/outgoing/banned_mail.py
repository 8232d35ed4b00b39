"""`oborona outgoing hold-banned`: what banned accounts have in the mail server's queue is held, and
let go when they are open again.

The daemon starts no programs and may not touch the queue; so root runs this: a unit when the daemon
asks for it (`oborona-queue.path`), and every command of root's that bans an account or opens it.
"""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import click
import msgspec

from oborona import state_files
from oborona.accounts.queue_holds import AccountMail, HoldPlan, plan_holds
from oborona.accounts.store.queue_holds import QueueHoldStore, banned_logins, queue_holds
from oborona.cli.account.store import open_accounts
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.outgoing.held_note import write_held_mail
from oborona.cli.outgoing.hold_list import postfix_folder
from oborona.cli.output import echo
from oborona.desk.outgoing.hold_queue import HoldDecision, HoldQueue, NoMailServerError, hold_queue
from oborona.desk.outgoing.queue_entry import queue_logins
from oborona.desk.state_folder import open_store
from oborona.errors import OboronaError


@click.command(name="hold-banned")
@postfix_folder
@pass_cli_context
def hold_banned(context: CliContext, folder: Path | None) -> None:
    """Put on hold what banned accounts have in the mail server's queue, and let go what was held so
    of accounts that are open again; write down what is held, and tell whose it is once a day.

    It needs root; the unit oborona-queue.path runs it after each ban. What something else put on
    hold, and what a person let go since, stays as it is. Running it again does no harm. Exit
    status 69 where there is no mail server.
    """
    if os.geteuid():
        click.echo("oborona: only root may touch the queue: run it as root", err=True)
        click.get_current_context().exit(os.EX_NOPERM)
    with suppress(FileNotFoundError):  # first: who asks from now on asks for one more run
        (context.state / state_files.QUEUE_DUE).unlink()
    try:
        if (context.state / state_files.ACCOUNTS).exists():
            for line in settle_queue(context, folder):
                echo(line)
        some_held = state_files.HELD_LAST, state_files.ACCOUNTS
        if any((context.state / name).exists() for name in some_held):
            write_held_mail(context, folder)
    except NoMailServerError as error:
        click.echo(f"oborona: {error}", err=True)
        click.get_current_context().exit(os.EX_UNAVAILABLE)


def settle_after(context: CliContext) -> None:
    """Do it after a command that banned or opened an account, where root gave it; say what was done
    on standard error.

    Anybody else leaves it to the unit. A mail server that is not here, or down, is no fault of the
    command.
    """
    if os.geteuid():
        return
    try:
        for line in settle_queue(context, None):
            click.echo(line, err=True)
    except OboronaError as error:
        click.echo(f"oborona: the mail server's queue stays as it is: {error}", err=True)


def settle_queue(context: CliContext, folder: Path | None) -> list[str]:
    """Hold and let go what should be, and return what was done, in lines.

    Raises:
        PostfixError, ProgramError: there is no mail server, or it can't be asked.
        StoreError: the file of accounts or the journal can't be read.
    """
    with open_accounts(context) as store:
        now = time.time()
        logins = banned_logins(store.blocked(now), now)
    with context.as_owner():
        holds = queue_holds(context.state)
    if not logins and not holds:
        return []
    queue = hold_queue(folder, deliver=False)  # a unit's end would kill a delivery
    messages = queue.listing().messages
    sent_by = queue_logins(context, messages) if logins else {}
    mail = [
        AccountMail(
            queue_id=message.queue_id,
            since=message.since,
            held=message.held,
            account=logins.get(sent_by.get(message.queue_id, ""), ""),
        )
        for message in messages
    ]
    plan = plan_holds(mail, set(logins.values()), holds)
    held = _hold(context, queue, plan)
    released = _release(context, queue, plan)
    return [
        f"{number} {words}"
        for number, words in (
            (held, "messages of banned accounts are on hold"),
            (released, "messages of accounts that are open again are let go"),
        )
        if number
    ]


def _hold(context: CliContext, queue: HoldQueue, plan: HoldPlan) -> int:
    """Put messages on hold; what was delivered meanwhile is no message any more."""
    if not plan.hold:
        return 0
    with _holds(context) as store:
        store.put(plan.hold)
    queue.carry_out(HoldDecision.HOLD, [hold.queue_id for hold in plan.hold])
    held = {message.queue_id for message in queue.listing().held.messages}
    seen = [msgspec.structs.replace(one, seen=True) for one in plan.hold if one.queue_id in held]
    with _holds(context) as store:
        store.put(seen)
    return len(seen)


def _release(context: CliContext, queue: HoldQueue, plan: HoldPlan) -> int:
    """Let messages go, and forget those that are gone."""
    idents = [hold.queue_id for hold in plan.release]
    if idents:
        with _holds(context) as store:
            store.put(plan.release)
        queue.carry_out(HoldDecision.RELEASE, idents)
    if idents or plan.forget:
        with _holds(context) as store:
            store.drop([*idents, *plan.forget])
    return len(idents)


def _holds(context: CliContext) -> AbstractContextManager[QueueHoldStore]:
    return open_store(context, QueueHoldStore, state_files.QUEUE_HOLDS, make=True)
