"""`oborona incident run-hooks`: the command of the settings hears what accounts may do.

The daemon starts no programs; so a unit of root's does it when the daemon asks for it
(`oborona-hook.path`), or who wants it done now.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Final

import click

from oborona import state_files
from oborona.accounts.incidents.incident import ActionKind, IncidentAction
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.incident.store import open_incidents
from oborona.cli.output import echo
from oborona.cli.terminal import plain
from oborona.desk.hook_program import HookProgram, hook_program
from oborona.desk.owner import as_owner_of
from oborona.desk.programs import ProgramError
from oborona.desk.state_folder import require_state

ALL_S: Final = 200.0  # of one run; what is left is asked for again
KEPT_ANSWER: Final = 200  # characters


@click.command(name="run-hooks")
@pass_cli_context
def run_hooks(context: CliContext) -> None:
    """Have inspector.hook_command hear of accounts that were banned, limited or opened and of which
    it has not heard; what fails is tried again when its time has come.

    The unit oborona-hook.path runs it when there is something to tell. Running it again does no
    harm: what was taken is not told again. Exit status 75 where something failed.
    """
    require_state(context)
    if os.geteuid() not in (0, context.state.stat().st_uid):
        click.echo("oborona: only root may have it run: run it as root", err=True)
        click.get_current_context().exit(os.EX_NOPERM)
    with as_owner_of(context.state):  # root of the unit may not pass by modes
        # first: who asks from now on asks for one more run
        (context.state / state_files.HOOK_DUE).unlink(missing_ok=True)
        known = (context.state / state_files.ACCOUNTS).exists()
    program = hook_program(context)
    if program is None or not known:
        return
    until, ident, failed = time.monotonic() + ALL_S, 0, False
    while time.monotonic() < until and (action := _due(context, ident)) is not None:
        ident = action.id
        failed |= not _tell(context, program, action)
    if failed:
        click.get_current_context().exit(os.EX_TEMPFAIL)


def _due(context: CliContext, after: int) -> IncidentAction | None:
    """Return the first action after another that is due now: a later word may replace it."""
    now = time.time()
    with open_incidents(context) as store:
        return next(
            (
                action
                for action in store.wanted()
                if action.kind is ActionKind.COMMAND
                and action.id > after
                and action.retry_at <= now
            ),
            None,
        )


def _tell(context: CliContext, program: HookProgram, action: IncidentAction) -> bool:
    """Run the command for one action, as who asks, and note what came of it, as the daemon's user.

    A kill between the two has it told again, under the same id.
    """
    try:
        program.run(action.message)
    except ProgramError as error:
        answer = plain(str(error))[:KEPT_ANSWER]
        note = partial(IncidentStore.failed, answer=answer, retry_at=time.time() + action.pause_s)
        click.echo(f"oborona: {plain(action.target)} (id {action.id}): {answer}", err=True)
    else:
        answer, note = "", partial(IncidentStore.done, now=time.time())
        echo(plain(f"{action.target} (id {action.id}): told"))
    with open_incidents(context) as store:
        note(store, action.id)
    return not answer
