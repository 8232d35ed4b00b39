"""Following a search: a page that is left open tells of newer mail, and moves no row by itself.

A script asks each five seconds while the page is seen; who has none asks by a link.  Asking is
some milliseconds of both processes, and a stream would have asked the desk as often, and held a
connection for each page (docs/adr/0112-pages-ask-whether-there-is-newer-mail.md).
"""

from __future__ import annotations

import time
from typing import Final

import msgspec
from aiohttp import web

from oborona.console.declaration import page
from oborona.console.error_page import error_page
from oborona.console.track_query import MAX_QUERY, track_url
from oborona.console.track_row import TrackedMail
from oborona.console.visit import Visit
from oborona.ident import first_id_at, to_text
from oborona.people.rights import Right

ON: Final = "on"
MAX_ID: Final = 40  # characters


class NewerCount(msgspec.Struct, frozen=True, kw_only=True):
    """How much newer mail there is."""

    number: int = 0
    more: bool = False


def follow_links(
    visit: Visit, query: str, found: TrackedMail, *, follows: bool
) -> dict[str, object]:
    """Return what a page of a search needs to be followed.

    Args:
        visit: of the page.
        query: of the search.
        found: by it.
        follows: it is the newest of it, all that came.
    """
    following = follows and visit.query("follow") == ON
    now = to_text(first_id_at(time.time()))
    newest = found.hits[0].id if found.hits else visit.query("newer")[:MAX_ID] or now
    words = {"newer": newest}
    if found.hits or visit.query("newer"):
        words["rows"] = ON
    return {
        "follow_url": track_url(query, follow=ON) if follows else "",
        "following": following,
        "still_url": track_url(query),
        "news_url": track_url(query, **words).replace("/track?", "/track/new?", 1),
    }


@page("GET", "/track/new", Right.TRACK)
async def tell_newer_mail(visit: Visit) -> web.Response:
    """Tell how much newer mail a search finds.

    Raises:
        DeskError: it can't be asked so.
    """
    query, newer = visit.query("q")[:MAX_QUERY], visit.query("newer")[:MAX_ID]
    if not newer:
        return error_page(visit, 404)
    asked = {"query": query, "newer": newer}
    return visit.render(
        "track/news.html",
        count=await visit.part("messages.newer", asked, NewerCount),
        follow_url=track_url(query, follow=ON),
        newer_url=track_url(query, follow=ON, newer=newer),
        rows=visit.query("rows") == ON,
    )
