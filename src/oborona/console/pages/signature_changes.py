"""Changes of signatures: added, imported, decided about, ended, put on trial, taken out of use."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import DO, ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.form_days import end_of_days
from oborona.console.language import gettext as _
from oborona.console.pages.signatures import FLAGS, KINDS, PLACES, WORDS, signature_links
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

MOST_TEXT: Final = 1 << 20  # octets of a file that comes by a form
MOST_FORM: Final = 4 * MOST_TEXT  # letters that are no ASCII are thrice as long in it
UNDO: Final = frozenset(
    {
        "signatures.remove", "signatures.import", "signatures.expire", "signatures.mode",
        "signatures.reopen", "signatures.decline",
    }
)  # fmt: skip
"""Calls that take one of these acts back."""
_NAMES: Final = 200  # of one form


@page("GET", "/signatures/new", Right.SIGNATURE)
async def show_new(visit: Visit) -> web.Response:
    """Show the forms that add one, and many."""
    return visit.render("signatures/new.html", most_mib=MOST_TEXT >> 20, **WORDS)


@page("POST", "/signatures/add", Right.SIGNATURE)
async def add_signature(visit: Visit) -> web.Response:
    """Add a signature, once it was looked for in mail that is known.

    Raises:
        DeskError: the desk does not answer, or a number is none.
    """
    form = visit.form
    order: dict[str, object] = {
        "value": form.one("value"),
        "inside": bool(form.one("inside")),
        "owner": form.one("owner"),
        "expires": end_of_days(form.one("days")),
        "mode": "live" if form.one("mode") == "live" else "shadow",
        "look": True,
    }
    for name, known in (("kind", KINDS), ("flag", FLAGS), ("where", PLACES)):
        if form.one(name) in known:
            order[name] = form.one(name)
    if form.one("score"):
        try:
            order["score"] = float(form.one("score")[:20].replace(",", "."))
        except ValueError:
            raise DeskError(422, _("Points are a number.")) from None
    return await _act(visit, "signatures.add", order, _("Add a signature"), "added")


@page("POST", "/signatures/import", Right.SIGNATURE, max_bytes=MOST_FORM)
async def import_signatures(visit: Visit) -> web.Response:
    """Add the lines of a file; the preview has what is wrong with which line.

    Raises:
        DeskError: the desk does not answer, or there is no text.
    """
    form, file = visit.form, visit.form.files.get("file")
    if file is not None:  # the preview sends it again as text
        form.fields["text"] = [_text(file.octets)]
    text = form.raw("text").replace("\r\n", "\n")
    if not text.strip():
        raise DeskError(422, _("Choose a file, or paste lines."))
    if len(text.encode("utf-8", "replace")) > MOST_TEXT:
        told = _("The file has more than %(n)s MiB: import it by a command.")
        raise DeskError(422, told % {"n": MOST_TEXT >> 20})
    order: dict[str, object] = {
        "content": base64.b64encode(text.encode("utf-8", "replace")).decode(),
        "called": _("line"),
        "owner": form.one("owner"),
        # the preview names all that is wrong; it is passed over only where that was asked for
        "skip_broken": bool(form.one("skip")) or form.one("step") != DO,
    }
    for name, known in (("kind", KINDS), ("flag", FLAGS)):
        if form.one(name) in known:
            order[name] = form.one(name)
    return await _act(visit, "signatures.import", order, _("Import signatures"), "imported")


@page("POST", "/signatures/accept", Right.SIGNATURE)
async def accept_proposals(visit: Visit) -> web.Response:
    """Put proposals in force, live or on trial."""
    mode = "live" if visit.form.one("mode") == "live" else "shadow"
    order = {"names": _names(visit), "mode": mode}
    title = _("Accept, live") if mode == "live" else _("Accept, on trial")
    return await _act(visit, "signatures.accept", order, title, "changed", "/signatures/proposals")


@page("POST", "/signatures/decline", Right.SIGNATURE)
async def decline_proposals(visit: Visit) -> web.Response:
    """Decline proposals; they are not proposed again."""
    order, title = {"names": _names(visit)}, _("Decline proposals")
    return await _act(visit, "signatures.decline", order, title, "changed", "/signatures/proposals")


@page("POST", "/signatures/remove", Right.SIGNATURE)
async def remove_signature(visit: Visit) -> web.Response:
    """Take a signature out of use."""
    order = {"names": _names(visit)}
    return await _act(visit, "signatures.remove", order, _("Take out of use"), "changed")


@page("POST", "/signatures/expire", Right.SIGNATURE)
async def expire_signature(visit: Visit) -> web.Response:
    """Set when a signature ends.

    Raises:
        DeskError: the days are no number of them.
    """
    days = visit.form.one("days")
    until = time.time() if days == "now" else end_of_days(days)
    order = {"name": visit.form.one("name"), "until": until}
    return await _act(visit, "signatures.expire", order, _("Set when it ends"), "ended")


@page("POST", "/signatures/mode", Right.SIGNATURE)
async def set_signature_mode(visit: Visit) -> web.Response:
    """Put a signature on trial, or in force."""
    mode = "live" if visit.form.one("mode") == "live" else "shadow"
    order = {"name": visit.form.one("name"), "mode": mode}
    title = _("Let it count") if mode == "live" else _("Put it on trial")
    return await _act(visit, "signatures.mode", order, title, "mode")


@page("POST", "/signatures/undo", Right.SIGNATURE)
async def undo_signature_change(visit: Visit) -> web.Response:
    """Take a change back.

    Raises:
        DeskError: it can't be.
    """
    shown = "signatures/undone.html"
    plan = undo_plan(visit, UNDO, title=_("Undo"), back="/signatures", shown=shown)
    return await carry_out(visit, plan)


async def _act(
    visit: Visit, call: str, order: Mapping[str, object], title: str, shown: str, back: str = ""
) -> web.Response:
    name = order.get("name")
    home = signature_links([str(name)])[str(name)] if name else "/signatures"
    plan = ActPlan(
        call=call,
        order=order,
        title=title,
        back=back or home,
        shown=f"signatures/{shown}.html",
        answer=dict[str, Any],
        undo="/signatures/undo",
        undo_fields=_undo_fields,
    )
    return await carry_out(visit, plan)


def _undo_fields(answer: dict[str, Any]) -> Mapping[str, str] | None:
    return undo_fields(answer) or None


def _names(visit: Visit) -> list[str]:
    """Return the ids that a form names.

    Raises:
        DeskError: it names none.
    """
    names = [name.strip() for name in visit.form.all("names") if name.strip()][:_NAMES]
    if not names:
        raise DeskError(422, _("Tick at least one."))
    return list(dict.fromkeys(names))


def _text(octets: bytes) -> str:
    """Return the text of a file.

    Raises:
        DeskError: it is too large, or no text in UTF-8.
    """
    if len(octets) > MOST_TEXT:
        told = _("The file has more than %(n)s MiB: import it by a command.")
        raise DeskError(422, told % {"n": MOST_TEXT >> 20})
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = octets[: fault.start].count(b"\n") + 1
        raise DeskError(422, _("Line %(n)s is no text in UTF-8.") % {"n": line}) from None
