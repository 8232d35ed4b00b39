"""Accounts of the site's own senders and their incidents: who they are, what they may do, what was
done; a ban tells the client why.
"""

from __future__ import annotations

import time
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.account_answer import (
    HeldOutgoingAnswer,
    SenderDetails,
    SenderPage,
    SenderRating,
    SenderStanding,
)
from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.visit import Visit
from oborona.people.rights import Right

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
STATES: Final = {
    "open": marked("open"),
    "limited": marked("limited: its mail is put off"),
    "banned": marked("banned: its mail is refused"),
}
DEEDS: Final = {
    "ban": marked("Ban"),
    "unban": marked("Take its mail again"),
    "limit": marked("Limit"),
    "trust": marked("Trust"),
    "untrust": marked("Trust no more"),
    "forget": marked("Forget"),
}
SPANS: Final = {
    "1h": HOUR_S,
    "1d": DAY_S,
    "7d": 7 * DAY_S,
    "30d": 30 * DAY_S,
}
TIMED: Final = frozenset({"ban", "limit", "trust"})


def account_url(name: str) -> str:
    """Return the address of an account's page."""
    return f"/account/{quote(name, safe='')}"


@page("GET", "/accounts", Right.ACCOUNT_SEE, menu=marked("Accounts"), order=90, whole=True)
async def show_accounts(visit: Visit) -> web.Response:
    """Show accounts, and what is held of outgoing mail.

    Raises:
        DeskError: the desk does not answer.
    """
    name = visit.query("name")
    if name:
        return visit.go(account_url(name[:1000]))
    state = visit.query("state") if visit.query("state") in STATES else ""
    asked: dict[str, object] = {"after": visit.query("after")}
    if state:
        asked["state"] = state
    if visit.query("customer"):
        asked["customer"] = visit.query("customer")
    found = await visit.part("account.list", asked, SenderPage)
    if found is not None and visit.query("as") == "json":
        return visit.json("accounts", found)
    if found is not None and visit.query("as") == "csv":
        heads = ["account", "state", "rating", "trusted", "customer", "logins"]
        rows = (
            [
                one.account.id,
                one.state,
                one.account.rating,
                int(one.trusted),
                one.account.customer.id if one.account.customer else "",
                " ".join(one.account.logins),
            ]
            for one in found.accounts
        )
        return visit.csv("accounts", heads, rows)
    held = await visit.part("outgoing.held", {}, HeldOutgoingAnswer)
    return visit.render(
        "accounts/list.html",
        found=found,
        held=held,
        state=state,
        states=STATES,
        customer=visit.query("customer"),
        older=visit.url(after=found.next) if found is not None and found.next else "",
        account_url=account_url,
    )


@page("GET", "/account/{name}", Right.ACCOUNT_SEE)
async def show_account(visit: Visit) -> web.Response:
    """Show all that is known of an account.

    Raises:
        DeskError: the desk does not answer, or knows no such account.
    """
    named = {"name": visit.parts["name"]}
    found = await visit.ask("account.show", named, SenderDetails)
    rating = await visit.part("account.explain", named, SenderRating)
    incidents = await visit.part(
        "incident.list", {"account": found.standing.account.id}, dict[str, Any]
    )
    return visit.render(
        "accounts/account.html",
        found=found,
        account=found.standing.account,
        rating=rating,
        incidents=incidents,
        states=STATES,
        deeds=DEEDS,
        blocked=found.standing.state != "open",
        acts=_acts(found.standing) if visit.leads("/accounts/act", "POST") else [],
        spans=SPANS,
        timed=TIMED,
    )


def _acts(standing: SenderStanding) -> list[str]:
    """Return what may be said of an account as it is."""
    acts = ["ban", "limit"] if standing.state == "open" else ["unban", "ban", "limit"]
    acts += ["untrust"] if standing.trusted else ["trust"]
    return acts if standing.state != "open" else [*acts, "forget"]


@page("POST", "/accounts/act", Right.ACCOUNT)
async def act_on_account(visit: Visit) -> web.Response:
    """Say something of an account; of a ban the client is told why.

    Raises:
        DeskError: the desk does not answer, or there is no such act.
    """
    form = visit.form
    deed, name = form.one("deed"), form.one("name")
    if deed not in DEEDS or not name:
        raise DeskError(404, "")
    order: dict[str, object] = {"name": name}
    if deed in TIMED:
        order["until"] = until_of(form.one("until"), form.one("span"), time.time())
    plan = ActPlan(
        call=f"account.{deed}",
        order=order,
        title=_(DEEDS[deed]),
        back="/accounts" if deed == "forget" else account_url(name),
        shown="accounts/outcome.html",
        undo="/accounts/act",
        undo_fields=undo_of_account,
    )
    return await carry_out(visit, plan)


def until_of(until: str, span: str, now: float) -> float:
    """Return when what is said of an account ends; 0: it does not.

    Args:
        until: Unix seconds, as an undo says; empty: by the span.
        span: one of SPANS; others: it does not end.
        now: Unix seconds.
    """
    try:
        said = float(until) if until else 0.0
    except ValueError:
        said = 0.0
    if until:
        return said if 0 <= said < 1e11 else 0.0
    return round(now + SPANS[span]) if span in SPANS else 0.0


def undo_of_account(answer: Any) -> dict[str, str] | None:
    """Return the fields of the form that takes an act back; None: nothing does."""
    undo = answer.get("undo")
    if not undo:
        return None
    told = undo["asked"]
    return {
        "deed": undo["call"].partition(".")[2],
        "name": told["name"],
        **({"until": str(told["until"])} if told.get("until") else {}),
    }
