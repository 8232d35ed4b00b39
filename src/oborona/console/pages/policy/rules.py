"""Rules that are in force: all of them with what they did, and one with all that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.language import marked
from oborona.console.pages.policy.answers import (
    RuleDetailOnPage,
    RuleHistoryOnPage,
    RuleOnPage,
    RulesOnPage,
)
from oborona.console.pages.policy.permission import writing_mode
from oborona.console.visit import Visit
from oborona.people.rights import Right

DAY_S: Final = 86_400
TIMES: Final = {"1": marked("of the last 24 hours"), "14": marked("of the last 14 days")}
"""Days whose hits are counted."""
KINDS: Final[dict[str, tuple[str, Callable[[RuleOnPage], bool]]]] = {
    "": (marked("all"), lambda _: True),
    "live": (marked("live"), lambda row: row.enabled and row.mode == "live"),
    "shadow": (marked("in shadow mode"), lambda row: row.enabled and row.mode == "shadow"),
    "off": (marked("off"), lambda row: not row.enabled),
    "never": (marked("never hit"), lambda row: row.enabled and not row.hits),
}
COLUMNS: Final = (
    "name", "mode", "enabled", "score", "say", "group", "hits", "shadow", "decided", "alone",
    "file", "line",
)  # fmt: skip


@page("GET", "/policy", Right.POLICY_SEE, menu=marked("Policy"), order=60, whole=True)
async def show_rules(visit: Visit) -> web.Response:
    """Show all rules, by file and group.

    Raises:
        DeskError: the desk does not answer.
    """
    days = visit.query("days")
    days = days if days in TIMES else "1"
    kind = visit.query("kind")
    kind = kind if kind in KINDS else ""
    found = await visit.ask("policy.rules", {"since_s": int(days) * DAY_S}, RulesOnPage)
    words = visit.query("q").casefold()
    rows = [row for row in found.rules if KINDS[kind][1](row) and words in _words(row)]
    rows.sort(key=lambda row: (row.file, row.group, row.name))
    wanted = visit.query("as")
    if wanted == "csv":
        return visit.csv(
            "rules", COLUMNS, ([getattr(row, name) for name in COLUMNS] for row in rows)
        )
    if wanted == "json":
        return visit.json("rules", rows)
    return visit.render(
        "policy/rules.html",
        found=found,
        files=[(file, list(of_file)) for file, of_file in groupby(rows, lambda row: row.file)],
        days=days,
        times=TIMES,
        kind=kind,
        kinds=KINDS,
        words=visit.query("q"),
    )


def _words(row: RuleOnPage) -> str:
    """Return what a filter looks at."""
    return f"{row.name} {row.say} {row.group} {row.file}".casefold()


@page("GET", "/policy/rule/{name}", Right.POLICY_SEE)
async def show_rule(visit: Visit) -> web.Response:
    """Show one rule.

    Raises:
        DeskError: the desk does not answer, or knows no such rule.
    """
    asked = {"name": visit.parts["name"]}
    found = await visit.ask("policy.rule", asked, RuleDetailOnPage)
    if visit.query("as") == "json":
        return visit.json("rule", found)
    return visit.render(
        "policy/rule.html",
        found=found,
        row=found.row,
        history=await visit.part("policy.rule_history", asked, RuleHistoryOnPage),
        mode=await writing_mode(visit),
    )
