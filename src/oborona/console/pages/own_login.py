"""With what somebody signs in: another password, and the second step."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from aiohttp import web

from oborona.console.browser_state import drop_cookie
from oborona.console.confirmation import NEEDS_PASSWORD
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.pages.account import LEAST_PASSWORD, LOGIN_S, password_fault
from oborona.console.qr_code import qr_code
from oborona.console.visit import SESSION, Visit

# what we ask people to put into their app is a code's secret, and nothing that leads elsewhere
_STEP_URI: Final = re.compile(r"otpauth://totp/[!-~]{1,1000}\Z")
_SECRET: Final = re.compile(r"[A-Z2-7]{16,64}\Z")


class BegunStep(msgspec.Struct, frozen=True, kw_only=True):
    """A second step that has been begun.

    Args:
        secret: for who types it.
        uri: for who opens it in an app.
    """

    secret: str
    uri: str


@page("GET", "/me/password")
async def show_password(visit: Visit) -> web.Response:
    """Show the form of another password."""
    if not visit.signed_in.fresh:
        return _confirm_first(visit)
    return visit.render("own_login/password.html", told="", least=LEAST_PASSWORD)


@page("POST", "/me/password")
async def change_password(visit: Visit) -> web.Response:
    """Set another password; all sessions end.

    Raises:
        DeskError: the desk is away.
    """
    told = password_fault(visit.form)
    if not told:
        try:
            await visit.ask("me.password", {"new": visit.form.raw("password")}, within_s=LOGIN_S)
        except DeskError as error:
            if error.needs == NEEDS_PASSWORD:
                return _confirm_first(visit)
            if error.status != 422:
                raise
            told = error.text
        else:
            answer = visit.go("/sign-in")
            drop_cookie(answer, SESSION)
            return answer
    return visit.render("own_login/password.html", 422, told=told, least=LEAST_PASSWORD)


@page("GET", "/me/step", enrols=True)
async def show_step(visit: Visit) -> web.Response:
    """Show whether there is a second step, and how one is begun or removed."""
    return visit.render("own_login/step.html", told="")


@page("POST", "/me/step", enrols=True)
async def begin_step(visit: Visit) -> web.Response:
    """Begin a second step: it counts once its first code was given.

    Raises:
        DeskError: the desk does not answer.
    """
    try:
        begun = await visit.ask("me.begin_step", {}, BegunStep)
    except DeskError as error:
        return _step_fault(visit, error)
    return _begun_page(visit, begun)


@page("POST", "/me/step/confirm", enrols=True)
async def confirm_step(visit: Visit) -> web.Response:
    """Take the first code of a second step.

    Raises:
        DeskError: the desk does not answer.
    """
    form = visit.form
    begun = BegunStep(secret=form.one("secret"), uri=form.one("uri"))
    try:
        await visit.ask("me.confirm_step", {"code": form.one("code")})
    except DeskError as error:
        if error.status != 422 or not (_SECRET.match(begun.secret) and _STEP_URI.match(begun.uri)):
            return _step_fault(visit, error)
        told = _("That is not the code of now.")
        return _begun_page(visit, begun, told)
    return visit.go("/me/step")


def _begun_page(visit: Visit, begun: BegunStep, told: str = "") -> web.Response:
    status = 422 if told else 200
    code = qr_code(begun.uri)
    return visit.render("own_login/begun.html", status, begun=begun, told=told, code=code)


@page("POST", "/me/step/drop")
async def drop_step(visit: Visit) -> web.Response:
    """Remove the second step.

    Raises:
        DeskError: the desk does not answer.
    """
    try:
        await visit.ask("me.drop_step")
    except DeskError as error:
        return _step_fault(visit, error)
    return visit.go("/me/step")


def _step_fault(visit: Visit, error: DeskError) -> web.Response:
    if error.needs == NEEDS_PASSWORD:
        return visit.go("/me/confirm?back=/me/step")
    if error.status != 422:
        raise error
    return visit.render("own_login/step.html", 422, told=error.text)


def _confirm_first(visit: Visit) -> web.Response:
    return visit.go("/me/confirm?back=/me/password")
