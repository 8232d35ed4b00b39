"""`oborona incident take`, `close`, `undo`: what a person says of an incident."""

from __future__ import annotations

import time

import click

from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.store.ratings import rate_account
from oborona.cli.account.deeds import one_line
from oborona.cli.account.store import account_named
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.incident.store import incident_named, incident_object, open_incidents
from oborona.cli.invoking_user import invoking_user
from oborona.cli.outgoing.banned_mail import settle_after
from oborona.cli.output import echo, echo_json


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
    by = invoking_user()
    with open_incidents(context) as store:
        incident_named(store, ident)
        store.take(ident, by)
    _say(context, ident, f"incident {ident} is taken by {by}", as_json=as_json)


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
    now, said = time.time(), IncidentVerdict(verdict)
    tests = context.policy().account_tests
    with open_incidents(context) as store:
        found = incident_named(store, ident)
        store.close_incident(ident, said, by=invoking_user(), note=note, now=now)
        rating = rate_account(store, account_named(store, found.account), tests, now)
    told = f"incident {ident} is closed: {said}; the rating of its account is {rating.value}"
    _say(context, ident, told, as_json=as_json)
    settle_after(context)


@click.command()
@_ident
@_json
@pass_cli_context
def undo(context: CliContext, ident: int, as_json: bool) -> None:
    """Take back what was done because of an incident; it stays open.

    Exit status 1 where there is nothing to take back.
    """
    with open_incidents(context) as store:
        incident_named(store, ident)
        actions = store.undo_incident(ident, by=invoking_user(), now=time.time())
    if not actions:
        click.echo(f"nothing of incident {ident} can be taken back", err=True)
        click.get_current_context().exit(1)
    told = ", ".join(action.kind for action in actions)
    _say(context, ident, f"incident {ident}: taken back: {told}", as_json=as_json)
    settle_after(context)


def _say(context: CliContext, ident: int, told: str, *, as_json: bool) -> None:
    if not as_json:
        echo(told)
        return
    with open_incidents(context) as store:
        found = incident_named(store, ident)
        actions = store.actions(ident)
    echo_json(incident_object(found, actions))
