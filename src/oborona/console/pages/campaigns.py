"""The analysts' queue, and a case of it: what a campaign is, decided and taken back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.bar_chart import bar_chart
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext, marked
from oborona.console.language import gettext as _
from oborona.console.template_set import count, moment
from oborona.console.visit import Visit
from oborona.people.rights import Right

AT_ONCE: Final = 50
WHY: Final = {
    "false-positive": marked("false positive of ours"),
    "contested": marked("contested"),
    "unsettled": marked("not settled"),
    "settled": marked("settled"),
}
VERDICTS: Final = {
    "spam": marked("spam"),
    "good": marked("good mail"),
    "newsletter": marked("newsletter"),
}
SNOOZES: Final = (
    (3_600, marked("1 hour")),
    (4 * 3_600, marked("4 hours")),
    (86_400, marked("1 day")),
    (7 * 86_400, marked("7 days")),
)
LOOKS: Final = "looks at the case"  # why a lock is taken, in the audit log


@page("GET", "/queue", Right.TRACK, menu=marked("Queue"), order=30, whole=True)
async def show_queue(visit: Visit) -> web.Response:
    """Show which campaigns need a person, the dearest first.

    Raises:
        DeskError: the desk does not answer.
    """
    settled, after = visit.query("settled") == "1", _number(visit.query("after"), 1_000)
    asked: dict[str, object] = {"settled": settled, "after": after, "most": AT_ONCE}
    if visit.several:
        asked["after"] = visit.query("after")
    try:
        found = await visit.ask("campaigns.list", asked, dict[str, Any])
    except DeskError as error:
        if error.status not in {500, 503}:
            raise
        return visit.render("campaigns/queue_away.html", text=error.text)
    rows = [{"desk": "", **row} for row in found["campaigns"]]
    if visit.query("as") == "json":
        return visit.json("queue", rows)
    if visit.query("as") == "csv":
        heads = ["id", "why", "copies", "complaints", "complaint_weight", "pardons",
                 "pardon_weight", "traps", "locked_by"]  # fmt: skip
        return visit.csv("queue", heads, map(_columns, rows))
    following = found.get("next", str(after + AT_ONCE) if found["more"] else "")
    return visit.render(
        "campaigns/queue.html",
        rows=rows,
        settled=settled,
        older=visit.url(after=following) if following else "",
        why=WHY,
        verdicts=VERDICTS,
    )


@page("GET", "/queue/next", Right.TRACK)
async def show_next_case(visit: Visit) -> web.Response:
    """Lead to the first case that nobody else looks at.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("campaigns.list", {"most": AT_ONCE}, dict[str, Any])
    left, whose = _number(visit.query("after"), 1 << 62), visit.query("of")
    free = [
        (row["summary"]["id"], row.get("desk", ""))
        for row in found["campaigns"]
        if row["lock"] is None or row["lock"]["by"] == visit.signed_in.name
    ]
    if (left, whose) in free:  # the one behind it, and from the last to the first
        place = free.index((left, whose))
        free = free[place + 1 :] + free[:place]
    return visit.go(visit.at(f"/case/{free[0][0]}", free[0][1]) if free else "/queue")


@page("GET", "/case/{id}", Right.TRACK)
async def show_case(visit: Visit) -> web.Response:
    """Show a campaign, and what may be decided of it.

    Raises:
        DeskError: the desk does not answer, or there is none of this number.
    """
    return await _case_page(visit)


async def _case_page(visit: Visit, told: str = "") -> web.Response:
    asked = {"id": _case(visit)}
    found = await visit.ask("campaigns.show", asked, dict[str, Any])
    times = [
        str(moment(bar["time"], date=not found["by_hour"]).striptags()) for bar in found["bars"]
    ]
    bars = [[bar["copies"], bar["complaints"], bar["pardons"]] for bar in found["bars"]]
    summary, lock = found["case"]["summary"], found["case"]["lock"]
    return visit.render(
        "campaigns/case.html",
        422 if told else 200,
        shown=found,
        case=found["case"],
        summary=summary,
        said=_said(found["events"]),
        chart=bar_chart([_("Copies"), _("Complaints"), _("Pardons")], times, bars),
        may=Right.TEACH in visit.signed_in.rights,
        may_note=Right.NOTE in visit.signed_in.rights,
        own_lock=lock is not None and lock["by"] == visit.signed_in.name,
        snoozes=[(str(seconds), gettext(text)) for seconds, text in SNOOZES],
        why=WHY,
        verdicts=VERDICTS,
        told=told,
    )


