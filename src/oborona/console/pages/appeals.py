"""Appeals of senders, for those who answer them: a part of the queue."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.number_text import read_number
from oborona.console.reason_texts import STATES, reason_names
from oborona.console.visit import Visit
from oborona.people.rights import Right

AT_ONCE: Final = 50
IN_QUEUE: Final = 10
MOST_WORDS: Final = 1_000  # characters of an answer, as the desk takes it
TITLES: Final = {
    "pardon": marked("Appeal %(id)s: pardon it"),
    "decline": marked("Appeal %(id)s: decline it"),
}
LARGEST: Final = (1 << 63) - 1


async def waiting_appeals(visit: Visit) -> dict[str, Any]:
    """Return what the queue shows of appeals; none where they are away.

    Raises:
        DeskError: the session ended.
    """
    found = await visit.part("appeals.list", {"most": IN_QUEUE}, dict[str, Any])
    return found or {"appeals": [], "waiting": 0}


@page("GET", "/appeals", Right.TRACK, whole=True)
async def show_appeals(visit: Visit) -> web.Response:
    """Show appeals: those that wait, or all.

    Raises:
        DeskError: the desk does not answer.
    """
    answered, after = visit.query("answered") == "1", read_number(visit.query("after"), 20_000)
    asked = {"answered": answered, "after": after, "most": AT_ONCE}
    found = await visit.ask("appeals.list", asked, dict[str, Any])
    rows = found["appeals"]
    if visit.query("as") == "json":
        return visit.json("appeals", rows)
    if visit.query("as") == "csv":
        heads = ["id", "reference", "address", "at", "reasons", "text", "state", "words", "by"]
        return visit.csv("appeals", heads, map(_columns, rows))
    return visit.render(
        "appeals/list.html",
        rows=rows,
        answered=answered,
        older=visit.url(after=str(after + AT_ONCE)) if found["more"] else "",
        names=reason_names,
        states=STATES,
    )


@page("GET", "/appeal/{id}", Right.TRACK)
async def show_appeal(visit: Visit) -> web.Response:
    """Show an appeal, and the forms that answer it.

    Raises:
        DeskError: the desk does not answer, or there is none of this number.
    """
    shown = await visit.ask("appeals.show", {"id": _appeal(visit)}, dict[str, Any])
    return visit.render(
        "appeals/appeal.html",
        shown=shown,
        may=visit.signed_in.may(Right.TEACH),
        names=reason_names,
        states=STATES,
        most=MOST_WORDS,
    )


@page("POST", "/appeal/{id}/answer", Right.TEACH)
async def answer_appeal(visit: Visit) -> web.Response:
    """Answer an appeal.

    Raises:
        DeskError: the desk does not answer.
    """
    ident, verdict = _appeal(visit), visit.form.one("verdict")
    title = _(TITLES[verdict]) % {"id": ident} if verdict in TITLES else "?"
    order = {"id": ident, "verdict": verdict, "words": visit.form.one("words")}
    return await _carry_out(visit, "appeals.answer", order, title, "reopen")


@page("POST", "/appeal/{id}/reopen", Right.TEACH)
async def reopen_appeal(visit: Visit) -> web.Response:
    """Take an answer back.

    Raises:
        DeskError: the desk does not answer.
    """
    ident = _appeal(visit)
    title = _("Appeal %(id)s: take the answer back") % {"id": ident}
    return await _carry_out(visit, "appeals.reopen", {"id": ident}, title)


async def _carry_out(
    visit: Visit, call: str, order: dict[str, object], title: str, undo: str = ""
) -> web.Response:
    plan = ActPlan(
        call=call,
        order=order,
        title=title,
        back=f"/appeal/{order['id']}",
        shown="appeals/outcome.html",
        answer=dict[str, Any],
        undo=f"/appeal/{order['id']}/{undo}" if undo else "",
    )
    return await carry_out(visit, plan)


def _appeal(visit: Visit) -> int:
    return read_number(visit.parts["id"], LARGEST)


def _columns(row: dict[str, Any]) -> tuple[object, ...]:
    return (
        row["id"], row["reference"], row["address"], row["at"], " ".join(row["reasons"]),
        row["text"], row["state"], row["words"], row["by"],
    )  # fmt: skip
