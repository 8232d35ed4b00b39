"""The analysts' queue, and a case of it: what a campaign is, decided and taken back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.bar_chart import bar_chart
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext, marked
from oborona.console.language import gettext as _
from oborona.console.number_text import read_number
from oborona.console.pages.appeals import waiting_appeals
from oborona.console.reason_texts import reason_names
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
    settled, after = visit.query("settled") == "1", read_number(visit.query("after"), 1_000)
    asked: dict[str, object] = {"settled": settled, "after": after, "most": AT_ONCE}
    if visit.several:
        asked["after"] = visit.query("after")
    try:
        found = await visit.ask("campaigns.list", asked, dict[str, Any])
    except DeskError as error:
        if error.status not in {500, 503}:
            raise
        return visit.render(
            "campaigns/queue_away.html",
            text=error.text,
            appeals=await waiting_appeals(visit),
            reason_names=reason_names,
        )
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
        appeals=await waiting_appeals(visit),
        reason_names=reason_names,
    )


@page("GET", "/queue/next", Right.TRACK)
async def show_next_case(visit: Visit) -> web.Response:
    """Lead to the first case that nobody else looks at.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("campaigns.list", {"most": AT_ONCE}, dict[str, Any])
    left, whose = read_number(visit.query("after"), 1 << 62), visit.query("of")
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
    asked = {"id": case_number(visit)}
    found = await visit.ask("campaigns.show", asked, dict[str, Any])
    times = [
        str(moment(bar["time"], date=not found["by_hour"]).striptags()) for bar in found["bars"]
    ]
    bars = [[bar["copies"], bar["complaints"], bar["pardons"]] for bar in found["bars"]]
    summary, lock = found["case"]["summary"], found["case"]["lock"]
    rights = visit.signed_in.rights
    open_ = Right.TEACH in rights and not found["case"]["decision"]
    further = open_ and not rights.isdisjoint({Right.SIGNATURE, Right.ENTITY, Right.MOVE})
    offers = await visit.part("campaigns.offers", asked, dict[str, Any]) if further else None
    return visit.render(
        "campaigns/case.html",
        422 if told else 200,
        shown=found,
        case=found["case"],
        summary=summary,
        said=_said(found["events"]),
        chart=bar_chart([_("Copies"), _("Complaints"), _("Pardons")], times, bars),
        may=Right.TEACH in rights,
        may_note=Right.NOTE in rights,
        further=further,
        offers=offers,
        may_sign=Right.SIGNATURE in rights,
        may_pin=Right.ENTITY in rights,
        may_move=Right.MOVE in rights,
        own_lock=lock is not None and lock["by"] == visit.signed_in.name,
        snoozes=[(str(seconds), gettext(text)) for seconds, text in SNOOZES],
        why=WHY,
        verdicts=VERDICTS,
        told=told,
    )


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
    seconds = read_number(visit.form.one("for"), 366 * 86_400)
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
    ident, key = case_number(visit), secrets.token_urlsafe(16)
    try:
        await visit.ask(call, {"id": ident, **order, "reason": reason, "key": key})
    except DeskError as error:
        if error.status not in {403, 409, 422}:
            raise
        return await _case_page(visit, error.text)
    return visit.go(visit.at(f"/case/{ident}"))


def case_number(visit: Visit) -> int:
    """Return the number of the case that a path names."""
    return read_number(visit.parts["id"], (1 << 63) - 1)


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
