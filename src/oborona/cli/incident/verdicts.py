"""`oborona incident take`, `close`, `undo`: what a person says of an incident."""

from __future__ import annotations

import click

from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.incident_view import IncidentView
from oborona.cli.account.deeds import one_line
from oborona.cli.account.store import desk_call
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.outgoing.banned_mail import settle_after
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.incidents import (
    IncidentClosing,
    IncidentOrder,
    close_incident,
    take_incident,
    undo_incident,
)


def _note(ctx: click.Context, param: click.Parameter, text: str) -> str:
    return one_line(ctx, param, text) if text else ""


_ident = click.argument("ident", metavar="ID", type=int)
_json = click.option("--json", "as_json", is_flag=True, help="The incident, as one JSON object.")


@click.command()
@_ident
@_json
@pass_cli_context
def take(context: CliContext, ident: int, as_json: bool) -> None:
    """Say that you look after an incident."""
    caller = terminal_caller()
    with desk_call(context):
        outcome = take_incident(context, caller, IncidentOrder(id=ident))
    _say(outcome.incident, f"incident {ident} is taken by {caller.name}", as_json=as_json)


@click.command()
@_ident
@click.option("--spam", "verdict", flag_value=IncidentVerdict.SPAM, help="It was spam.")
@click.option(
    "--not-spam",
    "verdict",
    flag_value=IncidentVerdict.NOT_SPAM,
    help="It was not: what was done is taken back, and the limit was wrong.",
)
@click.option("--note", default="", callback=_note, help="What you found.")
@_json
@pass_cli_context
def close(
    context: CliContext, ident: int, verdict: IncidentVerdict | None, note: str, as_json: bool
) -> None:
    """Close an incident with what it was; that lowers the rating of the account, or takes back what
    was done to it.
    """
    if verdict is None:
        raise click.UsageError("say what it was: --spam or --not-spam")
    said = IncidentVerdict(verdict)
    order = IncidentClosing(id=ident, verdict=said, reason=note)
    with desk_call(context):
        outcome = close_incident(context, terminal_caller(), order)
    told = f"incident {ident} is closed: {said}; the rating of its account is {outcome.rating}"
    _say(outcome.incident, told, as_json=as_json)
    settle_after(context)


@click.command()
@_ident
@_json
@pass_cli_context
def undo(context: CliContext, ident: int, as_json: bool) -> None:
    """Take back what was done because of an incident; it stays open.

    Exit status 1 where there is nothing to take back.
    """
    with desk_call(context):
        outcome = undo_incident(context, terminal_caller(), IncidentOrder(id=ident))
    if not outcome.taken_back:
        click.echo(f"nothing of incident {ident} can be taken back", err=True)
        click.get_current_context().exit(1)
    told = f"incident {ident}: taken back: {', '.join(outcome.taken_back)}"
    _say(outcome.incident, told, as_json=as_json)
    settle_after(context)


def _say(incident: IncidentView, told: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(incident)
    else:
        echo(told)
