"""Signing in and out: by password, by a link that is good once; and the language of pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from oborona.console.browser_state import drop_cookie, keep_cookie, own_path
from oborona.console.console_person import SignedIn, SignInWays
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page
from oborona.console.form_body import Form
from oborona.console.language import gettext as _
from oborona.console.language import ngettext
from oborona.console.visit import (
    DEVICE,
    LANGUAGE,
    SESSION,
    YEAR_S,
    Visit,
)

CODE: Final = "code"
PASSKEY: Final = "passkey"
LOGIN_S: Final = 20.0  # a password costs time, and the desk tries two at once
LEAST_PASSWORD: Final = 12  # characters of a new one; the desk has the last word


@page("GET", "/sign-in", public=True)
async def show_sign_in(visit: Visit) -> web.Response:
    """Show the form; whom a proxy says is signed in has a session at once.

    Raises:
        DeskError: the desk is away.
    """
    if visit.person is not None:
        return visit.go(own_path(visit.query("next")))
    if visit.word is None:
        return await sign_in_form(visit, back=visit.query("next"))
    asked = {
        "user": visit.word.user,
        "secret": visit.word.secret,
        "device": visit.request.cookies.get(DEVICE, ""),
    }
    try:
        signed = await visit.ask("login.proxy", asked, SignedIn, LOGIN_S)
    except DeskError as error:
        if error.status not in {401, 403, 429}:
            raise
        told = (
            _("You have shown who you are, but you have no role here.")
            if error.status == 403
            else _("Signing in did not work. Begin again.")
        )
        return await sign_in_form(visit, back=visit.query("next"), error=error, told=told)
    return begin_session(visit, signed, visit.query("next"))


@page("POST", "/sign-in", public=True)
async def sign_in(visit: Visit) -> web.Response:
    """Begin a session.

    Raises:
        DeskError: the desk is away.
    """
    form = visit.form
    back = form.one("next")
    asked = {
        "name": form.one("name"),
        "password": form.raw("password"),
        "code": form.one("code"),
        "device": visit.request.cookies.get(DEVICE, ""),
        "browser": visit.session_key,
    }
    try:
        signed = await visit.ask("login.password", asked, SignedIn, LOGIN_S)
    except DeskError as error:
        if error.status not in {401, 403, 422, 429}:
            raise
        if error.needs:
            steps = error.needs.split(" or ")
            return await sign_in_form(visit, back=back, name=form.one("name"), steps=steps)
        return await sign_in_form(visit, back=back, name=form.one("name"), error=error)
    return begin_session(visit, signed, back)


async def sign_in_form(
    visit: Visit,
    *,
    back: str,
    name: str = "",
    error: DeskError | None = None,
    told: str = "",
    steps: Sequence[str] = (),
) -> web.Response:
    """Return the page with all ways to sign in.

    Args:
        visit: of who is to sign in.
        back: page that they came from.
        name: that they typed.
        error: why they are not signed in.
        told: the same in words, where it was no password; empty = it was.
        steps: the password is right, and one of these is to follow: a code, a passkey.
    """
    if error is not None and error.status == 429 and not told:
        wait = max(round(error.wait_s), 1)
        told = ngettext(
            "Too many attempts. Try again in %(n)s second.",
            "Too many attempts. Try again in %(n)s seconds.",
            wait,
        ) % {"n": wait}
    elif error is not None and not told:
        told = _("Name, password or code is wrong.")
    elif PASSKEY in steps and CODE in steps:
        told = _(
            "The password is right. Show your passkey, or give the password once more, with the six"
            " digits of your app."
        )
    elif PASSKEY in steps:
        told = _("The password is right. Now show your passkey.")
    elif steps:
        told = _("The password is right. Give it once more, with the six digits of your app.")
    status = 403 if told else 200
    if error is not None and error.status in {429, 503}:
        status = error.status
    ways = await visit.part("login.ways", {}, SignInWays) or SignInWays()
    return visit.render(
        "account/sign_in.html",
        status,
        back=back,
        name=name,
        told=told,
        ways=ways,
        wants_code=CODE in steps,
        wants_passkey=PASSKEY in steps,
    )


def begin_session(visit: Visit, signed: SignedIn, back: str) -> web.Response:
    """Give the browser a session, and lead it on."""
    if signed.token:
        answer = visit.go(own_path(back))
        keep_cookie(answer, SESSION, signed.token)
    else:  # the password is set, and a code is to be given: this browser is known from here on
        answer = visit.go("/sign-in")
    if signed.device:
        keep_cookie(answer, DEVICE, signed.device, YEAR_S)
    return answer


@page("GET", "/link/{link}", public=True)
async def show_link(visit: Visit) -> web.Response:
    """Show the form of a link; programs that look at mail open it, too, and use nothing up."""
    return visit.render("account/link.html", told="", least=LEAST_PASSWORD)


@page("POST", "/link/{link}", public=True)
async def use_link(visit: Visit) -> web.Response:
    """Set a password, and begin a session.

    Raises:
        DeskError: the desk is away.
    """
    password = visit.form.raw("password")
    told = password_fault(visit.form)
    if not told:
        asked = {"token": visit.parts["link"], "password": password}
        try:
            return begin_session(
                visit, await visit.ask("login.link", asked, SignedIn, LOGIN_S), "/"
            )
        except DeskError as error:
            if error.status in {401, 403, 404, 410}:
                return error_page(visit, 410, _("This link was used, or is too old."))
            if error.status != 422:
                raise
            told = error.text
    return visit.render("account/link.html", 422, told=told, least=LEAST_PASSWORD)


def password_fault(form: Form) -> str:
    """Return what is wrong with a new password that was typed twice; empty: nothing seen here."""
    password = form.raw("password")
    if password != form.raw("again"):
        return _("The two passwords differ.")
    if len(password) >= LEAST_PASSWORD:
        return ""
    return ngettext(
        "A password has at least %(n)s character.",
        "A password has at least %(n)s characters.",
        LEAST_PASSWORD,
    ) % {"n": LEAST_PASSWORD}


@page("POST", "/sign-out", public=True)
async def sign_out(visit: Visit) -> web.Response:
    """End the session, also where the desk does not know it any more."""
    if visit.token:
        try:
            await visit.ask("login.leave")
        except DeskError as error:
            if error.status != 401:
                raise
    answer = visit.go("/sign-in")
    drop_cookie(answer, SESSION)
    return answer


@page("POST", "/language", public=True)
async def choose_language(visit: Visit) -> web.Response:
    """Keep the language of this browser's pages."""
    chosen = visit.form.one("language")
    answer = visit.go(own_path(visit.form.one("back")))
    if chosen in visit.console.languages:
        keep_cookie(answer, LANGUAGE, chosen, YEAR_S)
        if visit.person is not None:
            with suppress(DeskError):  # this browser keeps it all the same
                await visit.ask("me.language", {"language": chosen})
    return answer
