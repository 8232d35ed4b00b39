"""Incidents: accounts that went over a limit, what was done of it, and what a person says."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.accounts import account_url
from oborona.console.visit import Visit
from oborona.people.rights import Right

VERDICTS: Final = {
    "spam": marked("It was spam"),
    "not-spam": marked("It was not spam"),
    "over": marked("It ended by itself"),
}
DEEDS: Final = {
    "take": marked("Look after it"),
    "close": marked("Close it"),
    "undo": marked("Take back what was done"),
}
DIGITS: Final = 18  # of an incident's number


class IncidentAct(msgspec.Struct, frozen=True, kw_only=True):
    """What is done because of an incident."""

    kind: str
    state: str
    wanted_at: float
    done_at: float = 0.0
    undone_by: str = ""
    answer: str = ""


class ShownIncident(msgspec.Struct, frozen=True, kw_only=True):
    """An incident."""

    id: int
    account: str
    address: str = ""
    metric: str
    window: str
    opened: float
    last: float
    excesses: int
    verdict: str | None = None
    closed: float = 0.0
    limit: str = ""
    value: float = 0.0
    most: float = 0.0
    usual: float | None = None
    then: str = ""
    rating: int | None = None
    say: str = ""
    evidence: dict[str, Any] = {}
    idents: list[str] = []
    taken_by: str = ""
    verdict_by: str = ""
    note: str = ""
    actions: list[IncidentAct] = []
    desk: str = ""


class ShownIncidents(msgspec.Struct, frozen=True, kw_only=True):
    """Some, the latest first."""

    incidents: list[ShownIncident]
    next: int | str | None = None


@page("GET", "/incidents", Right.ACCOUNT_SEE, menu=marked("Incidents"), order=92, whole=True)
async def show_incidents(visit: Visit) -> web.Response:
    """Show incidents, the latest first.

    Raises:
        DeskError: the desk does not answer, or knows no such account.
    """
    account, every = visit.query("account")[:1000], visit.query("which") == "all"
    asked: dict[str, object] = {"open": not every}
    if account:
        asked["account"] = account
    if visit.several:
        asked["before"] = visit.query("before")
    elif 0 < len(visit.query("before")) <= DIGITS and visit.query("before").isdecimal():
        asked["before"] = max(int(visit.query("before")), 1)
    found = await visit.part("incident.list", asked, ShownIncidents)
    if found is not None and visit.query("as") == "json":
        return visit.json("incidents", found)
    if found is not None and visit.query("as") == "csv":
        heads = [
            "id",
            "account",
            "limit",
            "metric",
            "window",
            "opened",
            "last",
            "excesses",
            "verdict",
        ]
        rows = ([getattr(one, name) for name in heads] for one in found.incidents)
        return visit.csv("incidents", heads, rows)
    return visit.render(
        "incidents/list.html",
        found=found,
        account=account,
        every=every,
        verdicts=VERDICTS,
        older=visit.url(before=str(found.next)) if found is not None and found.next else "",
        account_url=account_url,
    )


@page("GET", "/incident/{id}", Right.ACCOUNT_SEE)
async def show_incident(visit: Visit) -> web.Response:
    """Show one.

    Raises:
        DeskError: the desk does not answer, or knows no such incident.
    """
    found = await visit.ask("incident.show", {"id": _number(visit.parts["id"])}, ShownIncident)
    return visit.render(
        "incidents/incident.html",
        found=found,
        verdicts=VERDICTS,
        may=visit.leads("/incidents/act", "POST"),
        account_url=account_url,
    )


@page("POST", "/incidents/act", Right.ACCOUNT)
async def act_on_incident(visit: Visit) -> web.Response:
    """Take, close or undo one.

    Raises:
        DeskError: the desk does not answer, or there is no such act or incident.
    """
    deed, number = visit.form.one("deed"), _number(visit.form.one("id"))
    if deed not in DEEDS:
        raise DeskError(404, "")
    order: dict[str, object] = {"id": number}
    if deed == "close":
        order["verdict"] = visit.form.one("verdict")
    plan = ActPlan(
        call=f"incident.{deed}",
        order=order,
        title=_(DEEDS[deed]),
        back=f"/incident/{number}",
        shown="incidents/outcome.html",
    )
    return await carry_out(visit, plan)


def _number(text: str) -> int:
    """Return the number of an incident.

    Raises:
        DeskError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS) or not int(text):
        raise DeskError(404, "")
    return int(text)
