"""The audit log: who did what, what came of it, and whether all that was written is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from oborona.call_places import is_for_others
from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.store_state import empty_words
from oborona.console.visit import Visit
from oborona.people.rights import Right

ROWS: Final = 50
SAVED: Final = 1000  # rows of a file
CHAIN_S: Final = 10.0  # every row is looked at
FILTERS: Final = ("since", "until", "person", "act", "about")
OUTCOMES: Final = {
    "done": marked("done"),
    "partly": marked("partly done"),
    "refused": marked("refused"),
    "failed": marked("failed"),
    "open": marked("not ended"),
}
WAYS: Final = {
    "terminal": marked("terminal"),
    "page": marked("page"),
    "key": marked("API key"),
}


class AuditAct(msgspec.Struct, frozen=True, kw_only=True):
    """An act, as the desk tells it."""

    number: int
    looked: bool
    at: float
    act: str
    person: str
    way: str
    place: str
    about: str
    arguments: str
    reason: str
    dry: bool
    outcome: str
    message: str
    undo: str
    desk: str = ""


class AuditPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of them, the newest first; of several machines, `undoable_at` is by machine."""

    acts: list[AuditAct]
    undoable: list[int]
    more: bool
    own: bool
    undoable_at: dict[str, list[int]] = {}
    next: str = ""

    def may_undo(self, act: AuditAct) -> bool:
        """Return whether an act can be taken back by who looks; on another machine by calls that
        are made there.
        """
        if act.number not in self.undoable_at.get(act.desk, self.undoable):
            return False
        undo = undo_of(act)
        return undo is not None and (not act.desk or is_for_others(undo.call))


class AuditChain(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the whole chain found."""

    rows: int
    first: int
    end: str
    dropped: int
    unkeyed: int
    faults: list[str]
    more: int


class TakenBack(msgspec.Struct, frozen=True):
    """The call that takes an act back."""

    call: str
    asked: dict[str, Any]


@page("GET", "/audit", Right.AUDIT, Right.AUDIT_OWN, menu=marked("Audit"), order=140)
async def show_audit(visit: Visit) -> web.Response:
    """Show acts, the newest first.

    Raises:
        DeskError: the desk does not answer.
    """
    saved = visit.query("as")
    asked = _asked(visit, SAVED if saved else ROWS)
    told, status = "", 200
    found = AuditPage(acts=[], undoable=[], more=False, own=False)
    try:
        found = await visit.ask("audit.find", asked, AuditPage)
    except DeskError as error:
        if error.status != 422:
            raise
        told, status = error.text, 422
    if saved == "json":
        return visit.json("audit", found.acts)
    if saved == "csv":
        heads = AuditAct.__struct_fields__
        return visit.csv("audit", heads, map(msgspec.structs.astuple, found.acts))
    following = found.next or (str(found.acts[-1].number) if found.more and found.acts else "")
    return visit.render(
        "audit/list.html",
        status,
        found=found,
        filters={name: visit.query(name) for name in FILTERS},
        looks=asked["looks"],
        unended=asked["open"],
        older=visit.url(before=following) if following and found.acts else "",
        told=told,
        outcomes=OUTCOMES,
        ways=WAYS,
        of_person=lambda name: f"/audit?{urlencode({'person': name}, errors='replace')}",
    )


@page("GET", "/audit/chain", Right.AUDIT)
async def show_chain(visit: Visit) -> web.Response:
    """Look at every row of the log.

    Raises:
        DeskError: the desk does not answer.
    """
    anchor, told, empty = visit.query("anchor"), "", ""
    chain = None
    try:
        chain = await visit.ask("audit.verify", {"anchor": anchor}, AuditChain, CHAIN_S)
    except DeskError as error:
        if error.not_yet and not anchor:
            empty = empty_words(error.store)
        elif error.status == 422 or error.not_yet:  # a row was noted: it has gone with its log
            told = error.text
        else:
            raise
    return visit.render(
        "audit/chain.html", 422 if told else 200, chain=chain, anchor=anchor, told=told, empty=empty
    )


@page("POST", "/audit/undo", Right.AUDIT, Right.AUDIT_OWN)
async def undo_act(visit: Visit) -> web.Response:
    """Take back an act by the call that the log names.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    number = visit.form.one("number")
    if not number.isascii() or not number.isdecimal() or len(number) > 15:
        return error_page(visit, 404)
    visit.choose_home()
    before = int(number) + 1
    asked = {"before": f"{visit.desk}:{before}" if visit.several else before, "most": 1}
    found = await visit.ask("audit.find", asked, AuditPage)
    if not found.acts or found.acts[0].number != int(number) or not found.may_undo(found.acts[0]):
        return error_page(visit, 404)
    undo = undo_of(found.acts[0])
    assert undo is not None
    title = _("Take back: %(act)s") % {"act": found.acts[0].act}
    plan = ActPlan(call=undo.call, order=undo.asked, title=title, back="/audit")
    return await carry_out(visit, plan)


def undo_of(act: AuditAct) -> TakenBack | None:
    """Return the call that takes an act back; None: there is none, or somebody changed it."""
    try:
        return msgspec.json.decode(act.undo, type=TakenBack)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _asked(visit: Visit, most: int) -> Mapping[str, object]:
    before = visit.query("before")
    number: int | str | None = (
        int(before) if before.isascii() and before.isdecimal() and len(before) < 16 else None
    )
    if visit.several:
        number = before
    return {
        **{name: visit.query(name) for name in FILTERS},
        "looks": visit.query("looks") == "1",
        "open": visit.query("open") == "1",
        "before": number,
        "most": most,
    }
