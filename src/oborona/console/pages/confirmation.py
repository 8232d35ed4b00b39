"""The password once more, or a passkey, and back to where it was asked for."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.browser_state import drop_cookie, own_path
from oborona.console.confirmation import MAX_KEPT, kept_fields, password_page
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page, not_yours
from oborona.console.form_body import Form
from oborona.console.language import gettext as _
from oborona.console.visit import SESSION, Visit

CONFIRM_S: Final = 20.0  # a password costs time, and the desk tries two at once
_FORM_BYTES: Final = 4 * MAX_KEPT


@page("GET", "/me/confirm", enrols=True)
async def show_confirm(visit: Visit) -> web.Response:
    """Show the form."""
    return password_page(visit, back=visit.query("back") or "/")


@page("POST", "/me/confirm", max_bytes=_FORM_BYTES, enrols=True)
async def confirm(visit: Visit) -> web.Response:
    """Take the password, and show what was asked for, with what was typed there.

    Raises:
        DeskError: the desk is away.
    """
    form = visit.form
    back, kept = own_path(form.one("back")), form.raw("kept")
    try:
        await visit.ask("me.confirm", {"password": form.raw("password")}, within_s=CONFIRM_S)
    except DeskError as error:
        if error.status == 429:  # it was guessed at: the desk has ended the session
            answer = visit.go("/sign-in")
            drop_cookie(answer, SESSION)
            return answer
        if error.status not in {401, 422}:
            raise
        told = _("The password is wrong.")
        return password_page(visit, 403, back=back, kept=kept, told=told)
    return await _go_on(visit, back, kept_fields(kept)) if kept else visit.go(back)


@page("POST", "/me/confirm/passkey", max_bytes=_FORM_BYTES, enrols=True)
async def confirm_by_passkey(visit: Visit) -> web.Response:
    """Take a passkey in place of the password, and show what was asked for.

    Raises:
        DeskError: the desk is away.
    """
    form = visit.form
    back, kept = own_path(form.one("back")), form.raw("kept")
    try:
        await visit.ask("me.confirm_passkey", {"answer": form.raw("answer")})
    except DeskError as error:
        if error.status != 422:
            raise
        told = _("The passkey was not taken. Begin again.")
        return password_page(visit, 403, back=back, kept=kept, told=told)
    return await _go_on(visit, back, kept_fields(kept)) if kept else visit.go(back)


async def _go_on(visit: Visit, back: str, fields: dict[str, list[str]]) -> web.Response:
    """Answer a form as if it had been sent now, but for the word that the act is to be done."""
    path = back.partition("?")[0]
    methods, parts = visit.console.routes.find(path)
    declared = methods.get("POST")
    if declared is None or path == visit.path:
        return error_page(visit, 404)
    if not declared.is_for(visit.signed_in.rights):
        return not_yours(visit, declared.needs)
    visit.path, visit.parts, visit.form = path, parts, Form(fields)
    return await declared.handler(visit)
