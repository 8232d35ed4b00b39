"""`oborona model rollback`, `unlearn` and `anew`: what was learned is taken back, and the weights
are made as if it had never been.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.label_store import wait, warn_without_trainer
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.models import (
    UNLEARNED,
    ModelOrder,
    RollbackOrder,
    UnlearnOrder,
    rebuild_model,
    roll_back_model,
    unlearn_words,
)
from oborona.desk.call import NotFoundError
from oborona.feedback.training_store import TrainingStore

_WAIT = click.option(
    "--wait", "waits", is_flag=True, help="Until all workers judge by the new weights."
)


@click.command()
@click.argument("snapshot", type=int)
@_WAIT
@pass_cli_context
def rollback(context: CliContext, snapshot: int, waits: bool) -> None:
    """Go back to a snapshot of `model history`; what was learned since is set aside.

    Going back to a later snapshot puts it in place again.
    """
    order = RollbackOrder(snapshot=snapshot)
    try:
        outcome = roll_back_model(context, terminal_caller(), order)
    except NotFoundError as error:
        raise click.BadParameter(f"{error}; see `oborona model history`") from None
    echo(f"{outcome.aside} labels are set aside, {outcome.back} put back")
    _wait(context, waits=waits)


@click.command()
@click.argument("words", metavar="ID...", nargs=-1, type=int)
@click.option("--person", metavar="ADDRESS", help="Every label of this person.")
@click.option("--since", "span", type=DurationParam(), help="Every label of the last 30m, 2h, 7d.")
@click.option("--reason", default=UNLEARNED, show_default=True, help="For those who ask later.")
@click.option("--json", "as_json", is_flag=True)
@_WAIT
@pass_cli_context
def unlearn(
    context: CliContext,
    words: Sequence[int],
    person: str | None,
    span: float | None,
    reason: str,
    as_json: bool,
    waits: bool,
) -> None:
    """Take labels (spam, ham) back: by ID as `oborona learn --json` told it, of a person, since a
    time; of several of these what is in all.

    The weights are computed again without them, as if they had never been there; what was computed
    of their messages is forgotten, and what followed from them for the mail of those who reported
    is removed.
    """
    if not words and person is None and span is None:
        raise click.UsageError("name labels by their ID, --person or --since")
    order = UnlearnOrder(
        words=words,
        person=person,
        since=None if span is None else time.time() - span,
        reason=reason,
    )
    removed = unlearn_words(context, terminal_caller(), order).taken_back
    if as_json:
        echo_json({"taken_back": removed})
    else:
        echo(f"{len(removed)} labels are taken back")
    _wait(context, waits=waits)


@click.command()
@_WAIT
@pass_cli_context
def anew(context: CliContext, waits: bool) -> None:
    """Compute the weights again from the base and the examples that are kept."""
    rebuild_model(context, terminal_caller(), ModelOrder())
    echo("asked for")
    _wait(context, waits=waits)


def _wait(context: CliContext, *, waits: bool) -> None:
    if not warn_without_trainer(context) or not waits:
        return
    with (
        context.as_owner(),
        TrainingStore(context.state / state_files.FEEDBACK, make=False) as lessons,
    ):
        target = lessons.standing().edits
        wait(context, lambda: lessons.standing().exact >= target)
