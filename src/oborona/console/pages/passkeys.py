"""My passkeys: made, listed, removed; and signing in by one."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from aiohttp import web

from oborona.console.confirmation import NEEDS_PASSWORD
from oborona.console.console_person import SignedIn
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.pages.account import LOGIN_S, begin_session, sign_in_form
from oborona.console.visit import DEVICE, Visit

STEP: Final = "1"  # the password was right, and the passkey is the second step


class OwnPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey, as the desk tells its owner."""

    ident: str
    name: str
    made: float
    last: float


class ShownPasskeys(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, the oldest first; `trouble` says why the site can take none."""

    passkeys: list[OwnPasskey]
    trouble: str = ""


@page("GET", "/me/passkeys", enrols=True)
async def show_passkeys(visit: Visit) -> web.Response:
    """Show one's passkeys.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _show(visit)


async def _show(visit: Visit, told: str = "") -> web.Response:
    found = await visit.ask("me.passkeys", {}, ShownPasskeys)
    status = 422 if told else 200
    name = visit.form.one("name")
    return visit.render("passkeys/list.html", status, found=found, told=told, name=name)


@page("POST", "/me/passkeys/options", enrols=True)
async def begin_passkey(visit: Visit) -> web.Response:
    """Return what a script has the browser make.

    Raises:
        DeskError: the password is wanted once more, or the desk does not answer.
    """
    return await _options(visit, "me.passkey_begin", {})


@page("POST", "/me/passkeys", enrols=True)
async def add_passkey(visit: Visit) -> web.Response:
    """Keep what the browser has made.

    Raises:
        DeskError: the desk does not answer.
    """
    form = visit.form
    asked = {"answer": form.raw("answer"), "name": form.one("name")}
    return await _changed(visit, "me.passkey_add", asked)


@page("POST", "/me/passkeys/remove")
async def remove_passkey(visit: Visit) -> web.Response:
    """Remove one.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _changed(visit, "me.passkey_remove", {"ident": visit.form.one("ident")})


async def _changed(visit: Visit, call: str, asked: dict[str, str]) -> web.Response:
    try:
        await visit.ask(call, asked)
    except DeskError as error:
        if error.needs == NEEDS_PASSWORD:
            return visit.go("/me/confirm?back=/me/passkeys")
        if error.status not in {404, 422}:
            raise
        return await _show(visit, error.text)
    return visit.go("/me/passkeys")


@page("POST", "/sign-in/passkey/options", public=True)
async def begin_sign_in(visit: Visit) -> web.Response:
    """Return what a script has the browser sign.

    Raises:
        DeskError: the desk has nothing to be signed, or does not answer.
    """
    step = visit.form.one("step") == STEP
    asked = {"browser": visit.session_key, "step": step}
    return await _options(visit, "login.passkey_begin", asked)


@page("POST", "/sign-in/passkey", public=True)
async def sign_in_by_passkey(visit: Visit) -> web.Response:
    """Begin a session by what the browser has signed.

    Raises:
        DeskError: the desk is away.
    """
    back = visit.form.one("next")
    asked = {
        "browser": visit.session_key,
        "answer": visit.form.raw("answer"),
        "device": visit.request.cookies.get(DEVICE, ""),
        "step": visit.form.one("step") == STEP,
    }
    try:
        signed = await visit.ask("login.passkey", asked, SignedIn, LOGIN_S)
    except DeskError as error:
        if error.status not in {401, 422, 429}:
            raise
        told = "" if error.status == 429 else _("The passkey was not taken. Begin again.")
        return await sign_in_form(visit, back=back, error=error, told=told)
    return begin_session(visit, signed, back)


async def _options(visit: Visit, call: str, asked: dict[str, Any]) -> web.Response:
    return visit.json("options", (await visit.ask(call, asked))["options"])


@page("POST", "/me/confirm/options", enrols=True)
async def begin_confirm(visit: Visit) -> web.Response:
    """Return what a script has the browser sign in place of the password once more.

    Raises:
        DeskError: they have no passkey, or the desk does not answer.
    """
    return await _options(visit, "me.confirm_begin", {})
