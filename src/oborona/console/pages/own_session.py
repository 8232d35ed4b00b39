"""My sessions: where somebody is signed in, and how they end one."""

from __future__ import annotations

import msgspec
from aiohttp import web

from oborona.console.declaration import page
from oborona.console.language import VIEWER, zone_of
from oborona.console.language import gettext as _
from oborona.console.visit import YEAR_S, ZONE, Visit, drop_cookie, keep_cookie


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
    return await _show(visit)


async def _show(visit: Visit, told: str = "") -> web.Response:
    found = await visit.ask("me.sessions", {}, OwnSessionList)
    return visit.render(
        "own_session/me.html",
        422 if told else 200,
        sessions=found.sessions,
        zone=VIEWER.get().zone.key,
        told=told,
    )


@page("POST", "/me/zone")
async def choose_zone(visit: Visit) -> web.Response:
    """Keep the zone of this browser's times; without a script nothing else tells it.

    Raises:
        DeskError: the desk does not answer.
    """
    zone = visit.form.one("zone")
    if zone and zone_of(zone) is None:
        return await _show(visit, _("There is no such time zone."))
    answer = visit.go("/me")
    if zone:
        keep_cookie(answer, ZONE, zone, YEAR_S)  # no script of ours writes over it
    else:
        drop_cookie(answer, ZONE)
    return answer


@page("POST", "/me/end")
async def end_session(visit: Visit) -> web.Response:
    """End a session.

    Raises:
        DeskError: the desk does not answer, or knows no such session.
    """
    wanted = visit.form.one("id")
    await visit.ask("me.end_session", {"id": int(wanted) if wanted.isdecimal() else wanted})
    return visit.go("/me")
