"""My sessions: where somebody is signed in, who tried to be, and how they end one."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from oborona.console.browser_state import drop_cookie, keep_cookie
from oborona.console.declaration import page
from oborona.console.language import VIEWER, marked, zone_of
from oborona.console.language import gettext as _
from oborona.console.visit import YEAR_S, ZONE, Visit

OUTCOMES: Final = {
    "done": marked("signed in"),
    "wrong": marked("wrong password or code"),
    "code": marked("right password, no code"),
}


class OwnSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session, as the desk tells its owner."""

    ident: str
    made: float
    last: float
    place: str
    agent: str


class OwnSessionList(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, the newest first; `here` is the one that asks."""

    here: str
    sessions: list[OwnSession]


class OwnTry(msgspec.Struct, frozen=True, kw_only=True):
    """A try to sign in by the name of who asks."""

    at: float
    place: str
    agent: str
    outcome: str


class OwnTryList(msgspec.Struct, frozen=True, kw_only=True):
    """The last of them, the newest first."""

    attempts: list[OwnTry]


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
        here=found.here,
        sessions=found.sessions,
        zone=VIEWER.get().zone.key,
        told=told,
    )


@page("GET", "/me/tries")
async def show_tries(visit: Visit) -> web.Response:
    """Show who tried to sign in by this person's name.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("me.attempts", {}, OwnTryList)
    if visit.query("as") == "json":
        return visit.json("tries", found.attempts)
    if visit.query("as") == "csv":
        rows = ((one.at, one.outcome, one.place, one.agent) for one in found.attempts)
        return visit.csv("tries", ["at", "outcome", "place", "agent"], rows)
    return visit.render("own_session/tries.html", tries=found.attempts, outcomes=OUTCOMES)


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
    await visit.ask("me.end_session", {"ident": visit.form.one("ident")})
    return visit.go("/me")
