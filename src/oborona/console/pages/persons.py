"""A person's own lists, for support: who is let in, who is not, how strict the filter is."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

UNDO: Final = frozenset({"personal.remove", "personal.import", "personal.strict"})
HEADS: Final = ("side", "kind", "value", "beside", "time", "expires", "source", "note")
SHOWN: Final = "persons/answer.html"


@page("GET", "/person/{address}", Right.PERSON_SEE)
async def show_lists_of_person(visit: Visit) -> web.Response:
    """Show what is kept of a person: contacts in number alone."""
    person = await visit.ask("personal.show", {"person": visit.parts["address"]})
    if visit.query("as") == "csv":
        rows = ([entry[head] for head in HEADS] for entry in person["entries"])
        return visit.csv("person", HEADS, rows)
    if visit.query("as") == "json":
        return visit.json("person", person)
    return visit.render("persons/person.html", person=person, home=_home(visit))


@page("POST", "/person/{address}/allow", Right.PERSON)
async def allow_for_person(visit: Visit) -> web.Response:
    """Let a sender in for a person."""
    return await _act(visit, "personal.allow", _("Let a sender in"), _sender(visit))


@page("POST", "/person/{address}/deny", Right.PERSON)
async def deny_for_person(visit: Visit) -> web.Response:
    """Keep a sender out for a person."""
    return await _act(visit, "personal.deny", _("Keep a sender out"), _sender(visit))


@page("POST", "/person/{address}/remove", Right.PERSON)
async def remove_for_person(visit: Visit) -> web.Response:
    """Remove an entry of a person, who stays a contact if it was one."""
    order = {**_sender(visit), "contacts": False}
    return await _act(visit, "personal.remove", _("Remove an entry"), order)


@page("POST", "/person/{address}/strict", Right.PERSON)
async def set_strictness_of_person(visit: Visit) -> web.Response:
    """Set how strict the filter is for a person."""
    try:
        factor = float(visit.form.one("factor"))
    except ValueError:
        factor = 0.0  # the desk says what it may be
    return await _act(visit, "personal.strict", _("Set the strictness"), {"factor": factor})


@page("POST", "/person/{address}/undo", Right.PERSON)
async def undo_for_person(visit: Visit) -> web.Response:
    """Take back what was done to a person's lists.

    Raises:
        DeskError: it can't be.
    """
    plan = undo_plan(visit, UNDO, title=_("Undo"), back=_home(visit), shown=SHOWN)
    plan.order = {**plan.order, "person": visit.parts["address"]}
    return await carry_out(visit, plan)


def _home(visit: Visit) -> str:
    return f"/person/{quote(visit.parts['address'], safe='@')}"


def _sender(visit: Visit) -> dict[str, Any]:
    return {"what": [visit.form.one("what")], "kind": visit.form.one("kind") or "address"}


async def _act(visit: Visit, call: str, title: str, order: dict[str, Any]) -> web.Response:
    plan = ActPlan(
        call=call,
        order={"person": visit.parts["address"], **order},
        title=title,
        back=_home(visit),
        shown=SHOWN,
        undo=f"{_home(visit)}/undo",
        undo_fields=undo_fields,
    )
    return await carry_out(visit, plan)
