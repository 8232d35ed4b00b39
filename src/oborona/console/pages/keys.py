"""API keys: for programs, each with some of what its maker may."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.names import RIGHTS
from oborona.console.pages.people import person_url, split
from oborona.console.visit import Visit
from oborona.people.rights import Right

DAYS: Final = 90.0  # that a key works where its form says nothing of sense


@page("GET", "/keys", Right.PEOPLE_SEE, menu=marked("API keys"), order=135, whole=True)
async def show_keys(visit: Visit) -> web.Response:
    """Show all keys, those that are over, too.

    Raises:
        DeskError: the desk does not answer.
    """
    keys = (await visit.ask("keys.list"))["keys"]
    if visit.query("as") == "json":
        return visit.json("keys", keys)
    if visit.query("as") == "csv":
        heads = ["person", "name", "rights", "domains", "made", "until", "last", "place"]
        rows = (
            [" ".join(one[head]) if isinstance(one[head], list) else one[head] for head in heads]
            for one in keys
        )
        return visit.csv("keys", heads, rows)
    mine = [right for right in Right if right in visit.signed_in.rights]
    return visit.render(
        "keys/list.html", keys=keys, mine=mine, rights=RIGHTS, person_url=person_url
    )


@page("POST", "/keys/add", Right.PEOPLE)
async def add_key(visit: Visit) -> web.Response:
    """Make a key for who is signed in; it is shown once.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    form = visit.form
    days = form.one("days")
    order = {
        "person": visit.signed_in.name,
        "name": form.one("name"),
        "rights": [right for right in Right if form.one(f"right-{right}")],
        "domains": split(form.one("domains")),
        "days": int(days) if days.isascii() and days.isdecimal() and len(days) < 6 else DAYS,
    }
    title = _("Make an API key")
    plan = ActPlan(call="keys.add", order=order, title=title, back="/keys", shown="keys/made.html")
    return await carry_out(visit, plan)


@page("POST", "/keys/remove", Right.PEOPLE)
async def remove_key(visit: Visit) -> web.Response:
    """Remove a key: it works no more.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"person": visit.form.one("person"), "name": visit.form.one("name")}
    title = _("Remove an API key")
    plan = ActPlan(
        call="keys.remove", order=order, title=title, back="/keys", shown="keys/removed.html"
    )
    return await carry_out(visit, plan)
