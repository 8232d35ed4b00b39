"""Entities that stand out, by kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.entity_kind import FLAGS, KINDS, TONES
from oborona.console.language import marked
from oborona.console.store_state import empty_words
from oborona.console.track_query import entity_url
from oborona.console.visit import Visit
from oborona.people.rights import Right

HEADS: Final = ("entity", "flag", "pinned", "trust", "change", "seen", "say")
ORDERS: Final = {
    "worst": marked("worst"),
    "best": marked("best"),
    "loudest": marked("loudest"),
    "changed": marked("changed most"),
}
WINDOWS: Final = {
    "hour": marked("one hour"),
    "day": marked("one day"),
    "fortnight": marked("14 days"),
}
SHOWN: Final = 50
SAVED: Final = 1000
_UNNAMED: Final = re.compile(r"[0-9]+:[0-9a-f]{8,}")


@page("GET", "/entities", Right.TRACK, menu=marked("Entities"), order=40, whole=True)
async def show_entities(visit: Visit) -> web.Response:
    """Show the entities of a kind that stand out.

    Raises:
        DeskError: the desk does not answer.
    """
    saved = visit.query("as") in {"csv", "json"}
    asked = {
        "kind": _known(visit.query("kind"), KINDS, "address"),
        "by": _known(visit.query("by"), ORDERS, "worst"),
        "window": _known(visit.query("window"), WINDOWS, "day"),
        "limit": SAVED if saved else SHOWN,
    }
    empty = ""
    try:
        ranking = await visit.ask("reputation.top", asked)
    except DeskError as error:
        if not error.not_yet:
            raise
        ranking, empty = {"entities": []}, empty_words(error.store)
    rows = ranking["entities"]
    if visit.query("as") == "csv":
        return visit.csv("entities", HEADS, ([row[head] for head in HEADS] for row in rows))
    if visit.query("as") == "json":
        return visit.json("entities", ranking)
    return visit.render(
        "entity/entities.html",
        rows=rows,
        asked=asked,
        empty=empty,
        kinds=KINDS,
        orders=ORDERS,
        windows=WINDOWS,
        flags=FLAGS,
        tones=TONES,
        entity_url=entity_url,
        unnamed=any(_UNNAMED.fullmatch(row["entity"]) for row in rows),
    )


@page("GET", "/entity", Right.TRACK)
async def go_to_entity(visit: Visit) -> web.Response:
    """Lead to the page of what somebody typed."""
    name = visit.query("name")
    return visit.go(entity_url(name) if name else "/entities")


def _known(word: str, known: Mapping[str, str], usual: str) -> str:
    return word if word in known else usual
