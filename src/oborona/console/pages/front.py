"""The first page, and where the search line leads."""

from __future__ import annotations

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.search_line import targets
from oborona.console.visit import Visit


@page("GET", "/")
async def show_first(visit: Visit) -> web.Response:
    """Send everybody where their work is."""
    first = visit.menu[0].path if visit.menu else "/me"
    return visit.go(first)


@page("GET", "/find")
async def follow_search_line(visit: Visit) -> web.Response:
    """Send whoever looks for something to its page, or to a search."""
    line = visit.query("q")
    for url in targets(line) if line else ():
        if visit.leads(url):
            return visit.go(url)
    return visit.render("find.html", line=line)
