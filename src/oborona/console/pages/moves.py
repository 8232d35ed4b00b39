"""Moves of delivered copies: what the recheck moved and why, and these taken back."""

from __future__ import annotations

import time
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.visit import Visit
from oborona.people.rights import Right

AT_ONCE: Final = 50
STATES: Final = {
    "decided": marked("waits"),
    "issued": marked("on its way"),
    "done": marked("moved"),
    "kept": marked("left where it is"),
    "failed": marked("failed"),
    "undone": marked("taken back"),
}
HOURS: Final = (1, 3, 12, 24)


@page("GET", "/moves", Right.TRACK, Right.MOVE_ONE, menu=marked("Moves"), order=50)
async def show_moves(visit: Visit) -> web.Response:
    """Show the last moves, and whether they have stopped.

    Raises:
        DeskError: the desk does not answer, or what is asked can't be.
    """
    state, before = visit.query("state"), visit.query("before")
    asked: dict[str, object] = {"most": AT_ONCE}
    if state in STATES:
        asked["state"] = state
    if visit.several:
        asked["before"] = before
    elif before.isdecimal() and len(before) < 18:
        asked["before"] = int(before)
    if visit.query("message"):
        asked["message"] = visit.query("message")
    rights = visit.signed_in.rights
    figures = await visit.part("recheck.status", {}, dict[str, Any])
    found, told = None, ""
    try:
        found = await visit.ask("recheck.moves", asked, dict[str, Any])
    except DeskError as error:
        if error.not_yet:
            found = {"moves": [], "next": None}
        elif error.status in {422, 500, 503}:
            told = error.text
        else:
            raise
    rows = [{"desk": "", **row} for row in found["moves"]] if found is not None else []
    if visit.query("as") == "json":
        return visit.json("moves", rows)
    if visit.query("as") == "csv":
        heads = ["id", "message", "recipient", "source", "target", "time", "state", "why", "note"]
        return visit.csv("moves", heads, ([row[head] for head in heads] for row in rows))
    following = found["next"] if found is not None else None
    now = int(time.time())
    return visit.render(
        "moves/list.html",
        figures=figures,
        rows=rows,
        told=told,
        found=found is not None,
        states=STATES,
        state=state,
        sinces=[(str(now - hours * 3600), _("%(hours)s h") % {"hours": hours}) for hours in HOURS],
        older=visit.url(before=str(following)) if following else "",
        may_one=Right.MOVE_ONE in rights or Right.MOVE in rights,
        may_many=Right.MOVE in rights,
        may_all=Right.MOVE_ALL in rights,
    )


@page("POST", "/moves/undo", Right.MOVE_ONE, Right.MOVE)
async def undo_moves(visit: Visit) -> web.Response:
    """Take back one move, or all of a time and rule.

    Raises:
        DeskError: the desk does not answer.
    """
    order: dict[str, object] = {}
    ident, since = visit.form.one("id"), visit.form.one("since")
    if ident.isdecimal() and len(ident) < 18:
        order["moves"] = [int(ident)]
    elif since.isdecimal() and len(since) < 12:
        order |= {"since": int(since), "rule": visit.form.one("rule")}
    return await _carry_out(visit, "recheck.undo", order, _("Undo moves"), "moves/undone.html")


@page("POST", "/moves/resume", Right.MOVE_ALL)
async def resume_moves(visit: Visit) -> web.Response:
    """Let moves that have stopped go on.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _carry_out(visit, "recheck.resume", {}, _("Resume moves"), "moves/number.html")


@page("POST", "/moves/discard", Right.MOVE_ALL)
async def discard_moves(visit: Visit) -> web.Response:
    """Give up all moves that wait.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _carry_out(visit, "recheck.discard", {}, _("Discard moves"), "moves/number.html")


async def _carry_out(
    visit: Visit, call: str, order: dict[str, object], title: str, shown: str
) -> web.Response:
    plan = ActPlan(
        call=call, order=order, title=title, back="/moves", shown=shown, answer=dict[str, Any]
    )
    return await carry_out(visit, plan)
