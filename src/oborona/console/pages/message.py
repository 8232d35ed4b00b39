"""Why? One message or refusal: its story, its rules then and now, who sent it, what it has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.message_answer import MessageAnswer, StoryAnswer
from oborona.console.message_table import LIVE, fact_lines, rule_lines
from oborona.console.track_query import TrackLinks, message_url, track_url
from oborona.console.visit import Visit
from oborona.people.rights import Right

MOST_NAME: Final = 1_000  # characters that the desk takes for the name of a message
MOST_COUNTS: Final = 200  # pieces that are listed; JSON has all
NUMBERS: Final = 50  # of moves or reports in one form


@page("GET", "/message/{message}", Right.TRACK)
async def show_message(visit: Visit) -> web.Response:
    """Show all that explains a message or refusal; or several that may be meant.

    Raises:
        DeskError: the desk does not answer.
    """
    what = visit.parts["message"].strip()[:MOST_NAME]
    asked = {"what": what}
    if visit.query("as") == "json":
        explained, told = await asyncio.gather(
            visit.ask("messages.explain", asked), visit.part("messages.story", asked, dict)
        )
        return visit.json("message", {"explanation": explained, "story": told})
    try:
        found, story = await asyncio.gather(
            visit.ask("messages.explain", asked, MessageAnswer),
            visit.part("messages.story", asked, StoryAnswer),
        )
    except DeskError as error:
        if error.status not in {404, 422}:
            raise
        words = {"what": what, "search": track_url(what), "told": error.text}
        return visit.render("message/none.html", error.status, **words)
    links = TrackLinks(visit.leads)
    if found.message is None and found.refusal is None:
        return visit.render("message/several.html", what=what, found=found, links=links)
    if found.refusal is not None:
        if visit.query("as") == "csv":
            hits = ((one.name, one.mode, one.score, one.say) for one in found.refusal.rules)
            return visit.csv("rules", ("rule", "mode", "score", "words"), hits)
        shown = {"refusal": found.refusal, "story": story, "links": links}
        return visit.render("message/refusal.html", **shown)
    return _show(visit, found, story, links)


def _show(
    visit: Visit, found: MessageAnswer, story: StoryAnswer | None, links: TrackLinks
) -> web.Response:
    message = found.message
    assert message is not None
    rules = rule_lines(message.then, message.now)
    if visit.query("as") == "csv":
        return visit.csv(
            "rules", ("rule", "mode", "then", "now", "words"), (one[:5] for one in rules)
        )
    wanted = visit.query("facts")
    times = {one.report: one.time for one in story.events if one.kind == "said"} if story else {}
    return visit.render(
        "message/message.html",
        message=message,
        found=found,
        story=story,
        links=links,
        live=[one for one in rules if one.mode == LIVE],
        shadow=[one for one in rules if one.mode != LIVE],
        facts=fact_lines(message.then, message.now, wanted),
        wanted=wanted,
        counts=message.counts[:MOST_COUNTS],
        said_at=times,
        base=message_url((message.id or "").partition(".")[0]),
        # what is not scoped is refused to whoever sees some recipients alone
        whole=visit.signed_in.sees_all_mail,
    )


@page("POST", "/message/{message}/teach", Right.TEACH)
async def teach_message(visit: Visit) -> web.Response:
    """Write down what a message is.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    kind = visit.form.one("kind")
    title = _("This message is spam") if kind == "spam" else _("This message is not spam")
    order = {"kind": kind, "messages": [visit.parts["message"]]}
    return await _act(
        visit, "teach", order, title, "message/taught.html", ("unlearn", "words", _words)
    )


@page("POST", "/message/{message}/unlearn", Right.TEACH, Right.SYSTEM)
async def unlearn_message(visit: Visit) -> web.Response:
    """Take back what was written down of a message.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"words": _numbers(visit, "words")}
    return await _act(visit, "model.unlearn", order, _("Take back what was taught"))


@page("POST", "/message/{message}/undo", Right.MOVE_ONE, Right.MOVE)
async def undo_move(visit: Visit) -> web.Response:
    """Take back a move of a copy.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"moves": _numbers(visit, "moves")}
    return await _act(visit, "recheck.undo", order, _("Move it back"), "message/moved_back.html")


@page("POST", "/message/{message}/look", Right.MOVE)
async def look_again(visit: Visit) -> web.Response:
    """Judge copies of a message again, and move those whose verdict is another.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"message": visit.parts["message"]}
    return await _act(
        visit,
        "recheck.look",
        order,
        _("Look again"),
        "message/looked.html",
        ("undo", "moves", lambda answer: answer.get("moves") or []),
    )


@page("POST", "/message/{message}/forgive", Right.ENTITY)
async def forgive_message(visit: Visit) -> web.Response:
    """Take back that a message was counted as spam.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"ident": visit.parts["message"]}
    title = _("Forgive a message")
    return await _act(visit, "reputation.forgive", order, title, "entity/answer.html")


@page("POST", "/message/{message}/take-back", Right.TEACH)
async def take_back_report(visit: Visit) -> web.Response:
    """Believe no more what somebody said of a message.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"ids": _numbers(visit, "ids"), "own": bool(visit.form.one("own"))}
    return await _act(
        visit,
        "events.take_back",
        order,
        _("Take back what somebody said"),
        "message/reports.html",
        ("restore", "ids", lambda answer: [one["id"] for one in answer["events"]]),
    )


@page("POST", "/message/{message}/restore", Right.TEACH)
async def restore_report(visit: Visit) -> web.Response:
    """Decide what somebody said as it was decided before.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = {"ids": _numbers(visit, "ids")}
    return await _act(visit, "events.restore", order, _("Restore what somebody said"))


async def _act(
    visit: Visit,
    call: str,
    order: Mapping[str, object],
    title: str,
    shown: str = "message/done.html",
    undo: tuple[str, str, Any] | None = None,
) -> web.Response:
    """Carry out an act on a message.

    Args:
        visit: whose form.
        call: of the desk.
        order: what it is told.
        title: translated.
        shown: template of the answer.
        undo: last word of the path that undoes it, its field, and what makes the numbers that it
            is told of the answer.
    """
    back = message_url(visit.parts["message"])
    plan = ActPlan(call=call, order=order, title=title, back=back, shown=shown)
    if undo is not None and visit.leads(f"{back}/{undo[0]}", "POST"):
        name, numbers = undo[1], undo[2]
        plan.undo = f"{back}/{undo[0]}"

        def fields(answer: Any) -> dict[str, str] | None:
            told = " ".join(map(str, numbers(answer)[:NUMBERS]))
            return {name: told} if told else None

        plan.undo_fields = fields
    return await carry_out(visit, plan)


def _numbers(visit: Visit, name: str) -> list[int]:
    """Return the numbers that a field of a form has; what is none is left out."""
    found = visit.form.one(name).split()[:NUMBERS]
    return [int(one) for one in found if one.isascii() and one.isdigit() and len(one) < 19]


def _words(answer: Any) -> list[int]:
    undo = answer.get("undo") or {}
    return list(undo.get("asked", {}).get("words", []))
