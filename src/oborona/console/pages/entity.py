"""An entity with its past, what it was seen with, what people said of it, and what one does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.bar_chart import BarChart, bar_chart
from oborona.console.declaration import page
from oborona.console.entity_kind import BESIDE, FLAGS, KINDS, TONES, mail_url
from oborona.console.form_days import end_of_days
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.track_query import entity_url
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

BUCKETS_OF_HOUR: Final = 6  # of ten minutes
HOUR_S: Final = 3600
DAY_S: Final = 86_400
AROUND_S: Final = 4.0  # looking through mail takes some seconds at most
TOTALS: Final = (
    ("seen", marked("messages")),
    ("spam", marked("judged as spam or refused")),
    ("refused", marked("refused before the content")),
    ("complaints", marked("complaints")),
    ("pardons", marked("reports that it is not spam")),
    ("traps", marked("mail to traps")),
    ("reads", marked("opened")),
    ("deleted", marked("deleted unread")),
    ("first", marked("first contacts")),
)
"""What is counted of the last day and of fourteen."""
SHOWN: Final = "entity/answer.html"
UNDO: Final = frozenset({"reputation.set", "reputation.clear"})
BESIDE_HEADS: Final = ("kind", "name", "messages", "against", "last", "flag")


@page("GET", "/entity/{entity}", Right.TRACK)
async def show_entity_page(visit: Visit) -> web.Response:
    """Show an entity; one that was never seen has the forms all the same.

    Raises:
        DeskError: the desk does not answer, or it is no entity.
    """
    entity = await visit.ask("reputation.show", {"entity": visit.parts["entity"]})
    if visit.query("as") == "json":
        return visit.json("entity", entity)
    buckets, days, now = entity["buckets"], entity["days"], entity["now"]
    hours = [buckets[n : n + BUCKETS_OF_HOUR] for n in range(0, len(buckets), BUCKETS_OF_HOUR)]
    mail = mail_url(entity["kind"], entity["entity"])
    return visit.render(
        "entity/entity.html",
        entity=entity,
        home=_home(visit),
        seen=any(part["seen"] for part in [*buckets, *days]),
        hours=_bars(hours, now, HOUR_S, "%H:00"),
        days=_bars([[day] for day in days], now, DAY_S, "%Y-%m-%d"),
        totals=[
            (_(text), _sum(buckets, name), _sum(days, name))
            for name, text in TOTALS
            if _sum(buckets, name) or _sum(days, name)
        ],
        mail=mail if mail and visit.leads(mail) else "",
        kinds=KINDS,
        flags=FLAGS,
        tones=TONES,
    )


def _bars(columns: list[list[dict[str, int]]], now: float, step: int, form: str) -> BarChart:
    heads = [_("let in"), _("spam"), _("refused before the content")]
    values = [
        [
            max(_sum(column, "seen") - _sum(column, "spam"), 0),
            _sum(column, "spam"),
            _sum(column, "refused"),
        ]
        for column in columns
    ]
    begins = [now - step * ago for ago in reversed(range(len(columns)))]
    labels = [time.strftime(form, time.gmtime(at)) for at in begins]
    return bar_chart(heads, labels, values)


def _sum(parts: list[dict[str, int]], name: str) -> int:
    return sum(part[name] for part in parts)


@page("GET", "/entity/{entity}/around", Right.TRACK)
async def show_neighbours(visit: Visit) -> web.Response:
    """Show what an entity was seen with; a script asks for it once the rest is there.

    Raises:
        DeskError: the desk does not answer, or it is no entity.
    """
    asked = {"entity": visit.parts["entity"]}
    around = await visit.part("reputation.neighbours", asked, dict[str, Any], AROUND_S)
    rows = around["neighbours"] if around is not None else []
    if visit.query("as") == "csv":
        table = ([row[head] for head in BESIDE_HEADS] for row in rows)
        return visit.csv("around", BESIDE_HEADS, table)
    if visit.query("as") == "json":
        return visit.json("around", around)
    return visit.render(
        "entity/around.html",
        name=around["entity"] if around is not None else visit.parts["entity"],
        around=around,
        home=_home(visit),
        groups=[
            (kind, found)
            for kind in BESIDE
            if (found := [row for row in rows if row["kind"] == kind])
        ],
        kinds=BESIDE,
        flags=FLAGS,
        tones=TONES,
        entity_url=entity_url,
        mail_url=mail_url,
    )


@page("POST", "/entity/{entity}/set", Right.ENTITY)
async def set_pin_of_entity(visit: Visit) -> web.Response:
    """Override the judgement on an entity.

    Raises:
        DeskError: the days are no number of them.
    """
    order = {"flag": visit.form.one("flag"), "until": end_of_days(visit.form.one("days"))}
    return await _act(visit, "reputation.set", _("Set an override"), order)


@page("POST", "/entity/{entity}/clear", Right.ENTITY)
async def clear_pin_of_entity(visit: Visit) -> web.Response:
    """Remove the override of an entity."""
    return await _act(visit, "reputation.clear", _("Clear the override"), {})


@page("POST", "/entity/{entity}/forget", Right.ENTITY)
async def forget_entity(visit: Visit) -> web.Response:
    """Forget what is counted of an entity, and its override."""
    return await _act(visit, "reputation.clear", _("Forget its counts"), {"counts": True})


@page("POST", "/entity/{entity}/forgive", Right.ENTITY)
async def forgive_message_of_entity(visit: Visit) -> web.Response:
    """Take back that a message was counted as spam."""
    home, ident = _home(visit), visit.form.one("ident")
    title = _("Forgive a message")
    plan = ActPlan(
        call="reputation.forgive", order={"ident": ident}, title=title, back=home, shown=SHOWN
    )
    return await carry_out(visit, plan)


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
    home = _home(visit)
    plan = undo_plan(visit, UNDO, title=_("Undo"), back=home, shown=SHOWN)
    order = {name: value for name, value in plan.order.items() if name != "reason"}
    plan.order = {**order, "entity": visit.parts["entity"]}
    return await carry_out(visit, plan)


def _home(visit: Visit) -> str:
    return f"/entity/{quote(visit.parts['entity'], safe='')}"


async def _act(visit: Visit, call: str, title: str, order: Mapping[str, object]) -> web.Response:
    home = _home(visit)
    plan = ActPlan(
        call=call,
        order={"entity": visit.parts["entity"], **order},
        title=title,
        back=home,
        shown=SHOWN,
        undo=f"{home}/undo" if visit.leads(f"{home}/undo", "POST") else "",
        undo_fields=_undo,
    )
    return await carry_out(visit, plan)


def _undo(answer: Any) -> Mapping[str, str] | None:
    return undo_fields(answer) or None
