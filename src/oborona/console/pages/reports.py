"""What people and traps said of mail, who they are, and what was believed."""

from __future__ import annotations

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
KINDS: Final = {
    "complaint": marked("spam"),
    "pardon": marked("no spam"),
    "trap": marked("came to a trap"),
    "read": marked("opened"),
    "deleted": marked("thrown away unread"),
}
STANDINGS: Final = {
    "proven": marked("proven"),
    "known": marked("known"),
    "stranger": marked("new"),
}


@page("GET", "/said", Right.TRACK, menu=marked("Reports"), order=60)
async def show_reports(visit: Visit) -> web.Response:
    """Show what was said, the newest first.

    Raises:
        DeskError: the desk does not answer.
    """
    what, rule, person = visit.query("what"), visit.query("rule"), visit.query("person")
    believed, before = visit.query("believed"), visit.query("before")
    asked: dict[str, object] = {"most": AT_ONCE, "rule": rule, "person": person}
    if what in KINDS:
        asked["what"] = what
    if believed in {"yes", "no"}:
        asked["counts"] = believed == "yes"
    if visit.several:
        asked["before"] = before
    elif before.isdecimal() and len(before) < 18:
        asked["before"] = int(before)
    found, told = None, ""
    try:
        found = await visit.ask("events.list", asked, dict[str, Any])
    except DeskError as error:
        if error.status not in {422, 500, 503}:
            raise
        told = error.text
    rows = [{"desk": "", **row} for row in found["events"]] if found is not None else []
    if visit.query("as") == "json":
        return visit.json("reports", rows)
    if visit.query("as") == "csv":
        heads = ["id", "what", "person", "time", "message_id", "counts", "weight", "say"]
        return visit.csv("reports", heads, ([row[head] for head in heads] for row in rows))
    following = found["next"] if found is not None else None
    return visit.render(
        "reports/list.html",
        rows=rows,
        told=told,
        kinds=KINDS,
        what=what,
        rule=rule,
        person=person,
        believed=believed,
        older=visit.url(before=str(following)) if following else "",
    )


@page("GET", "/said/{id}", Right.TRACK)
async def show_report(visit: Visit) -> web.Response:
    """Show what was decided of a report, and why.

    Raises:
        DeskError: the desk does not answer, or there is no such report.
    """
    ident = visit.parts["id"]
    number = int(ident) if ident.isascii() and ident.isdecimal() and len(ident) < 18 else 0
    if not number:
        raise DeskError(404, "there is no such report")
    found = await visit.ask("events.show", {"id": number}, dict[str, Any])
    return visit.render(
        "reports/event.html",
        event=found["event"],
        before=found["decisions_before"],
        kinds=KINDS,
        may=Right.TEACH in visit.signed_in.rights,
    )


@page("GET", "/said/person/{name}", Right.PERSON_SEE)
async def show_reporter(visit: Visit) -> web.Response:
    """Show how far a person is believed, and what they said last.

    Raises:
        DeskError: the desk does not answer, or the person has said nothing.
    """
    asked = {"person": visit.parts["name"], "most": AT_ONCE}
    found = await visit.ask("events.person", asked, dict[str, Any])
    return visit.render(
        "reports/person.html",
        name=visit.parts["name"],
        person=found["person"],
        today=found["thresholds"],
        rows=[{"desk": "", **row} for row in found["events"]],
        kinds=KINDS,
        standings=STANDINGS,
        may=Right.TEACH in visit.signed_in.rights,
    )


@page("POST", "/said/take-back", Right.TEACH)
async def take_back_reports(visit: Visit) -> web.Response:
    """Have reports believed no more: by their ids, or all of a person.

    Raises:
        DeskError: the desk does not answer.
    """
    person = visit.form.one("person")
    order: dict[str, object] = {"person": person} if person else {"ids": _ids(visit)}
    order["own"] = bool(visit.form.one("own"))
    plan = ActPlan(
        call="events.take_back",
        order=order,
        title=_("Believe reports no more"),
        back="/said",
        shown="reports/withdrawn.html",
        answer=dict[str, Any],
        undo="/said/restore",
        undo_fields=_withdrawn_ids,
    )
    return await carry_out(visit, plan)


@page("POST", "/said/restore", Right.TEACH)
async def restore_reports(visit: Visit) -> web.Response:
    """Decide reports that were taken back as they were decided before.

    Raises:
        DeskError: the desk does not answer.
    """
    plan = ActPlan(
        call="events.restore",
        order={"ids": _ids(visit)},
        title=_("Believe reports as before"),
        back="/said",
        shown="reports/restored.html",
        answer=dict[str, Any],
    )
    return await carry_out(visit, plan)


def _withdrawn_ids(answer: dict[str, Any]) -> dict[str, str]:
    return {"ids": " ".join(str(event["id"]) for event in answer["events"])}


def _ids(visit: Visit) -> list[int]:
    """Return the ids that a form names, of boxes or in one field."""
    words = " ".join(visit.form.all("ids")).split()
    return [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 18]
