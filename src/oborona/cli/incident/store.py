"""Incidents as commands open and show them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import click
import msgspec
from msgspec import UNSET, UnsetType

from oborona import state_files
from oborona.accounts.incidents.incident import Incident, IncidentAction
from oborona.accounts.incidents.incident_view import staff_view
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli.context import CliContext
from oborona.cli.duration import shown_time
from oborona.desk.state_folder import open_store
from oborona.ident import to_text


def open_incidents(
    context: CliContext, *, make: bool = False
) -> AbstractContextManager[IncidentStore]:
    """Open the file of accounts as the daemon's user.

    Args:
        context: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(context, IncidentStore, state_files.ACCOUNTS, make=make)


def incident_named(store: IncidentStore, ident: int) -> Incident:
    """Return an incident; where there is none, the command ends and says so."""
    incident = store.incident(ident)
    if incident is None:
        click.echo(f"there is no incident {ident}", err=True)
        click.get_current_context().exit(1)
    return incident


def incident_object(
    incident: Incident, actions: list[IncidentAction] | UnsetType = UNSET
) -> dict[str, Any]:
    """Return an incident as `--json` shows it, with its actions where they are given."""
    shown: dict[str, Any] = msgspec.to_builtins(staff_view(incident, actions))
    return shown


def incident_lines(incident: Incident, actions: list[IncidentAction]) -> list[str]:
    """Return an incident for people."""
    usual = f", usually {incident.usual:g}" if incident.usual is not None else ""
    closed = (
        f"{incident.verdict} by {incident.verdict_by} at {shown_time(incident.closed)}"
        if incident.verdict
        else f"open{f', taken by {incident.taken_by}' if incident.taken_by else ''}"
    )
    told = {
        "account": incident.account,
        "address": incident.address,
        "limit": f"{incident.limit}: {incident.value:g} {incident.metric} of {incident.most:g}"
        f" ({incident.window}){usual}",
        "opened": shown_time(incident.opened),
        "last": f"{shown_time(incident.last)}, {incident.excesses} excesses",
        "the limit did": incident.then,
        "decided": incident.say,
        "note": incident.note,
        "messages": " ".join(map(to_text, incident.idents)),
    }
    lines = [f"incident {incident.id}  {incident.line}, {closed}"]
    lines += [f"  {name}: {value}" for name, value in told.items() if value]
    lines += [f"  {name}: {value}" for name, value in incident.evidence.items()]
    for action in actions:
        undone = f" by {action.undone_by}" if action.undone_by else ""
        lines.append(f"  {shown_time(action.wanted_at)} {action.kind}: {action.state}{undone}")
    return lines
