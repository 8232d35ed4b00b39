"""People: who may sign in, what they may, and acts on them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import page
from oborona.console.form_body import Form
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.pages.own_session import OUTCOMES
from oborona.console.visit import Visit
from oborona.people.rights import Right, Role

STATES: Final = {"active": marked("may sign in"), "off": marked("off")}


@page("GET", "/people", Right.PEOPLE_SEE, menu=marked("People"), order=130, whole=True)
async def show_people(visit: Visit) -> web.Response:
    """Show who may sign in.

    Raises:
        DeskError: the desk does not answer.
    """
    role = visit.query("role")
    asked = {"role": role if role in set(Role) else None}
    people = (await visit.ask("people.list", asked))["people"]
    if visit.query("as") == "json":
        return visit.json("people", people)
    if visit.query("as") == "csv":
        heads = ["name", "roles", "domains", "addresses", "state", "second_step", "came"]
        return visit.csv("people", heads, ([_cell(one[head]) for head in heads] for one in people))
    return visit.render(
        "people/list.html", people=people, role=role, states=STATES, person_url=person_url
    )


@page("GET", "/people/new", Right.PEOPLE)
async def show_new(visit: Visit) -> web.Response:
    """Show the form of a new person."""
    return visit.render("people/new.html")


@page("GET", "/people/{name}", Right.PEOPLE_SEE)
async def show_person(visit: Visit) -> web.Response:
    """Show a person: what they may, their sessions and keys, tries to sign in by their name.

    Raises:
        DeskError: the desk does not answer, or knows nobody of that name.
    """
    found = await visit.ask("people.show", {"name": visit.parts["name"]})
    return visit.render("people/person.html", found=found, states=STATES, outcomes=OUTCOMES)


@page("POST", "/people/add", Right.PEOPLE)
async def add_person(visit: Visit) -> web.Response:
    """Add a person; the link by which they set a password is shown once.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    form = visit.form
    order = {"name": form.one("name"), "language": form.one("language") or "en", **_powers(form)}
    title = _("Add a person")
    return await _carry_out(visit, "people.add", order, title, shown="people/link.html")


@page("POST", "/people/roles", Right.PEOPLE)
async def change_roles(visit: Visit) -> web.Response:
    """Change what a person may.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    title = _("Change what a person may")
    return await _carry_out(
        visit, "people.roles", _named(visit) | _powers(visit.form), title, shown="people/now.html"
    )


@page("POST", "/people/off", Right.PEOPLE)
async def turn_off(visit: Visit) -> web.Response:
    """Let a person sign in no more.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    title = _("Let a person sign in no more")
    return await _carry_out(
        visit, "people.off", _named(visit), title, shown="people/now.html", undo="/people/on"
    )


@page("POST", "/people/on", Right.PEOPLE)
async def turn_on(visit: Visit) -> web.Response:
    """Let a person sign in again.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    title = _("Let a person sign in again")
    return await _carry_out(
        visit, "people.on", _named(visit), title, shown="people/now.html", undo="/people/off"
    )


@page("POST", "/people/link", Right.PEOPLE)
async def make_link(visit: Visit) -> web.Response:
    """Give a person a new link; their password is void.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = _named(visit) | {"without_step": visit.form.one("without_step") == "1"}
    return await _carry_out(visit, "people.link", order, _("A new link"), shown="people/link.html")


@page("POST", "/people/end", Right.PEOPLE)
async def end_sessions(visit: Visit) -> web.Response:
    """End one session of a person, or all.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = _named(visit) | {"session": visit.form.one("session")}
    return await _carry_out(
        visit, "people.end_session", order, _("End sessions"), shown="people/ended.html"
    )


@page("POST", "/people/passkey/remove", Right.PEOPLE)
async def remove_passkey(visit: Visit) -> web.Response:
    """Remove a passkey of a person: they have lost it.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    order = _named(visit) | {"passkey": visit.form.one("passkey")}
    title = _("Remove a passkey")
    return await _carry_out(visit, "passkeys.remove", order, title, shown="people/removed.html")


@page("POST", "/people/forget", Right.PEOPLE)
async def forget_person(visit: Visit) -> web.Response:
    """Forget a person, with all that is theirs.

    Raises:
        DeskError: the desk does not answer, or refuses.
    """
    title = _("Forget a person")
    return await _carry_out(
        visit, "people.forget", _named(visit), title, shown="people/forgotten.html", back="/people"
    )


async def _carry_out(
    visit: Visit,
    call: str,
    order: dict[str, Any],
    title: str,
    *,
    shown: str,
    undo: str = "",
    back: str = "",
) -> web.Response:
    name = str(order["name"])
    plan = ActPlan(
        call=call,
        order=order,
        title=title,
        back=back or (person_url(name) if name and call != "people.add" else "/people"),
        shown=shown,
        undo=undo,
        undo_fields=lambda _: {"name": name},
    )
    return await carry_out(visit, plan)


def person_url(name: str) -> str:
    """Return the path of a person's page."""
    return f"/people/{quote(name, safe='', errors='replace')}"


def _named(visit: Visit) -> dict[str, Any]:
    return {"name": visit.form.one("name")}


def _powers(form: Form) -> dict[str, Any]:
    """Return what a form says of roles and scope."""
    return {
        "roles": [role for role in Role if form.one(f"role-{role}")],
        "domains": split(form.one("domains")),
        "addresses": split(form.one("addresses")),
    }


def split(text: str) -> list[str]:
    """Return the words of a field, between which there are blanks or commas."""
    return text.replace(",", " ").split()


def _cell(value: object) -> object:
    return " ".join(value) if isinstance(value, list) else value
