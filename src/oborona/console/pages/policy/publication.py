"""Publication of a draft: what stands before it as a list to tick off, then to shadow or live."""

from __future__ import annotations

from typing import NamedTuple

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.language import gettext as _
from oborona.console.language import ngettext
from oborona.console.pages.policy.answers import (
    DraftOnPage,
    DraftShownOnPage,
    LintOnPage,
    PublishedOnPage,
    TestsOnPage,
)
from oborona.console.pages.policy.password import asked_again, confirm_path
from oborona.console.pages.policy.permission import (
    draft_path,
    is_own,
    linted,
    writes,
    writing_mode,
)
from oborona.console.visit import Visit
from oborona.people.rights import Right

LIVE = "live"


class PublicationGuard(NamedTuple):
    """What stands before a publication.

    Args:
        text: what must be.
        good: it is; None = that could not be told.
        path: where it is mended; empty: nowhere here.
        live: it is asked of a publication live alone.
    """

    text: str
    good: bool | None
    path: str = ""
    live: bool = False


@page("GET", "/policy/draft/{name}/publish", Right.POLICY_DRAFT)
async def show_publication(visit: Visit) -> web.Response:
    """Show what stands before a publication, and its form.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    shown = await visit.ask("policy.draft_show", {"draft": name}, DraftShownOnPage)
    mode = await writing_mode(visit)
    lint = await linted(visit, {"draft": name})
    tests = await visit.part("policy.test", {"draft": name}, TestsOnPage)
    person = visit.signed_in
    return visit.render(
        "policy/publish.html",
        brief=shown.brief,
        name=name,
        mode=mode,
        draft_path=draft_path,
        guards=_guards(visit, shown.brief, mode, lint, tests),
        may_try=person.may(Right.POLICY_SHADOW) and is_own(visit, shown.brief),
        may_publish=person.may(Right.POLICY_PUBLISH),
        may_propose=is_own(visit, shown.brief),
        two_persons=shown.two_persons,
        to=visit.query("to"),
        sure=visit.query("sure") == "1",
        reason=visit.query("reason"),
    )


def _guards(
    visit: Visit,
    brief: DraftOnPage,
    mode: str,
    lint: LintOnPage | None,
    tests: TestsOnPage | None,
) -> list[PublicationGuard]:
    name = brief.name
    forbidden = [file for file in brief.changed if not writes(mode, file)]
    number = 0 if tests is None else tests.tests
    run = ngettext("%(n)s test passes", "all %(n)s tests pass", number) % {"n": number}
    back = draft_path(name, "publish")
    return [
        PublicationGuard(_("something differs from what it began from"), bool(brief.changed),
                         draft_path(name)),
        PublicationGuard(_("it changes only files that may be written here"), not forbidden),
        PublicationGuard(_("nobody has changed the policy since it began"), not brief.stale,
                         draft_path(name, "diff")),
        PublicationGuard(_("the loader takes it"), None if lint is None else lint.right,
                         draft_path(name)),
        PublicationGuard(run if tests is not None and not tests.failed else _("all tests pass"),
                         None if tests is None else not tests.failed, draft_path(name, "test")),
        PublicationGuard(_("this very text was tried on the newest messages"), brief.previewed,
                         draft_path(name, "preview"), live=True),
        PublicationGuard(_("you gave your password lately"), bool(visit.signed_in.fresh),
                         confirm_path(visit, back), live=True),
    ]  # fmt: skip


@page("POST", "/policy/draft/{name}/publish", Right.POLICY_SHADOW, Right.POLICY_PUBLISH)
async def publish_draft(visit: Visit) -> web.Response:
    """Publish a draft, to shadow or live.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    form, name = visit.form, visit.parts["name"]
    live, sure = form.one("to") == LIVE, form.one("sure") == "1"
    plan = ActPlan(
        call="policy.publish",
        order={"draft": name, "live": live, "sure": sure},
        title=_("Publish live") if live else _("Publish to shadow"),
        back=draft_path(name, "publish"),
        shown="policy/published.html",
        answer=PublishedOnPage,
        undo="/policy/roll-back" if visit.leads("/policy/roll-back", "POST") else "",
        undo_fields=lambda answer: {"version": str(answer.undo)},
    )
    words = {"to": form.one("to"), "sure": "1" if sure else "", "reason": form.one("reason")}
    back = draft_path(name, "publish", **{word: text for word, text in words.items() if text})
    return await asked_again(visit, back, carry_out(visit, plan))
