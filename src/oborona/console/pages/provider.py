"""Signing in at the site's OpenID provider: there, and back again."""

from __future__ import annotations

from aiohttp import web

from oborona.console.browser_state import drop_cookie, keep_cookie, own_path
from oborona.console.console_person import ProviderDeparture, SignedIn
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.pages.account import LOGIN_S, begin_session, sign_in_form
from oborona.console.visit import DEVICE, Visit

ATTEMPT = "__Host-oborona-attempt"
ATTEMPT_S = 600


@page("GET", "/sign-in/provider", public=True)
async def leave_for_provider(visit: Visit) -> web.Response:
    """Send the browser to the provider; nothing is kept of it but in the browser.

    Raises:
        DeskError: there is no provider.
    """
    asked = {"again": visit.query("again") == "yes"}
    try:
        start = await visit.ask("login.provider_begin", asked, ProviderDeparture, LOGIN_S)
    except DeskError as error:
        if error.status != 503:
            raise
        return await sign_in_form(
            visit,
            back=visit.query("next"),
            error=error,
            told=_("Your organisation's sign-in can't be reached now. Try again later."),
        )
    answer = visit.go(start.url)
    # a page of ours alone: what is after the blank is no more than where to go on
    keep_cookie(answer, ATTEMPT, f"{start.attempt} {own_path(visit.query('next'))}", ATTEMPT_S)
    return answer


@page("GET", "/sign-in/provider/back", public=True)
async def come_from_provider(visit: Visit) -> web.Response:
    """Begin a session of who comes back from the provider in the browser that left for it.

    Raises:
        DeskError: the desk is away.
    """
    attempt, _blank, back = visit.request.cookies.get(ATTEMPT, "").partition(" ")
    asked = {
        "attempt": attempt,
        "state": visit.query("state"),
        "code": visit.query("code"),
        "issuer": visit.query("iss"),
        "device": visit.request.cookies.get(DEVICE, ""),
    }
    try:
        answer = begin_session(
            visit, await visit.ask("login.provider", asked, SignedIn, LOGIN_S), back
        )
    except DeskError as error:
        if error.status not in {401, 403, 429, 503}:
            raise
        answer = await sign_in_form(visit, back=own_path(back), error=error, told=_told(error))
    drop_cookie(answer, ATTEMPT)
    return answer


def _told(error: DeskError) -> str:
    match error.status:
        case 403:
            return _("You have shown who you are, but you have no role here.")
        case 503:
            return _("Your organisation's sign-in can't be reached now. Try again later.")
        case _:
            return _("Signing in did not work. Begin again.")
