"""Asks about incidents: accounts that went over a limit, and what was done and said of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Annotated

import msgspec

from oborona import state_files
from oborona.accounts.incidents.incident import Incident
from oborona.accounts.incidents.incident_view import IncidentView, staff_view
from oborona.accounts.incidents.statistics import IncidentFigures, incident_figures
from oborona.accounts.incidents.store import IncidentStore
from oborona.desk.asks.accounts import find_account
from oborona.desk.call import NotFoundError, ask
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.people.caller import Caller
from oborona.people.rights import Right

IncidentRows = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
IncidentId = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class IncidentsQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which incidents are asked for, the latest first."""

    open: bool = False  # those alone that nobody has closed
    account: str | None = None  # id or login
    before: IncidentId | None = None  # the next page: `next` of the one before
    most: IncidentRows = 50


class IncidentList(msgspec.Struct, frozen=True, kw_only=True):
    """Some incidents, the latest first."""

    incidents: tuple[IncidentView, ...]
    next: int | None  # `before` of the next page; None = there is none


class IncidentQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An incident by its id."""

    id: IncidentId


class IncidentFiguresQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Of incidents opened in how many days."""

    days: Annotated[int, msgspec.Meta(ge=1, le=3660)] = 30


@ask("incident.list", Right.ACCOUNT_SEE)
def list_incidents(site: Site, _caller: Caller, asked: IncidentsQuestion) -> IncidentList:
    """Return incidents."""
    with open_incidents(site) as store:
        account = None if asked.account is None else find_account(store, asked.account).id
        found = store.incidents(
            account=account,
            closed=False if asked.open else None,
            before=asked.before,
            most=asked.most,
        )
    return IncidentList(
        incidents=tuple(map(staff_view, found)),
        next=found[-1].id if len(found) == asked.most else None,
    )


@ask("incident.show", Right.ACCOUNT_SEE)
def show_incident(site: Site, _caller: Caller, asked: IncidentQuestion) -> IncidentView:
    """Return what went over which limit, what was decided, done and said."""
    with open_incidents(site) as store:
        return incident_shown(store, asked.id)


@ask("incident.stats", Right.ACCOUNT_SEE)
def show_incident_figures(
    site: Site, _caller: Caller, asked: IncidentFiguresQuestion
) -> IncidentFigures:
    """Return how often each limit was right, incidents by day, metric and decision, and ratings."""
    with open_incidents(site) as store:
        return incident_figures(store, asked.days)


def open_incidents(site: Site, *, make: bool = False) -> AbstractContextManager[IncidentStore]:
    """Open the file of accounts as the daemon's user.

    Args:
        site: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(site, IncidentStore, state_files.ACCOUNTS, make=make)


def find_incident(store: IncidentStore, ident: int) -> Incident:
    """Return an incident.

    Raises:
        NotFoundError: there is none.
    """
    incident = store.incident(ident)
    if incident is None:
        raise NotFoundError(f"there is no incident {ident}")
    return incident


def incident_shown(store: IncidentStore, ident: int) -> IncidentView:
    """Return all of an incident.

    Raises:
        NotFoundError: there is none.
    """
    return staff_view(find_incident(store, ident), store.actions(ident))
