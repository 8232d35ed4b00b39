"""An entity with its past and what people said of it, and the entities that stand out."""

from __future__ import annotations

import time
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.bar_chart import BarChart, bar_chart
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.store_state import empty_words
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

COUNTED: Final = ("seen", "spam", "complaints", "first")
BUCKETS_OF_HOUR: Final = 6  # of ten minutes
MOST_DAYS: Final = 3650
SHOWN: Final = "entity/answer.html"
UNDO: Final = frozenset({"reputation.set", "reputation.clear"})
HEADS: Final = ("entity", "flag", "pinned", "trust", "change", "seen", "say")


@page("GET", "/entities", Right.TRACK, menu=marked("Entities"), order=40, whole=True)
async def show_entities(visit: Visit) -> web.Response:
    """Show the entities of a kind that stand out."""
    asked = {
        "kind": visit.query("kind") or "address",
        "by": visit.query("by") or "worst",
        "window": visit.query("window") or "day",
    }
    empty = ""
    try:
        ranking = await visit.ask("reputation.top", asked)
    except DeskError as error:
        if not error.not_yet:
            raise
        ranking, empty = {"entities": []}, empty_words(error.store)
    rows = [{**row, "url": _home(row["entity"])} for row in ranking["entities"]]
    if visit.query("as") == "csv":
        return visit.csv("entities", HEADS, ([row[head] for head in HEADS] for row in rows))
    if visit.query("as") == "json":
        return visit.json("entities", ranking)
    return visit.render("entity/entities.html", rows=rows, asked=asked, empty=empty)


@page("GET", "/entity/{entity}", Right.TRACK)
async def show_entity_page(visit: Visit) -> web.Response:
    """Show an entity; one that was never seen has the forms all the same."""
    entity = await visit.ask("reputation.show", {"entity": visit.parts["entity"]})
    if visit.query("as") == "json":
        return visit.json("entity", entity)
    buckets, days = entity["buckets"], entity["days"]
    hours = [buckets[n : n + BUCKETS_OF_HOUR] for n in range(0, len(buckets), BUCKETS_OF_HOUR)]
    track = f"/track?q={quote(entity['entity'], safe='')}"
    return visit.render(
        "entity/entity.html",
        entity=entity,
        home=_home(visit.parts["entity"]),
        seen=any(part["seen"] for part in [*buckets, *days]),
        hours=_bars(hours),
        days=_bars([[day] for day in days]),
        track=track if visit.leads("/track") else "",
    )


def _bars(columns: list[list[dict[str, int]]]) -> BarChart:
    heads = [_("messages"), _("spam"), _("complaints"), _("first contacts")]
    values = [[sum(part[name] for part in column) for name in COUNTED] for column in columns]
    return bar_chart(heads, [str(n) for n in reversed(range(len(columns)))], values)


@page("POST", "/entity/{entity}/set", Right.ENTITY)
async def set_pin_of_entity(visit: Visit) -> web.Response:
    """Override the judgement on an entity.

    Raises:
        DeskError: the days are no number of them.
    """
    days, until = visit.form.one("days"), 0.0
    if days:
        if not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= MOST_DAYS):
            raise DeskError(422, _("Days are a number from 1 to 3650."))
        until = time.time() + int(days) * 86400
    order = {"flag": visit.form.one("flag"), "until": until}
    return await _act(visit, "reputation.set", _("Set an override"), order)


@page("POST", "/entity/{entity}/clear", Right.ENTITY)
async def clear_pin_of_entity(visit: Visit) -> web.Response:
    """Remove the override of an entity."""
    return await _act(visit, "reputation.clear", _("Clear the override"), {})


@page("POST", "/entity/{entity}/note", Right.NOTE)
async def note_on_entity(visit: Visit) -> web.Response:
    """Write a note beside an entity."""
    order = {"text": visit.form.one("text")}
    return await _act(visit, "reputation.note", _("Write a note"), order)


@page("POST", "/entity/{entity}/undo", Right.ENTITY)
async def undo_pin_of_entity(visit: Visit) -> web.Response:
    """Take an override back, or bring back the one before.

    Raises:
        DeskError: it can't be.
    """
    home = _home(visit.parts["entity"])
    plan = undo_plan(visit, UNDO, title=_("Undo"), back=home, shown=SHOWN)
    order = {name: value for name, value in plan.order.items() if name != "reason"}
    plan.order = {**order, "entity": visit.parts["entity"]}
    return await carry_out(visit, plan)


def _home(entity: str) -> str:
    return f"/entity/{quote(entity, safe='')}"


async def _act(visit: Visit, call: str, title: str, order: dict[str, Any]) -> web.Response:
    home = _home(visit.parts["entity"])
    plan = ActPlan(
        call=call,
        order={"entity": visit.parts["entity"], **order},
        title=title,
        back=home,
        shown=SHOWN,
        undo=f"{home}/undo" if visit.leads(f"{home}/undo", "POST") else "",
        undo_fields=undo_fields,
    )
    return await carry_out(visit, plan)
