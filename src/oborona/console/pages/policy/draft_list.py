"""Drafts of the policy: all of them, how one begins, and how it goes."""

from __future__ import annotations

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.pages.policy.answers import DraftListOnPage
from oborona.console.pages.policy.history import number_of
from oborona.console.pages.policy.permission import WRONG, draft_path, is_own, writing_mode
from oborona.console.visit import Visit
from oborona.people.rights import Right

COLUMNS = ("name", "owner", "made", "about", "base", "stale", "changed", "previewed", "trouble")


@page("GET", "/policy/drafts", Right.POLICY_DRAFT)
async def show_drafts(visit: Visit) -> web.Response:
    """Show all drafts.

    Raises:
        DeskError: the desk does not answer.
    """
    return await _drafts(visit)


async def _drafts(visit: Visit, told: str = "", status: int = 200) -> web.Response:
    found = await visit.ask("policy.draft_list", {}, DraftListOnPage)
    wanted = visit.query("as")
    if wanted == "csv":
        rows = ([_cell(getattr(row, name)) for name in COLUMNS] for row in found.drafts)
        return visit.csv("drafts", COLUMNS, rows)
    if wanted == "json":
        return visit.json("drafts", found.drafts)
    return visit.render(
        "policy/drafts.html",
        status,
        drafts=found.drafts,
        mode=await writing_mode(visit),
        told=told,
        name=visit.form.one("name"),
        about=visit.form.one("about"),
        version=visit.form.one("version") or visit.query("version"),
        is_own=is_own,
        draft_path=draft_path,
    )


def _cell(value: object) -> object:
    return " ".join(value) if isinstance(value, list) else value


@page("POST", "/policy/drafts", Right.POLICY_DRAFT)
async def begin_draft(visit: Visit) -> web.Response:
    """Begin a draft, and open it.

    Raises:
        DeskError: the desk does not answer.
    """
    form = visit.form
    name = form.one("name")
    order = {
        "draft": name,
        "about": form.one("about"),
        "version": number_of(form.one("version")),
    }
    try:
        await visit.ask("policy.draft_new", order)
    except DeskError as error:
        if error.status not in WRONG:
            raise
        return await _drafts(visit, error.text, 422)
    return visit.go(draft_path(name))


@page("POST", "/policy/draft/{name}/drop", Right.POLICY_DRAFT)
async def drop_draft(visit: Visit) -> web.Response:
    """Take a draft away.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    plan = ActPlan(
        call="policy.draft_drop",
        order={"draft": name},
        title=_("Throw away a draft"),
        back="/policy/drafts",
        shown="policy/dropped.html",
    )
    return await carry_out(visit, plan)
