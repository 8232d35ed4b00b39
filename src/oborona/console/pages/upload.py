"""Try: a message that somebody hands in is judged, read and authenticated, and counts nowhere."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.message_table import LIVE, fact_lines, rule_lines
from oborona.console.track_query import TrackLinks
from oborona.console.try_answer import CheckedMessage, ReadMessage, TriedMessage
from oborona.console.visit import Visit
from oborona.people.rights import Right, needs_reason

MIB: Final = 1 << 20
MOST_MESSAGE: Final = 23 * MIB  # as base64 within the 32 MiB that the desk reads
MOST_FORM: Final = MOST_MESSAGE + MIB
TRY_S: Final = 15.0  # that each of the three may take
MOST_TEXT: Final = 50_000  # characters that are shown of a text
MOST_ROWS: Final = 200  # of links, parts and attachments
FIELDS: Final = ("ip", "name", "helo", "sender", "recipients", "login", "reason")
SAID: Final = frozenset({400, 403, 413, 422})
"""Statuses that say what is wrong with what was handed in."""


@page("GET", "/try", Right.CONTENT, menu=marked("Try"), order=60, whole=True)
async def show_try(visit: Visit) -> web.Response:
    """Show the form."""
    return _render(visit, {"dns": "1"})


@page("POST", "/try", Right.CONTENT, max_bytes=MOST_FORM)
async def try_message(visit: Visit) -> web.Response:
    """Show what would become of a message, and what is in it.

    Raises:
        DeskError: the desk does not answer.
    """
    form = visit.form
    values = {name: form.one(name) for name in (*FIELDS, "dns")}
    file = form.files.get("file")
    octets = file.octets if file is not None else form.raw("text").encode("utf-8", "replace")
    if not octets.strip():
        return _render(visit, values, told=_("Choose a file, or paste a message."))
    if len(octets) > MOST_MESSAGE:
        told = _("The message has more than %(n)s MiB.") % {"n": MOST_MESSAGE // MIB}
        return _render(visit, values, told=told, status=413)
    if _must_say_why(visit) and not values["reason"]:
        return _render(visit, values, told=_("Say why: whoever looks at content must."))
    asked: dict[str, object] = {
        **values,
        "message": base64.b64encode(octets).decode(),
        "recipients": values["recipients"].replace(",", " ").split(),
        "dns": bool(values["dns"]),
    }
    try:
        tried = await visit.ask("scan.try", asked, TriedMessage, TRY_S)
    except DeskError as error:
        if error.status not in SAID:
            raise
        return _render(visit, values, told=error.text, status=error.status)
    read, checked = await asyncio.gather(
        visit.part("messages.dissect", asked, ReadMessage, TRY_S),
        _checked(visit, asked) if asked["dns"] else asyncio.sleep(0),
    )
    rules = rule_lines(None, tried.explanation.now)
    return _render(
        visit,
        values,
        status=200,
        tried=tried,
        read=read,
        checked=checked,
        links=TrackLinks(visit.leads),
        live=[one for one in rules if one.mode == LIVE],
        shadow=[one for one in rules if one.mode != LIVE],
        facts=fact_lines(None, tried.explanation.now),
    )


async def _checked(visit: Visit, asked: Mapping[str, object]) -> CheckedMessage | None:
    return await visit.part("messages.authenticate", asked, CheckedMessage, TRY_S)


def _must_say_why(visit: Visit) -> bool:
    return needs_reason(visit.signed_in.roles, Right.CONTENT)


def _render(
    visit: Visit, values: Mapping[str, str], *, told: str = "", status: int = 0, **more: Any
) -> web.Response:
    empty = dict.fromkeys(("tried", "read", "checked", "links"))
    return visit.render(
        "upload/try.html",
        status or (422 if told else 200),
        values=dict.fromkeys((*FIELDS, "dns"), "") | dict(values),
        told=told,
        must_say_why=_must_say_why(visit),
        most_mib=MOST_MESSAGE // MIB,
        most_text=MOST_TEXT,
        most_rows=MOST_ROWS,
        **(empty | {"live": [], "shadow": [], "facts": []} | more),
    )
