"""`oborona policy reload`: have the running daemon read its policy files now, and say what came of
it.
"""

from __future__ import annotations

import os
import time

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.output import echo
from oborona.daemon.publisher.reload_socket import ReloadOutcome
from oborona.desk.policy.reload_outcome import reloaded
from oborona.desk.policy_problem import render_problem


@click.command()
@pass_cli_context
def reload(context: CliContext) -> None:
    """Have the daemon read the policy files now, and wait until all workers judge by them.

    Exit status 78 with file, line and column when they are broken: the old policy stays; 75 when no
    daemon answers, or it could not put them in force.
    """
    came = reloaded(context.state)
    outcome, took = came.outcome, came.seconds
    if outcome is None:
        click.echo(f"oborona: nobody who runs on {context.state} answers", err=True)
        raise SystemExit(os.EX_TEMPFAIL)
    if outcome.refused is not None:
        click.echo(f"oborona: {render_problem(outcome.refused)}", err=True)
        click.echo(f"oborona: the policy {outcome.version} stays in force", err=True)
        raise SystemExit(os.EX_CONFIG)
    if outcome.trouble:
        click.echo(
            f"oborona: {outcome.trouble}; the policy {outcome.version} stays in force", err=True
        )
        raise SystemExit(os.EX_TEMPFAIL)
    echo(_in_force(outcome, took))
    if outcome.late:
        late = ", ".join(f"worker {number}" for number in outcome.late)
        echo(f"late: {late}; the next message there waits until it is loaded")


def _in_force(outcome: ReloadOutcome, took_s: float) -> str:
    """Return what is in force now, since when, and what was before."""
    heading = (
        f"policy {outcome.version}: {outcome.rules} rules, in force in {outcome.workers} workers"
    )
    if outcome.changed:
        return f"{heading} after {took_s:.2f} s; before: {outcome.before}"
    since = time.strftime("%H:%M:%S", time.localtime(time.time() - outcome.age_s))
    if outcome.reworded:
        return f"{heading} since {since}; the files changed, and mean the same"
    if not outcome.before:
        return (
            f"{heading} since the start at {since}; the files say the same: there was nothing to do"
        )
    return (
        f"{heading} already since {since} ({outcome.age_s:.0f} s): that change was taken by "
        f"itself; before: {outcome.before}"
    )
