"""A draft before it is in force: its tests, what it would have made of the newest messages, and
what differs.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.pages.policy.answers import (
    DifferenceOnPage,
    DraftShownOnPage,
    PreviewOnPage,
    TestsOnPage,
)
from oborona.console.pages.policy.permission import draft_path, file_of
from oborona.console.visit import Visit
from oborona.people.rights import Right

SHORT_S: Final = 1.5
LONG_S: Final = 8.0  # the desk gives an ask ten
PREVIEW_S: Final = 12.0
COLUMNS: Final = ("rule", "gained", "lost", "decides", "before", "after", "unjudged")


@page("GET", "/policy/draft/{name}/test", Right.POLICY_DRAFT)
async def show_tests(visit: Visit) -> web.Response:
    """Run all tests of a draft.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    shown = await _shown(visit, name)
    tests = await visit.ask("policy.test", {"draft": name}, TestsOnPage, PREVIEW_S)
    return visit.render("policy/tests.html", tests=tests, **_draft(shown, name))


@page("GET", "/policy/draft/{name}/preview", Right.POLICY_DRAFT)
async def show_preview(visit: Visit) -> web.Response:
    """Show what a draft would have made of the newest messages.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    long = visit.query("long") == "1"
    shown = await _shown(visit, name)
    asked = {"draft": name, "within_s": LONG_S if long else SHORT_S}
    try:
        found = await visit.ask("policy.preview", asked, PreviewOnPage, PREVIEW_S)
    except DeskError as error:
        if error.status != 422:
            raise
        return visit.render("policy/untried.html", 422, told=error.text, **_draft(shown, name))
    wanted = visit.query("as")
    if wanted == "csv":
        rows = ([getattr(row, name) for name in COLUMNS] for row in found.rules)
        return visit.csv("preview", COLUMNS, rows)
    if wanted == "json":
        return visit.json("preview", found)
    return visit.render("policy/preview.html", found=found, long=long, **_draft(shown, name))


@page("GET", "/policy/draft/{name}/diff", Right.POLICY_DRAFT)
async def show_draft_difference(visit: Visit) -> web.Response:
    """Show what differs between a draft and what is there.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    shown = await _shown(visit, name)
    found = await visit.ask("policy.diff", {"draft": name}, DifferenceOnPage)
    if visit.query("as") == "json":
        return visit.json("policy-difference", found)
    return visit.render("policy/draft_difference.html", found=found, **_draft(shown, name))


async def _shown(visit: Visit, name: str) -> DraftShownOnPage:
    return await visit.ask("policy.draft_show", {"draft": name}, DraftShownOnPage)


def _draft(shown: DraftShownOnPage, name: str) -> dict[str, object]:
    return {
        "brief": shown.brief,
        "name": name,
        "names": shown.files,
        "file": "",
        "file_of": file_of,
        "draft_path": draft_path,
    }