@page("POST", "/case/{id}/decide", Right.TEACH)
async def decide_case(visit: Visit) -> web.Response:
    """Decide what a campaign is.

    Raises:
        DeskError: the desk does not answer, or somebody else looks at it.
    """
    ident, verdict = _case(visit), visit.form.one("verdict")
    order = {
        "id": ident,
        "verdict": verdict,
        "teach": bool(visit.form.one("teach")),
        "withdraw": bool(visit.form.one("withdraw")),
    }
    plan = ActPlan(
        call="campaigns.decide",
        order=order,
        title=_("Case %(id)s: %(verdict)s")
        % {"id": ident, "verdict": _(VERDICTS.get(verdict, "?"))},
        back=f"/case/{ident}",
        shown="campaigns/outcome.html",
        answer=dict[str, Any],
        undo=f"/case/{ident}/undecide",
    )
    return await carry_out(visit, plan)


@page("POST", "/case/{id}/undecide", Right.TEACH)
async def undecide_case(visit: Visit) -> web.Response:
    """Take a decision back, with all that it did.

    Raises:
        DeskError: the desk does not answer.
    """
    ident = _case(visit)
    plan = ActPlan(
        call="campaigns.undecide",
        order={"id": ident},
        title=_("Take back the decision of case %(id)s") % {"id": ident},
        back=f"/case/{ident}",
        shown="campaigns/outcome.html",
        answer=dict[str, Any],
    )
    return await carry_out(visit, plan)


@page("POST", "/case/{id}/take", Right.TEACH)
async def take_case(visit: Visit) -> web.Response:
    """Look at a case alone for ten minutes, or give it back.

    Raises:
        DeskError: the desk does not answer.
    """
    order = {"give_back": bool(visit.form.one("give_back"))}
    return await _at_once(visit, "campaigns.take", order, LOOKS)


@page("POST", "/case/{id}/snooze", Right.TEACH)
async def snooze_case(visit: Visit) -> web.Response:
    """Put a case off, or wake it.

    Raises:
        DeskError: the desk does not answer.
    """
    seconds = _number(visit.form.one("for"), 366 * 86_400)
    until = time.time() + seconds if seconds else 0.0
    why = visit.form.one("why") or ("put off" if seconds else "woken")
    return await _at_once(visit, "cases.snooze", {"until": until}, why)


@page("POST", "/case/{id}/note", Right.NOTE)
async def note_case(visit: Visit) -> web.Response:
    """Write something beside a case.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _at_once(visit, "cases.note", {"text": visit.form.one("text")}, "a note")


async def _at_once(
    visit: Visit, call: str, order: Mapping[str, object], reason: str
) -> web.Response:
    """Do what harms nobody and is taken back by a button of the same page."""
    ident, key = _case(visit), secrets.token_urlsafe(16)
    try:
        await visit.ask(call, {"id": ident, **order, "reason": reason, "key": key})
    except DeskError as error:
        if error.status not in {403, 409, 422}:
            raise
        return await _case_page(visit, error.text)
    return visit.go(visit.at(f"/case/{ident}"))


def _case(visit: Visit) -> int:
    return _number(visit.parts["id"], (1 << 63) - 1)


def _number(text: str, most: int) -> int:
    """Return a number of an address or form; what is none is 0, which nothing has."""
    plain = text.isascii() and text.isdecimal() and len(text) < 20
    return min(int(text), most) if plain else 0


def _columns(row: dict[str, Any]) -> tuple[object, ...]:
    summary, lock = row["summary"], row["lock"]
    complaints, pardons = summary["complaints"], summary["pardons"]
    return (
        summary["id"], row["why"], row["copies"], complaints["reports"], complaints["weight"],
        pardons["reports"], pardons["weight"], summary["traps"], lock["by"] if lock else "",
    )  # fmt: skip


def _said(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return how many did what with the mail of a campaign."""
    names = {
        "complaint": _("complained"),
        "pardon": _("said: no spam"),
        "trap": _("came to traps"),
        "read": _("opened it"),
        "deleted": _("threw it away unread"),
    }
    return [
        (name, count(sum(event["what"] == what for event in events)))
        for what, name in names.items()
    ]
