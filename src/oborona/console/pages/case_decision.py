"""A case is decided, with the effects that are ticked, and the decision is taken back."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.form_body import Form
from oborona.console.form_days import end_of_days
from oborona.console.language import gettext as _
from oborona.console.pages.campaigns import VERDICTS, case_number
from oborona.console.visit import Visit
from oborona.people.rights import Right

SHOWN: Final = "campaigns/outcome.html"
_MOST: Final = 20  # of each effect


@page("POST", "/case/{id}/decide", Right.TEACH)
async def decide_case(visit: Visit) -> web.Response:
    """Decide what a campaign is.

    Raises:
        DeskError: the desk does not answer, or somebody else looks at it.
    """
    ident, verdict = case_number(visit), visit.form.one("verdict")
    order = {
        "id": ident,
        "verdict": verdict,
        "teach": bool(visit.form.one("teach")),
        "withdraw": bool(visit.form.one("withdraw")),
        "further": _further(visit.form),
    }
    plan = ActPlan(
        call="campaigns.decide",
        order=order,
        title=_("Case %(id)s: %(verdict)s")
        % {"id": ident, "verdict": _(VERDICTS.get(verdict, "?"))},
        back=f"/case/{ident}",
        shown=SHOWN,
        answer=dict[str, Any],
        undo=f"/case/{ident}/undecide",
    )
    return await carry_out(visit, plan)


@page("POST", "/case/{id}/undecide", Right.TEACH)
async def undecide_case(visit: Visit) -> web.Response:
    """Take a decision back, with all that it did.

    Raises:
        DeskError: the desk does not answer.
    """
    ident = case_number(visit)
    plan = ActPlan(
        call="campaigns.undecide",
        order={"id": ident},
        title=_("Take back the decision of case %(id)s") % {"id": ident},
        back=f"/case/{ident}",
        shown=SHOWN,
        answer=dict[str, Any],
    )
    return await carry_out(visit, plan)


def _further(form: Form) -> dict[str, object]:
    """Return the effects that are ticked, beside labels and reports; each with how and how long.

    Raises:
        DeskError: the days are no number of them.
    """
    signatures = [
        {"kind": kind, "where": where, "value": value}
        for kind, where, value in (_three(text) for text in form.all("signature[]")[:_MOST])
    ]
    further: dict[str, object] = {}
    if signatures or form.all("proposal[]"):
        further = {
            "signatures": signatures,
            "proposals": form.all("proposal[]")[:_MOST],
            "mode": "live" if form.one("signature_mode") == "live" else "shadow",
            "signed_until": end_of_days(form.one("signature_days")),
        }
    if form.all("pin[]"):
        further["pins"] = form.all("pin[]")[:_MOST]
        further["pinned_until"] = end_of_days(form.one("pin_days"))
    if form.one("recheck"):
        further["recheck"] = True
    return further


def _three(text: str) -> tuple[str, str, str]:
    """Return kind, place and value of a signature that a box names."""
    kind, _, rest = text.partition(":")
    where, _, value = rest.partition(":")
    return kind, where, value
