"""Versions of the policy: who made each and why, what differs between two, and the way back."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.policy.answers import (
    DifferenceOnPage,
    HistoryOnPage,
    PublishedOnPage,
)
from oborona.console.pages.policy.password import asked_again
from oborona.console.visit import Visit
from oborona.people.rights import Right

AT_ONCE: Final = 50
MOST_DIGITS: Final = 12
SORTS: Final = {
    "first": marked("what was there first"),
    "live": marked("published live"),
    "shadow": marked("published to shadow"),
    "back": marked("rolled back"),
    "outside": marked("edited outside"),
}
STATES: Final = {
    "begun": marked("was begun"),
    "published": marked("published"),
    "refused": marked("refused"),
}
COLUMNS: Final = (
    "number", "at", "author", "way", "sort", "state", "comment", "of", "meaning", "trouble",
)  # fmt: skip


@page("GET", "/policy/history", Right.POLICY_SEE)
async def show_history(visit: Visit) -> web.Response:
    """Show versions, the newest first.

    Raises:
        DeskError: the desk does not answer.
    """
    asked = {"before": number_of(visit.query("before")), "most": AT_ONCE}
    found = await visit.ask("policy.history", asked, HistoryOnPage)
    wanted = visit.query("as")
    if wanted == "csv":
        rows = ([getattr(row, name) for name in COLUMNS] for row in found.versions)
        return visit.csv("policy-history", COLUMNS, rows)
    if wanted == "json":
        return visit.json("policy-history", found)
    last = found.versions[-1].number if found.versions else 0
    return visit.render(
        "policy/history.html",
        found=found,
        older=visit.url(before=str(last)) if len(found.versions) == AT_ONCE and last > 1 else "",
        sorts=SORTS,
        states=STATES,
    )


@page("GET", "/policy/difference", Right.POLICY_SEE)
async def show_difference(visit: Visit) -> web.Response:
    """Show what differs between two versions; one that is not named is what is there now.

    Raises:
        DeskError: the desk does not answer, or knows no such version.
    """
    before, after = (number_of(visit.query(name)) for name in ("before", "after"))
    found = await visit.ask("policy.diff", {"before": before, "after": after}, DifferenceOnPage)
    if visit.query("as") == "json":
        return visit.json("policy-difference", found)
    return visit.render("policy/difference.html", found=found, before=before, after=after)


@page("POST", "/policy/roll-back", Right.POLICY_PUBLISH)
async def roll_back(visit: Visit) -> web.Response:
    """Publish an earlier version again.

    Raises:
        DeskError: the desk does not answer.
    """
    number = number_of(visit.form.one("version"))
    plan = ActPlan(
        call="policy.roll_back",
        order={"version": number, "sure": visit.form.one("sure") == "1"},
        title=_("Roll back to version %(number)s") % {"number": number},
        back="/policy/history",
        shown="policy/published.html",
        answer=PublishedOnPage,
        undo="/policy/roll-back",
        undo_fields=lambda answer: {"version": str(answer.undo)},
    )
    return await asked_again(visit, "/policy/history", carry_out(visit, plan))


def number_of(text: str) -> int:
    """Return the number of a version; 0 where it is none."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS else 0
