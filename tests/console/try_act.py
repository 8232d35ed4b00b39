"""An act that only tests have: its form, preview and end are those of all."""

from __future__ import annotations

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.visit import Visit
from oborona.people.rights import Right

PATH = "/try/act"


@page("POST", PATH, Right.MOVE)
async def try_act(visit: Visit) -> web.Response:
    """Undo a move that there is not."""
    plan = ActPlan(
        call="recheck.undo",
        order={"id": visit.form.one("id")},
        title="Undo",
        back="/overview",
        undo=PATH,
        undo_fields=lambda answer: {"id": str(answer["undo"])},
    )
    return await carry_out(visit, plan)
