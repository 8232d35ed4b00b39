"""Acts: a form, then what would be done and why, then it is done, and how it is undone.

    @page("POST", "/moves/undo", Right.MOVE)
    async def undo_moves(visit: Visit) -> web.Response:
        order = {"id": visit.form.one("id")}
        plan = ActPlan(
            call="recheck.undo", order=order, title=_("Undo a move"), back="/moves",
            shown="moves/undone.html",
        )
        return await carry_out(visit, plan)

The form that leads there is `m.form(path)` with the fields of the order; nothing is done by it.
The preview sends the same fields again, with a reason and the name of this order, under which the
desk does it once however often it comes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from oborona.console.desk_client import DeskError
from oborona.console.desk_visit import MACHINE
from oborona.console.visit import Visit

ACT_S: Final = 60.0  # seconds that an act may take
DO: Final = "do"
OWN_FIELDS: Final = frozenset({"token", "step", "reason", "key", MACHINE})
"""Fields of the preview itself, or of every form."""
SAID: Final = frozenset({404, 409, 410, 422})
"""Statuses that say what is wrong with an order: the preview shows them, to be mended."""


class ActPlan(msgspec.Struct, kw_only=True):
    """An act that a form asks for.

    Args:
        call: of the desk.
        order: what it is told, without reason, dry and key.
        title: what is done, translated.
        back: path of the page that it is about.
        shown: template that shows the answer, as `answer`; `dry` says whether it is only what
            would be done.
        answer: type of the answer.
        undo: path of the form that undoes it; empty: nothing does.
        undo_fields: returns the fields of that form, of the answer; None: nothing was done that
            could be undone.
    """

    call: str
    order: Mapping[str, object]
    title: str
    back: str
    shown: str = "act_answer.html"
    answer: Any = Any
    undo: str = ""
    undo_fields: Callable[[Any], Mapping[str, str] | None] = lambda _: {}


async def carry_out(visit: Visit, plan: ActPlan) -> web.Response:
    """Show what an act would do, or do it, as the form says.

    Raises:
        DeskError: the desk does not answer, or refuses whoever asks.
    """
    form = visit.form
    doing = form.one("step") == DO
    reason, key = form.one("reason"), form.one("key") or secrets.token_urlsafe(16)
    told, answer = "", None
    try:
        answer = await _order(visit, plan, reason, key, dry=not doing)
    except DeskError as error:
        if error.status not in SAID:
            raise
        # what can only be done is asked about all the same, with nothing to show before
        told, doing = "" if error.needs == "dry" else error.text, False
    if doing:
        undo = plan.undo_fields(answer) if plan.undo else None
        return visit.render("act_done.html", plan=plan, answer=answer, dry=False, undo=undo)
    again = [
        (name, value)
        for name, values in form.fields.items()
        if name not in OWN_FIELDS
        for value in values
    ]
    return visit.render(
        "act_preview.html",
        422 if told else 200,
        plan=plan,
        answer=answer,
        dry=True,
        reason=reason,
        key=key,
        told=told,
        again=again,
    )


async def _order(visit: Visit, plan: ActPlan, reason: str, key: str, *, dry: bool) -> Any:
    order = {**plan.order, "reason": reason, "dry": dry, "key": "" if dry else key}
    return await visit.ask(plan.call, order, plan.answer, ACT_S)
