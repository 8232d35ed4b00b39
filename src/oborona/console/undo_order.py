"""Taking an act back: the order that the desk names goes through a form of the page of the act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from oborona.console.act_form import ActPlan
from oborona.console.desk_client import DeskError
from oborona.console.visit import Visit


def undo_fields(answer: Any) -> Mapping[str, str]:
    """Return the fields of the form that undoes an act; none where no one act does."""
    undo = answer.get("undo")
    if not undo:
        return {}
    return {"call": undo["call"], "asked": msgspec.json.encode(undo["asked"]).decode()}


def undo_plan(visit: Visit, calls: frozenset[str], *, title: str, back: str, shown: str) -> ActPlan:
    """Return the act that such a form asks for.

    Args:
        visit: that sent it.
        calls: of the desk that may be made by it.
        title: what is done, translated.
        back: path of the page that it is about.
        shown: template that shows the answer.

    Raises:
        DeskError: it is none of these calls, or no order.
    """
    call = visit.form.one("call")
    try:
        order = msgspec.json.decode(visit.form.raw("asked"), type=dict[str, Any])
    except msgspec.DecodeError:
        order = {}
    if call not in calls or not order:
        raise DeskError(422, "this can't be undone")
    return ActPlan(call=call, order=order, title=title, back=back, shown=shown)
