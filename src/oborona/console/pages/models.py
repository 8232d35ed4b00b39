"""The models: what the content model was taught and by whom, and the final ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.visit import Visit
from oborona.people.rights import Right

LABELS: Final = 50


@page("GET", "/models", Right.STATUS, menu=marked("Models"), order=80, whole=True)
async def show_models(visit: Visit) -> web.Response:
    """Show what the models learned, and the states that they can go back to.

    Raises:
        DeskError: the session ended.
    """
    answer = dict[str, Any]
    model = await visit.part("model.status", {}, answer)
    labels = await visit.part("model.words", {"most": LABELS}, answer)
    history = await visit.part("model.history", {}, answer)
    final = await visit.part("model.final_status", {}, answer)
    rights = visit.signed_in.rights
    return visit.render(
        "models/show.html",
        model=model,
        labels=labels,
        history=history,
        final=final,
        may=Right.SYSTEM in rights,
        may_unlearn=Right.SYSTEM in rights or Right.TEACH in rights,
    )


@page("POST", "/models/unlearn", Right.SYSTEM, Right.TEACH)
async def unlearn_labels(visit: Visit) -> web.Response:
    """Take a label back.

    Raises:
        DeskError: the desk does not answer.
    """
    order = {"words": _numbers(visit, "id")}
    shown = "models/unlearned.html"
    return await _carry_out(visit, "model.unlearn", order, _("Take a label back"), shown)


@page("POST", "/models/roll-back", Right.SYSTEM)
async def roll_back_model(visit: Visit) -> web.Response:
    """Go back to a state of the content model.

    Raises:
        DeskError: the desk does not answer.
    """
    order = {"snapshot": (_numbers(visit, "id") or [0])[0]}
    title, shown = _("Go back to a state of the content model"), "models/rolled.html"
    return await _carry_out(visit, "model.rollback", order, title, shown)


@page("POST", "/models/final/roll-back", Right.SYSTEM)
async def roll_back_final_model(visit: Visit) -> web.Response:
    """Put the final model of before in force.

    Raises:
        DeskError: the desk does not answer.
    """
    title, shown = _("Put the final model of before in force"), "models/final.html"
    back = "/models/final/roll-back"
    return await _carry_out(visit, "model.final_rollback", {}, title, shown, back)


@page("POST", "/models/final/remove", Right.SYSTEM)
async def remove_final_model(visit: Visit) -> web.Response:
    """Take the site's own final model away.

    Raises:
        DeskError: the desk does not answer.
    """
    title, shown = _("Remove the final model of the site"), "models/final.html"
    back = "/models/final/roll-back"
    return await _carry_out(visit, "model.final_remove", {}, title, shown, back)


async def _carry_out(
    visit: Visit, call: str, order: Mapping[str, object], title: str, shown: str, undo: str = ""
) -> web.Response:
    plan = ActPlan(
        call=call,
        order=order,
        title=title,
        back="/models",
        shown=shown,
        answer=dict[str, Any],
        undo=undo,
    )
    return await carry_out(visit, plan)


def _numbers(visit: Visit, name: str) -> list[int]:
    words = visit.form.all(name)
    return [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 18]
