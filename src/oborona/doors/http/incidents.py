"""GET /v1/incidents: accounts that went over a limit, to staff and, less of it, to customers."""

from __future__ import annotations

from functools import partial
from typing import Final

from aiohttp import web

from oborona.accounts.incidents.incident_view import view_incident, view_incidents
from oborona.doors.http.account_question import AccountQuestion
from oborona.doors.http.query import number_of, page_size, query_of
from oborona.doors.web import error_answer, json_answer
from oborona.errors import PeerError

STATES: Final = {"open": False, "closed": True}


async def answer_incident(asked: AccountQuestion) -> web.Response:
    """Answer what the incident of a path is."""
    number = number_of(asked.names[0])
    found = (
        None
        if number is None
        else await asked.queue.work(
            partial(view_incident, asked.file, number, customer=asked.key.customer)
        )
    )
    if found is None:
        return error_answer(404, "there is no such incident")
    return json_answer(200, found)


async def answer_incidents(asked: AccountQuestion) -> web.Response:
    """Answer a page of incidents.

    Raises:
        PeerError: something else is asked.
    """
    query = query_of(asked.request, "account", "customer", "state", "before", "limit")
    scope, customer = asked.key.customer, query.get("customer")
    if "state" in query and query["state"] not in STATES:
        raise PeerError(f"state is {' or '.join(STATES)}")
    before = number_of(query["before"]) if "before" in query else None
    if "before" in query and before is None:
        raise PeerError("before is the number of an incident")
    if scope and customer not in {None, scope}:
        return error_answer(404, "there is no such customer")
    page = await asked.queue.work(
        partial(
            view_incidents,
            asked.file,
            scope=scope,
            account=query.get("account"),
            customer=customer,
            closed=STATES[query["state"]] if "state" in query else None,
            before=before,
            most=page_size(query),
        )
    )
    if page is None:
        return error_answer(404, "there is no such account")
    return json_answer(200, page)
