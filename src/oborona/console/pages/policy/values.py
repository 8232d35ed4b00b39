"""Every setting, rule and list in force, and from where."""

from __future__ import annotations

import msgspec
from aiohttp import web

from oborona.console.declaration import page
from oborona.console.pages.policy.answers import ValuesOnPage
from oborona.console.visit import Visit
from oborona.people.rights import Right

MOST_SHOWN = 400  # rows of a table, which a person narrows by a name
LONG = 300  # characters of a value


@page("GET", "/policy/settings", Right.POLICY_SEE)
async def show_values(visit: Visit) -> web.Response:
    """Show values in force, each with its file and line.

    Raises:
        DeskError: the desk does not answer.
    """
    name = visit.query("name")
    found = await visit.ask("policy.settings", {"name": name}, ValuesOnPage)
    wanted = visit.query("as")
    if wanted == "csv":
        rows = [*found.settings, *found.policy]
        heads = ("name", "value", "origin")
        return visit.csv(
            "settings", heads, ([row.name, value_text(row.value), row.origin] for row in rows)
        )
    if wanted == "json":
        return visit.json("settings", found)
    return visit.render(
        "policy/values.html",
        found=found,
        name=name,
        most=MOST_SHOWN,
        value_text=value_text,
        long=LONG,
    )


def value_text(value: object) -> str:
    """Return a value as a file has it."""
    return msgspec.json.encode(value).decode()
