"""Acts on incidents: taken, closed with what they were, and what was done for them taken back."""

from __future__ import annotations

import time

import msgspec

from oborona.accounts.account_orders import WrongOrder, order_reason
from oborona.accounts.incidents.incident import IncidentVerdict
from oborona.accounts.incidents.incident_view import IncidentView
from oborona.accounts.store.ratings import rate_account, rating_of
from oborona.desk.asks.accounts import find_account
from oborona.desk.asks.incidents import (
    IncidentId,
    find_incident,
    incident_shown,
    open_incidents,
)
from oborona.desk.call import ActOrder, CallError, act
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right


class IncidentOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An incident by its id."""

    id: IncidentId


class IncidentClosing(IncidentOrder, kw_only=True, forbid_unknown_fields=True):
    """What an incident was; the reason is kept as its note."""

    verdict: IncidentVerdict


class IncidentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """An incident as it is now; in a dry run, as it was.

    Args:
        incident: with its actions.
        taken_back: kinds of actions that were taken back, or would be.
        rating: of its account now; None = it was not rated.
    """

    incident: IncidentView
    taken_back: tuple[str, ...] = ()
    rating: int | None = None


@act("incident.take", Right.ACCOUNT, about=("id",))
def take_incident(site: Site, caller: Caller, asked: IncidentOrder) -> IncidentOutcome:
    """Say that one looks after an incident."""
    with open_incidents(site) as store:
        found = find_incident(store, asked.id)
        if not asked.dry:
            store.take(asked.id, caller.name)
        elif found.verdict:
            raise StoreError(f"incident {asked.id} is closed, or there is none")
        return IncidentOutcome(incident=incident_shown(store, asked.id))


@act("incident.close", Right.ACCOUNT, about=("id",))
def close_incident(site: Site, caller: Caller, asked: IncidentClosing) -> IncidentOutcome:
    """Close an incident with what it was: that lowers the rating of the account, or takes back what
    was done to it.
    """
    try:
        note = order_reason(asked.reason) if asked.reason else ""
    except WrongOrder as error:
        raise CallError(str(error)) from None
    now, tests = time.time(), site.policy().account_tests
    with open_incidents(site) as store:
        found = find_incident(store, asked.id)
        account = find_account(store, found.account)
        if asked.dry:
            rating = rating_of(store, account, tests, now)
        else:
            store.close_incident(asked.id, asked.verdict, by=caller.name, note=note, now=now)
            rating = rate_account(store, find_account(store, found.account), tests, now)
        return IncidentOutcome(incident=incident_shown(store, asked.id), rating=rating.value)


@act("incident.undo", Right.ACCOUNT, about=("id",))
def undo_incident(site: Site, caller: Caller, asked: IncidentOrder) -> IncidentOutcome:
    """Take back what was done because of an incident; it stays open."""
    with open_incidents(site) as store:
        find_incident(store, asked.id)
        if asked.dry:
            actions = store.undoable(asked.id)
        else:
            actions = store.undo_incident(asked.id, by=caller.name, now=time.time())
        return IncidentOutcome(
            incident=incident_shown(store, asked.id),
            taken_back=tuple(action.kind for action in actions),
        )
