"""My sessions: where somebody is signed in, and how they end one."""

from __future__ import annotations

import msgspec
from aiohttp import web

from oborona.console.declaration import page
from oborona.console.visit import Visit


class OwnSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session, as the desk tells its owner."""

    id: int | str
    made: float = 0.0
    last: float = 0.0
    address: str = ""
    agent: str = ""
    this: bool = False


class OwnSessionList(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, the newest first."""

    sessions: list[OwnSession] = []


@page("GET", "/me")
async def show_me(visit: Visit) -> web.Response:
    """Show who is signed in, and where.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("me.sessions", {}, OwnSessionList)
    return visit.render("account/me.html", sessions=found.sessions)


@page("POST", "/me/end")
async def end_session(visit: Visit) -> web.Response:
    """End a session.

    Raises:
        DeskError: the desk does not answer, or knows no such session.
    """
    wanted = visit.form.one("id")
    await visit.ask("me.end_session", {"id": int(wanted) if wanted.isdecimal() else wanted})
    return visit.go("/me")
