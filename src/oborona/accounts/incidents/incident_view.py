"""Incidents as others than the daemon see them: all of it for staff, less for a customer.

A customer's view has no thresholds, sums, names of limits, evidence or persons: who reads it may be
who sends the spam, and would learn how much goes through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from oborona.accounts.incidents.incident import Incident, IncidentAction, IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import IncidentLine
from oborona.ident import to_text


class IncidentView(msgspec.Struct, frozen=True, kw_only=True):
    """An incident; times are Unix seconds. What is not set is not shown to a customer."""

    id: int
    account: str
    address: str
    metric: str
    window: str
    opened: float
    last: float  # of the latest excess
    excesses: int
    verdict: IncidentVerdict | None  # null: nobody has closed it
    closed: float  # 0: it is not
    limit: str | UnsetType = UNSET
    value: float | UnsetType = UNSET  # the largest
    most: float | UnsetType = UNSET
    usual: float | UnsetType | None = UNSET
    then: str | UnsetType = UNSET  # what the limit itself did
    rating: int | UnsetType = UNSET  # of that moment
    line: IncidentLine | UnsetType = UNSET
    say: str | UnsetType = UNSET  # what was decided, in words
    evidence: Mapping[str, Any] | UnsetType = UNSET
    idents: tuple[str, ...] | UnsetType = UNSET  # of messages, as in X-Mras-Id
    taken_by: str | UnsetType = UNSET
    verdict_by: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    actions: tuple[IncidentAction, ...] | UnsetType = UNSET  # where one incident is shown


class IncidentsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some incidents, the latest first."""

    incidents: tuple[IncidentView, ...]
    next: int | None  # `before` of the next page; null: there is none


def staff_view(
    incident: Incident, actions: Sequence[IncidentAction] | UnsetType = UNSET
) -> IncidentView:
    """Return all of an incident, with its actions where they are given."""
    fields = msgspec.structs.asdict(incident)
    fields["idents"] = tuple(map(to_text, incident.idents))
    return IncidentView(
        **fields, actions=actions if isinstance(actions, UnsetType) else tuple(actions)
    )


def customer_view(incident: Incident) -> IncidentView:
    """Return what an account's customer may know of an incident."""
    return IncidentView(
        id=incident.id,
        account=incident.account,
        address=incident.address,
        metric=incident.metric,
        window=incident.window,
        opened=incident.opened,
        last=incident.last,
        excesses=incident.excesses,
        verdict=incident.verdict,
        closed=incident.closed,
    )


def view_incident(path: Path, ident: int, *, customer: str) -> IncidentView | None:
    """Return an incident; None: there is none that may be seen.

    Args:
        path: of the file of accounts; need not exist.
        ident: of the incident.
        customer: whose accounts may be seen, and as he sees them; empty: all.

    Raises:
        StoreError: the file can't be read.
    """
    if not path.exists():
        return None
    with IncidentStore(path, make=False) as store:
        if not customer:
            found = store.incident(ident)
            return None if found is None else staff_view(found, store.actions(ident))
        seen = store.incidents(customer=customer, before=ident + 1, most=1)
        return customer_view(seen[0]) if seen and seen[0].id == ident else None


def view_incidents(
    path: Path,
    *,
    scope: str,
    account: str | None,
    customer: str | None,
    closed: bool | None,
    before: int | None,
    most: int,
) -> IncidentsPage | None:
    """Return incidents, the latest first; None: there is no such account that may be seen.

    Args:
        path: of the file of accounts; need not exist.
        scope: customer whose accounts may be seen, and as he sees them; empty: all.
        account: id or login; only its.
        customer: only his.
        closed: only those that are closed, or only those that are not.
        before: only those whose ids come before it.
        most: of them, at least 1.

    Raises:
        StoreError: the file can't be read.
    """
    if not path.exists():
        return None if account is not None else IncidentsPage(incidents=(), next=None)
    with IncidentStore(path, make=False) as store:
        if account is not None:
            of = store.find(account)
            if of is None or not of.is_of(scope):
                return None
            account = of.id
        found = store.incidents(
            account=account,
            customer=scope or customer or None,
            closed=closed,
            before=before,
            most=most + 1,
        )
    shown = tuple(map(customer_view if scope else staff_view, found[:most]))
    return IncidentsPage(incidents=shown, next=shown[-1].id if len(found) > most else None)
