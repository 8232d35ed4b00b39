"""`oborona feedback take-back`: what an admin does not believe after all."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.label_store import warn_without_trainer
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.events import EventWithdrawal, take_back_events
from oborona.desk.call import NotFoundError
from oborona.desk.persons.store import person_named


@click.command(name="take-back")
@click.argument("ids", metavar="[ID]...", type=click.IntRange(min=1), nargs=-1)
@click.option("--person", "by", metavar="ADDRESS", default="", help="All reports of this person.")
@click.option(
    "--since", metavar="SPAN", type=DurationParam(), help="With --person: in the last 2h, 7d, ..."
)
@click.option("--own", is_flag=True, help="Also undo what followed for the person's own mail.")
@click.option("--reason", default="", help="Why: kept in the log of reports.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken back, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def take_back(
    context: CliContext,
    ids: Sequence[int],
    by: str,
    since: float | None,
    own: bool,
    reason: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take reports back: the trainer undoes exactly what followed from them for all; they stay in
    the log with this decision.

    Exit status 1 when there was nothing to take back.
    """
    if bool(ids) is bool(by):
        raise click.UsageError("name IDs, or --person")
    if since is not None and not by:
        raise click.UsageError("--since goes with --person")
    order = EventWithdrawal(
        ids=ids,
        person=person_named(by) if by else "",
        since=0.0 if since is None else time.time() - since,
        own=own,
        reason=reason,
        dry=dry_run,
    )
    try:
        withdrawn = take_back_events(context, terminal_caller(), order).events
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="ID") from None
    for event in withdrawn:
        if as_json:
            echo_json(
                {
                    "id": event.id,
                    "what": event.what,
                    "person": event.person,
                    "was": event.was,
                    "dry_run": dry_run,
                }
            )
        else:
            echo(
                f"{'would take' if dry_run else 'took'} back report {event.id}: "
                f"{event.what.report} by {plain(event.person or event.source or 'nobody')}, "
                f"{event.was}"
            )
    if not withdrawn:
        click.echo("oborona: nothing to take back: none of these was accepted", err=True)
        click.get_current_context().exit(1)
    if not dry_run:
        warn_without_trainer(context)
