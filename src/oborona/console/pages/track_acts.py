"""Acts on rows of mail that were ticked: what they are, moves of their copies, lists for their
senders; each is shown before it is done, with a reason, and taken back as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.browser_state import own_path
from oborona.console.declaration import FORM_BYTES, page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.ticked_rows import TickedRow, ids_of, ticked_rows
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

MOST_FORM: Final = 3 * FORM_BYTES  # fifty boxes, with whom they are of
UNDO: Final = frozenset({"model.unlearn", "recheck.undo", "lists.undo"})
SHOWN_UNDONE: Final = "track/undone.html"


class RowAct(NamedTuple):
    """What can be done with rows.

    Args:
        text: that asks for it, and its title.
        call: of the desk.
        order: what that is told of rows; empty = there is nothing that it could be done with.
        needs: one of these rights.
        shown: template of the answer.
        whole: it is for those alone who see the mail of the whole site.
    """

    text: str
    call: str
    order: Callable[[Sequence[TickedRow]], Mapping[str, object]]
    needs: tuple[Right, ...]
    shown: str
    whole: bool = True


def _taught(kind: str) -> Callable[[Sequence[TickedRow]], Mapping[str, object]]:
    return lambda rows: {"kind": kind, "messages": ids_of(rows)} if ids_of(rows) else {}


def _messages(rows: Sequence[TickedRow]) -> Mapping[str, object]:
    return {"messages": ids_of(rows)} if ids_of(rows) else {}


def _listed(name: str, *, clients: bool) -> Callable[[Sequence[TickedRow]], Mapping[str, object]]:
    def order(rows: Sequence[TickedRow]) -> Mapping[str, object]:
        found = (
            [row.client for row in rows if row.client]
            if clients
            else [sender for row in rows for sender in row.senders]
        )
        return {"name": name, "entries": list(dict.fromkeys(found))} if found else {}

    return order


ACTS: Final = {
    "spam": RowAct(
        marked("They are spam"), "teach", _taught("spam"), (Right.TEACH,), "message/taught.html"
    ),
    "ham": RowAct(
        marked("They are not spam"), "teach", _taught("ham"), (Right.TEACH,), "message/taught.html"
    ),
    "look": RowAct(
        marked("Judge again, and move what is judged otherwise"),
        "recheck.look",
        _messages,
        (Right.MOVE,),
        "message/looked.html",
        whole=False,
    ),
    "back": RowAct(
        marked("Move back what was moved"),
        "recheck.undo",
        _messages,
        (Right.MOVE_ONE, Right.MOVE),
        "message/moved_back.html",
        whole=False,
    ),
    "allow": RowAct(
        marked("Let their senders in from now on"),
        "lists.add",
        _listed("allow", clients=False),
        (Right.POLICY_PUBLISH,),
        "lists/answer.html",
    ),
    "deny": RowAct(
        marked("Refuse their senders from now on"),
        "lists.add",
        _listed("deny", clients=False),
        (Right.POLICY_PUBLISH,),
        "lists/answer.html",
    ),
    "deny-clients": RowAct(
        marked("Refuse the machines that sent them"),
        "lists.add",
        _listed("deny", clients=True),
        (Right.POLICY_PUBLISH,),
        "lists/answer.html",
    ),
}
RIGHTS: Final = (Right.TEACH, Right.MOVE_ONE, Right.MOVE, Right.POLICY_PUBLISH)


def acts_of(visit: Visit) -> list[tuple[str, str]]:
    """Return what this person may do with rows: its word and its text, translated."""
    person = visit.signed_in
    return [
        (name, _(one.text))
        for name, one in ACTS.items()
        if not set(one.needs).isdisjoint(person.rights) and (person.sees_all_mail or not one.whole)
    ]


@page("POST", "/track/act", *RIGHTS, max_bytes=MOST_FORM)
async def act_on_rows(visit: Visit) -> web.Response:
    """Do something with rows that are ticked.

    Raises:
        DeskError: none is, or nothing of the kind can be done with them.
    """
    chosen = ACTS.get(visit.form.one("act"))
    rows = ticked_rows(visit.form.all("row[]"))
    if chosen is None or not rows:
        raise DeskError(422, _("Tick rows first, and choose what to do with them."))
    order = chosen.order(rows)
    if not order:
        raise DeskError(422, _("With these rows that can't be done: they are refusals."))
    plan = ActPlan(
        call=chosen.call,
        order=order,
        title=_(chosen.text),
        back=own_path(visit.form.one("back") or "/track"),
        shown=chosen.shown,
        undo="/track/undo",
        undo_fields=_undo,
    )
    return await carry_out(visit, plan)


@page("POST", "/track/undo", *RIGHTS)
async def undo_act_on_rows(visit: Visit) -> web.Response:
    """Take back what was done with rows.

    Raises:
        DeskError: it can't be.
    """
    plan = undo_plan(visit, UNDO, title=_("Undo"), back="/track", shown=SHOWN_UNDONE)
    return await carry_out(visit, plan)


def _undo(answer: Any) -> Mapping[str, str] | None:
    return undo_fields(answer) or None
