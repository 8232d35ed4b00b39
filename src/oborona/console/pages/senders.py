"""The page of a sender whose mail was refused: why, and an appeal; nobody signs in for it."""

from __future__ import annotations

import msgspec
from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page
from oborona.console.language import gettext as _
from oborona.console.reason_texts import REASONS
from oborona.console.visit import Visit


class ShownTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be asked."""

    most_text: int
    looks: int
    appeals: int


class ToldRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender is told."""

    known: bool
    reference: str
    time: float
    put_off: bool
    reasons: list[str]
    may_appeal: bool
    appeal: str | None
    words: str


@page("GET", "/senders", public=True)
async def show_form(visit: Visit) -> web.Response:
    """Show where a reference is pasted.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _form(visit, reference=visit.query("reference")[:1000])


@page("POST", "/senders", public=True)
async def look_up(visit: Visit) -> web.Response:
    """Tell why mail was refused.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _told(visit, "senders.look")


@page("POST", "/senders/appeal", public=True)
async def appeal(visit: Visit) -> web.Response:
    """Take an appeal.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _told(visit, "senders.appeal", text=visit.form.one("text"))


async def _told(visit: Visit, call: str, **more: str) -> web.Response:
    reference, address = visit.form.one("reference"), visit.form.one("address")
    try:
        found = await visit.ask(
            call, {"reference": reference, "address": address, **more}, ToldRefusal
        )
    except DeskError as error:
        match error.status:
            case 429:
                told = _("Too many questions came. Come again later.")
            case 422:
                told = _("Something is missing, or too long.")
            case status if status >= 500:
                return error_page(visit, status)  # a store's name is nothing for strangers
            case _:
                raise
        answer = await _form(visit, told, error.status, reference=reference, address=address)
        if error.wait_s:
            answer.headers["Retry-After"] = str(round(error.wait_s))
        return answer
    if not found.known:
        told = _(
            "Nothing is known under this reference and address. Look whether both are whole: the "
            "reference has 13 letters and digits, and the address is the one the mail was sent "
            "from (Return-Path). What was refused longer ago is no longer kept."
        )
        return await _form(visit, told, reference=reference, address=address)
    terms = await _terms(visit)
    return visit.render(
        "senders/refusal.html", found=found, address=address, reasons=REASONS, terms=terms
    )


async def _form(
    visit: Visit, told: str = "", status: int = 200, *, reference: str = "", address: str = ""
) -> web.Response:
    terms = await _terms(visit)
    return visit.render(
        "senders/form.html",
        status,
        reference=reference,
        address=address,
        terms=terms,
        told=told,
    )


async def _terms(visit: Visit) -> ShownTerms:
    return await visit.ask("senders.terms", {}, ShownTerms)
