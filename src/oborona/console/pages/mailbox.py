"""Signing in by one's mailbox: a link that goes there, or its password."""

from __future__ import annotations

from aiohttp import web

from oborona.console.console_person import SignedIn
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page
from oborona.console.language import VIEWER
from oborona.console.language import gettext as _
from oborona.console.pages.account import LOGIN_S, begin_session, sign_in_form
from oborona.console.visit import DEVICE, Visit


@page("POST", "/sign-in/mail", public=True)
async def send_link(visit: Visit) -> web.Response:
    """Have a link sent; the answer is the same whether or not there is such a mailbox.

    Raises:
        DeskError: the desk is away, or sends no links.
    """
    asked = {"address": visit.form.one("address"), "language": VIEWER.get().language.code}
    try:
        await visit.ask("login.mail_send", asked)
    except DeskError as error:
        if error.status != 429:
            raise
        told = _("Links have been asked for too often. Try again in an hour.")
        return await sign_in_form(visit, back=visit.form.one("next"), error=error, told=told)
    return visit.render("mailbox/sent.html")


@page("GET", "/sign-in/mail/{link}", public=True)
async def show_mailed_link(visit: Visit) -> web.Response:
    """Show the button of a link; programs that look at mail open it, too, and use nothing up."""
    return visit.render("mailbox/link.html")


@page("POST", "/sign-in/mail/{link}", public=True)
async def use_mailed_link(visit: Visit) -> web.Response:
    """Begin a session.

    Raises:
        DeskError: the desk is away.
    """
    asked = {
        "token": visit.parts["link"],
        "device": visit.request.cookies.get(DEVICE, ""),
    }
    try:
        return begin_session(visit, await visit.ask("login.mail", asked, SignedIn, LOGIN_S), "/")
    except DeskError as error:
        if error.status not in {401, 404}:
            raise
        return error_page(visit, 410, _("This link was used, or is too old."))


@page("POST", "/sign-in/mailbox", public=True)
async def sign_in_by_mailbox(visit: Visit) -> web.Response:
    """Begin a session by the password of a mailbox.

    Raises:
        DeskError: the desk is away, or asks no mailboxes.
    """
    back = visit.form.one("next")
    asked = {
        "address": visit.form.one("address"),
        "password": visit.form.raw("password"),
        "device": visit.request.cookies.get(DEVICE, ""),
    }
    try:
        signed = await visit.ask("login.mailbox", asked, SignedIn, LOGIN_S)
    except DeskError as error:
        match error.status:
            case 401:
                told = _("Mail address or password is wrong.")
            case 429:
                told = ""
            case 503:
                told = _("This mailbox can't be asked now. Try again later.")
            case _:
                raise
        return await sign_in_form(visit, back=back, error=error, told=told)
    return begin_session(visit, signed, back)
