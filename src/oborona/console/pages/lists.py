"""The site's own lists: their entries, with who put them there."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

SHOWN: Final = "lists/answer.html"
UNDO: Final = frozenset({"lists.undo"})


@page("GET", "/lists", Right.POLICY_SEE, menu=marked("Lists of the site"), order=50, whole=True)
async def show_site_lists(visit: Visit) -> web.Response:
    """Show the lists that there are, or the entries of one."""
    name = visit.query("name")
    shown = await visit.ask("lists.show", {"name": name})
    if visit.query("as") == "csv":
        rows = ([row["entry"], row["comment"]] for row in shown["entries"])
        return visit.csv("entries", ("entry", "comment"), rows)
    if visit.query("as") == "json":
        return visit.json("lists", shown)
    return visit.render("lists/lists.html", shown=shown, name=name)


@page("POST", "/lists/add", Right.POLICY_PUBLISH)
async def add_to_list(visit: Visit) -> web.Response:
    """Put entries on a list."""
    return await _act(visit, "lists.add", _("Add entries"))


@page("POST", "/lists/remove", Right.POLICY_PUBLISH)
async def remove_from_list(visit: Visit) -> web.Response:
    """Take entries off a list."""
    return await _act(visit, "lists.remove", _("Remove entries"))


@page("POST", "/lists/undo", Right.POLICY_PUBLISH)
async def undo_list_change(visit: Visit) -> web.Response:
    """Take the last change of a list back.

    Raises:
        DeskError: it can't be.
    """
    plan = undo_plan(visit, UNDO, title=_("Undo"), back="/lists", shown=SHOWN)
    return await carry_out(visit, plan)


async def _act(visit: Visit, call: str, title: str) -> web.Response:
    entries = [line.strip() for line in visit.form.raw("entries").splitlines() if line.strip()]
    plan = ActPlan(
        call=call,
        order={"name": visit.form.one("name"), "entries": entries},
        title=title,
        back="/lists",
        shown=SHOWN,
        undo="/lists/undo",
        undo_fields=undo_fields,
    )
    return await carry_out(visit, plan)
