"""The password once more, before an act that hurts; what was typed is not lost by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from oborona.console.browser_state import own_path
from oborona.console.form_body import MAX_FIELDS
from oborona.console.visit import Visit

NEEDS_PASSWORD: Final = "password"  # noqa: S105 - what an answer of the desk needs
DROPPED: Final = frozenset({"token", "step", "password", "again", "new", "code"})
"""Fields that are not carried over: secrets, and the word that an act is to be done."""
MAX_KEPT: Final = 1 << 20  # letters of a form that is carried over


def password_page(
    visit: Visit, status: int = 200, *, back: str = "", kept: str = "", told: str = ""
) -> web.Response:
    """Return the page that asks for the password once more.

    Args:
        visit: who asks.
        status: of HTTP.
        back: where to go afterwards; empty: where this request is sent.
        kept: fields of the form that is sent there again; empty where `back` is opened.
        told: what is wrong.
    """
    if not back:
        back = visit.url()
        if visit.request.method == "POST":
            kept = keep_fields(visit.form.fields)
    return visit.render("confirmation/form.html", status, back=own_path(back), kept=kept, told=told)


def keep_fields(fields: Mapping[str, list[str]]) -> str:
    """Return the fields of a form as one text; empty = there are none, or they are too long."""
    pairs = [
        (name, value) for name, values in fields.items() if name not in DROPPED for value in values
    ]
    text = urlencode(pairs, errors="surrogatepass")
    return text if len(text) <= MAX_KEPT else ""


def kept_fields(text: str) -> dict[str, list[str]]:
    """Return the fields of such a text; of what is none, none."""
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="surrogatepass", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        return {}
    for name, value in pairs:
        if name not in DROPPED:
            fields.setdefault(name, []).append(value)
    return fields
