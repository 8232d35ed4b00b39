"""Incidents as commands open and show them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from msgspec import UnsetType

from oborona.accounts.incidents.incident_view import IncidentView
from oborona.accounts.incidents.store import IncidentStore
from oborona.cli.context import CliContext
from oborona.cli.duration import shown_time
from oborona.desk.asks import incidents as asks
from oborona.desk.state_folder import require_state


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
    require_state(context)
    return asks.open_incidents(context, make=make)


def incident_lines(incident: IncidentView) -> list[str]:
    """Return an incident, as staff see it, for people."""
    idents, evidence, actions = incident.idents, incident.evidence, incident.actions
    assert not isinstance(idents, UnsetType)
    assert not isinstance(evidence, UnsetType)
    assert not isinstance(actions, UnsetType)
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
        "messages": " ".join(idents),
    }
    lines = [f"incident {incident.id}  {incident.line}, {closed}"]
    lines += [f"  {name}: {value}" for name, value in told.items() if value]
    lines += [f"  {name}: {value}" for name, value in evidence.items()]
    for action in actions:
        undone = f" by {action.undone_by}" if action.undone_by else ""
        lines.append(f"  {shown_time(action.wanted_at)} {action.kind}: {action.state}{undone}")
    return lines
