"""The commonest changes of a draft as forms: a score, a mode, on and off, an entry of a list, a
test made of a message.
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import marked
from oborona.console.pages.policy.answers import (
    DraftChangedOnPage,
    DraftShownOnPage,
    TestAddedOnPage,
)
from oborona.console.pages.policy.permission import (
    WRONG,
    draft_path,
    file_of,
    is_own,
    writing_mode,
)
from oborona.console.visit import Visit
from oborona.people.rights import Right

SORTS: Final = {
    "rule": marked("rule"),
    "dns_list": marked("DNS list"),
    "local_list": marked("local list"),
}
SWITCHES: Final[dict[str, tuple[str, str, str | bool]]] = {
    "live": (marked("live"), "mode", "live"),
    "shadow": (marked("in shadow mode"), "mode", "shadow"),
    "on": (marked("on"), "enabled", True),
    "off": (marked("off"), "enabled", False),
}
HITS: Final = {"": None, "yes": True, "no": False}


@page("GET", "/policy/draft/{name}/change", Right.POLICY_DRAFT)
async def show_forms(visit: Visit) -> web.Response:
    """Show the forms.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    return await _forms(visit)


async def _forms(
    visit: Visit, told: str = "", added: TestAddedOnPage | None = None
) -> web.Response:
    name = visit.parts["name"]
    shown = await visit.ask("policy.draft_show", {"draft": name}, DraftShownOnPage)
    return visit.render(
        "policy/change.html",
        422 if told else 200,
        brief=shown.brief,
        name=name,
        names=shown.files,
        mode=await writing_mode(visit),
        own=is_own(visit, shown.brief),
        told=told,
        added=added,
        sorts=SORTS,
        switches=SWITCHES,
        file="",
        file_of=file_of,
        draft_path=draft_path,
    )


@page("POST", "/policy/draft/{name}/change", Right.POLICY_DRAFT)
async def change_by_form(visit: Visit) -> web.Response:
    """Write a value into a draft, and show the file that it went to.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    call, order = _order(visit)
    try:
        if call == "policy.draft_test":
            added = await visit.ask(call, {"draft": name, **order}, TestAddedOnPage)
            return await _forms(visit, added=added)
        changed = await visit.ask(call, {"draft": name, **order}, DraftChangedOnPage)
    except DeskError as error:
        if error.status not in WRONG:
            raise
        return await _forms(visit, error.text)
    return visit.go(draft_path(name, file=changed.file, saved="1"))


def _order(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the call that a form asks for, and what it is told."""
    form = visit.form
    match form.one("form"):
        case "score":
            rule, score = form.one("rule"), form.one("score")
            return "policy.draft_set", {
                "sort": "rule", "name": rule, "field": "score", "value": number_or_formula(score),
            }  # fmt: skip
        case "entry":
            there = form.one("act") != "off"
            return "policy.draft_entry", {
                "name": form.one("list"), "entry": form.one("entry"), "there": there,
            }  # fmt: skip
        case "test":
            hit = HITS.get(form.one("hit"))
            return "policy.draft_test", {
                "rule": form.one("rule"), "message": form.one("message"), "hit": hit,
            }  # fmt: skip
        case _:
            _, field, value = SWITCHES.get(form.one("switch"), SWITCHES["shadow"])
            return "policy.draft_set", {
                "sort": form.one("sort"), "name": form.one("thing"), "field": field, "value": value,
            }  # fmt: skip


def number_or_formula(text: str) -> float | str:
    """Return a score: a number, with a decimal comma too, or a formula."""
    try:
        number = float(text.replace(",", ".", 1))
    except ValueError:
        return text
    return number if abs(number) < float("inf") else text
