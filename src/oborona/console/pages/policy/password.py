"""Acts that hurt want the password once more: where it is given, and the way back."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from oborona.console.desk_client import DeskError
from oborona.console.visit import Visit

CONFIRM: Final = "/me/confirm"
PASSWORD: Final = "password"  # noqa: S105 - the desk's word for what is missing


def confirm_path(visit: Visit, back: str) -> str:
    """Return where the password is given once more; empty where this console has no such page."""
    return f"{CONFIRM}?{urlencode({'back': back})}" if visit.leads(CONFIRM) else ""


async def asked_again(visit: Visit, back: str, answer: Awaitable[web.Response]) -> web.Response:
    """Return the answer of an act, or the page that asks for the password first.

    Args:
        visit: who acts.
        back: path to come back to.
        answer: of the act.

    Raises:
        DeskError: the desk does not answer.
    """
    try:
        return await answer
    except DeskError as error:
        if error.needs != PASSWORD:
            raise
    return visit.render("policy/password.html", 403, confirm=confirm_path(visit, back), back=back)
