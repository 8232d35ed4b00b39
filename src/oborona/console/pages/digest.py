"""Links of a digest: a page says what one does, a form does it, without signing in."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from oborona.console.act_form import ACT_S
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.error_page import error_page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.my_texts import FATES
from oborona.console.visit import Visit

TITLES: Final = {
    "free": marked("Not spam, move it"),
    "allow": marked("Always let in"),
    "stop": marked("No more digests"),
}
"""What links do."""
GONE: Final = frozenset({404, 410})


class FollowedLink(msgspec.Struct, frozen=True, kw_only=True):
    """What a link does."""

    act: str
    sender: str = ""
    subject: str = ""
    author: str = ""


class FollowedAct(msgspec.Struct, frozen=True, kw_only=True):
    """What it came to."""

    copies: list[dict[str, str]] = []
    what: str = ""


@page("GET", "/digest/{link}", public=True)
async def show_link(visit: Visit) -> web.Response:
    """Show what a link does; nothing is done by that.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _show(visit)


@page("POST", "/digest/{link}", public=True)
async def follow_link(visit: Visit) -> web.Response:
    """Do what a link says.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _follow(visit)


@page("GET", "/digest-stop/{link}", public=True)
async def show_stop(visit: Visit) -> web.Response:
    """Show the same to who follows the link of a mail program by hand.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _show(visit)


@page("POST", "/digest-stop/{link}", public=True, signed=True)
async def stop_digest(visit: Visit) -> web.Response:
    """End the digests of somebody whose mail program asks for it.

    Raises:
        DeskError: the desk does not answer.
    """
    # no other link is followed without a form of ours
    link = await _look(visit)
    if not isinstance(link, FollowedLink):
        return link
    if link.act != "stop":
        return error_page(visit, 404)
    return await _follow(visit)


async def _look(visit: Visit) -> FollowedLink | web.Response:
    try:
        return await visit.ask("digest.look", {"link": visit.parts["link"][:1000]}, FollowedLink)
    except DeskError as error:
        if error.status not in GONE | {422}:
            raise
        return error_page(visit, 410, _("This link is too old, or is none of ours."))


async def _show(visit: Visit, told: str = "", status: int = 200) -> web.Response:
    link = await _look(visit)
    if not isinstance(link, FollowedLink):
        return link
    # the same act, wherever its link stood
    path = f"/digest/{visit.path.rpartition('/')[2]}"
    return visit.render(
        "digest/link.html", status, link=link, title=_title(link), action=path, told=told
    )


async def _follow(visit: Visit) -> web.Response:
    try:
        done = await visit.ask(
            "digest.follow", {"link": visit.parts["link"][:1000]}, FollowedAct, ACT_S
        )
    except DeskError as error:
        if error.status in GONE:
            return error_page(visit, 410, _("This link is too old, or is none of ours."))
        if error.status != 422:
            raise
        return await _show(visit, _(error.text), 422)
    return visit.render("digest/done.html", done=done, fates=FATES)


def _title(link: FollowedLink) -> str:
    return _(TITLES[link.act]) if link.act in TITLES else link.act
