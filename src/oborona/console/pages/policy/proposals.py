"""Two persons on a draft: it is proposed, and approved or declined by somebody else."""

from __future__ import annotations

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.pages.policy.answers import PublishedOnPage
from oborona.console.pages.policy.password import asked_again
from oborona.console.pages.policy.permission import draft_path
from oborona.console.visit import Visit
from oborona.people.rights import Right


@page("POST", "/policy/draft/{name}/propose", Right.POLICY_DRAFT)
async def propose_draft(visit: Visit) -> web.Response:
    """Propose a draft as it is: another person approves it.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    plan = ActPlan(
        call="policy.propose",
        order={"draft": name, "sure": visit.form.one("sure") == "1"},
        title=_("Propose it to be live"),
        back=draft_path(name, "publish"),
        shown="policy/published.html",
        answer=PublishedOnPage,
    )
    return await carry_out(visit, plan)


@page("POST", "/policy/draft/{name}/approve", Right.POLICY_PUBLISH)
async def approve_draft(visit: Visit) -> web.Response:
    """Publish live what another person has proposed.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    form, name = visit.form, visit.parts["name"]
    plan = ActPlan(
        call="policy.approve",
        order={
            "draft": name,
            "proposer": form.one("proposer"),
            "digest": form.one("digest"),
        },
        title=_("Approve it: publish live"),
        back=draft_path(name, "publish"),
        shown="policy/published.html",
        answer=PublishedOnPage,
        undo="/policy/roll-back" if visit.leads("/policy/roll-back", "POST") else "",
        undo_fields=lambda answer: {"version": str(answer.undo)},
    )
    return await asked_again(visit, draft_path(name, "publish"), carry_out(visit, plan))


@page("POST", "/policy/draft/{name}/decline", Right.POLICY_DRAFT)
async def decline_draft(visit: Visit) -> web.Response:
    """Decline a proposal with words, or take one's own back.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    plan = ActPlan(
        call="policy.decline",
        order={"draft": name, "proposer": visit.form.one("proposer")},
        title=_("Decline what was proposed"),
        back=draft_path(name, "publish"),
        shown="policy/declined.html",
    )
    return await carry_out(visit, plan)
