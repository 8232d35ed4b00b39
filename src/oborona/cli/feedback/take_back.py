"""`oborona feedback take-back`: what an admin does not believe after all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.feedback.event_log import EventFilter, events, log, opinion
from oborona.cli.invoking_user import invoking_user
from oborona.cli.label_store import warn_without_trainer
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.desk.persons.store import person_named
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventDecision, StoredEvent

TAKEN_BACK: Final = "TAKEN_BACK"
MOST: Final = 1_000_000  # events of a person


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
    now = time.time()
    with log(context) as opened:
        matches = _select_events(opened, ids, by, 0.0 if since is None else now - since)
        standing = [
            event
            for event in matches
            if event.decided is None or event.counts or (own and event.own)
        ]
        note = f"by {invoking_user()}{f': {reason}' if reason else ''}"
        if standing and not dry_run:
            opened.decide(
                [
                    (
                        event.id,
                        EventDecision(
                            counts=False, own=event.own and not own, rules=(TAKEN_BACK,), say=note
                        ),
                    )
                    for event in standing
                ],
                now=now,
            )
    for event in standing:
        if as_json:
            echo_json(
                {
                    "id": event.id,
                    "what": event.what,
                    "person": event.person,
                    "was": opinion(event),
                    "dry_run": dry_run,
                }
            )
        else:
            echo(
                f"{'would take' if dry_run else 'took'} back report {event.id}: "
                f"{event.what.report} by {plain(event.person or event.source or 'nobody')}, "
                f"{opinion(event)}"
            )
    if not standing:
        click.echo("oborona: nothing to take back: none of these was accepted", err=True)
        click.get_current_context().exit(1)
    if not dry_run:
        warn_without_trainer(context)


def _select_events(
    opened: EventLog, ids: Sequence[int], by: str, since: float
) -> list[StoredEvent]:
    if by:
        return events(opened, EventFilter(person=person_named(by), since=since, most=MOST))
    matches = []
    for ident in dict.fromkeys(ids):
        try:
            matches.append(opened.get(ident))
        except KeyError:
            raise click.BadParameter(f"there is no report {ident}", param_hint="ID") from None
    return matches
