"""What happened to this mail: every message and every refusal, found by one line."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from aiohttp import web

from oborona.console import track_query
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.track_acts import acts_of
from oborona.console.pages.track_follow import follow_links
from oborona.console.ticked_rows import box_value
from oborona.console.track_query import TrackLinks, field_of, pieces, replaced, track_url
from oborona.console.track_row import HEADS, TrackedMail, TrackedMessage, cells, time_of
from oborona.console.visit import Visit
from oborona.people.rights import Right

ROWS: Final = 50
EXPORT_ROWS: Final = 2_000  # of a table that is saved
EXPORT_PAGE: Final = 500  # the desk gives no more at once
EXPORT_S: Final = 20.0  # for all of them
MOVED: Final = "yes"
TIMES: Final = (
    (marked("any time"), ""),
    (marked("last hour"), "since:1h"),
    (marked("last day"), "since:1d"),
    (marked("7 days"), "since:7d"),
    (marked("30 days"), "since:30d"),
)
REFUSALS: Final = "-verdict:accept -verdict:spam"
VERDICTS: Final = (
    (marked("all"), ""),
    (marked("inbox"), "verdict:inbox"),
    (marked("Junk"), "verdict:junk"),
    (marked("refused"), "verdict:refused"),
    (marked("put off"), "verdict:deferred"),
    (marked("only refusals"), REFUSALS),
)


WORDS: Final = (
    ("from: to: domain: subject: list: login:", marked("who, whom and what")),
    ("ip:192.0.2.0/24 client: helo: door:proxy", marked("where it came from")),
    ("verdict:junk rule:MASS_* decided: score>80 size>10M", marked("how it was judged")),
    ("queue: id: message:", marked("names of one message")),
    ("since:2h since:2026-11-20 until:2026-11-22", marked("when it came")),
)
"""Of the search language, and what they ask."""


class TrackChip(NamedTuple):
    """A choice of one condition; `url` is the search with it."""

    text: str
    url: str
    chosen: bool


@page("GET", "/track", Right.TRACK, menu=marked("Track"), order=20)
async def show_track(visit: Visit) -> web.Response:
    """Show what a search finds, the newest first.

    Raises:
        DeskError: the desk does not answer.
    """
    query, moved = visit.query("q")[: track_query.MAX_QUERY], visit.query("moved") == MOVED
    kind = visit.query("as")
    if kind in {"csv", "json"}:
        return await _save(visit, kind, query, moved=moved)
    told, found = "", TrackedMail()
    older, newer = visit.query("older"), visit.query("newer")
    try:
        found = await _find(visit, query, older, newer, moved=moved)
    except DeskError as error:
        if error.status != 422:
            raise
        told = error.text
    reached, now = time_of(found.reached), time.time()
    oldest = min((one for one in (found.since, found.refusals_since) if one), default=None)
    back = reached or oldest
    return visit.render(
        "track/list.html",
        422 if told else 200,
        query=query,
        moved=moved,
        told=told,
        found=found,
        reached=reached,
        back=back,
        days=0 if back is None else max(round((now - back) / 86_400), 0),
        bounded=any(field_of(one) == "since" for one in pieces(query)),
        chips=list(_chips(query, moved=moved)),
        moved_url=track_url(query, moved="" if moved else MOVED),
        acts=acts_of(visit),
        box_value=box_value,
        **follow_links(visit, query, found, follows=not (moved or older or told)),
        links=TrackLinks(visit.leads, query, moved=MOVED if moved else ""),
        about=[(name, url) for name, url in track_query.entities(query) if visit.leads(url)],
        grep=_grep(query),
        export_rows=EXPORT_ROWS,
        language_words=WORDS,
    )


async def _find(
    visit: Visit, query: str, older: str, newer: str = "", *, moved: bool, limit: int = ROWS
) -> TrackedMail:
    asked = {"query": query, "older": older, "newer": newer, "moved": moved, "limit": limit}
    return await visit.ask("messages.find", asked, TrackedMail)


async def _save(visit: Visit, kind: str, query: str, *, moved: bool) -> web.Response:
    """Return the newest rows as a table that is saved, as many as are found in time."""
    rows: list[TrackedMessage] = []
    older, ends = visit.query("older"), time.monotonic() + EXPORT_S
    while True:
        found = await _find(visit, query, older, moved=moved, limit=EXPORT_PAGE)
        rows += found.hits
        older = found.older
        if not older or len(rows) >= EXPORT_ROWS or time.monotonic() >= ends:
            break
    if kind == "json":
        return visit.json("track", {"query": query, "messages": rows, "older": older})
    return visit.csv("track", HEADS, map(cells, rows))


def _chips(query: str, *, moved: bool) -> Iterator[tuple[str, list[TrackChip]]]:
    """Yield rows of choices, each with its name."""
    for name, choices, fields in (
        (_("Time"), TIMES, ("since", "until")),
        (_("What became of it"), VERDICTS, ("verdict",)),
    ):
        there = " ".join(one for one in pieces(query) if field_of(one).lstrip("-") in fields)
        yield (
            name,
            [
                TrackChip(
                    _(text),
                    track_url(
                        replaced(query, fields, *([condition] if condition else [])),
                        moved=MOVED if moved else "",
                    ),
                    there == condition,
                )
                for text, condition in choices
            ],
        )


def _grep(query: str) -> str:
    """Return a command that looks into the mail server's log for what a search asks."""
    words = [
        one.partition(":")[2].strip('"<>') if field_of(one) else one.strip('"<>')
        for one in pieces(query)
        if not one.startswith("-") and field_of(one) in {"", "from", "to", "ip", "client", "queue"}
    ]
    found = [word for word in words if word and word.isprintable()]
    return " | ".join(
        f"grep -iF -- {shlex.quote(word)}{'' if number else ' /var/log/mail.log'}"
        for number, word in enumerate(found)
    )
