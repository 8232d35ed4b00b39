"""Signatures: those in force with how often each is found, those that wait, and one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from oborona.console.console_answer import lines_file
from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.language import marked
from oborona.console.visit import Visit
from oborona.people.rights import Right

AT_ONCE: Final = 50
EXPORT_S: Final = 30.0  # that all of them may take
MOST_SKIPPED: Final = 400_000
VIEWS: Final = {
    "in-force": marked("in force"),
    "found": marked("found today"),
    "shadow": marked("on trial"),
    "stale": marked("stale"),
    "ending": marked("with an end"),
    "over": marked("over"),
}
HINTS: Final = {
    "in-force": marked("The newest first; those of policy files are at the end."),
    "found": marked("The most found first."),
    "shadow": marked("They are counted and explained, and add no points."),
    "stale": marked("In force for 30 days or longer, and not found in that time."),
    "ending": marked("The next end first."),
    "over": marked("They have expired, and are looked for no more."),
}
FLAGS: Final = {
    "spam": marked("spam"),
    "ham": marked("good mail"),
    "mark": marked("a mark for rules"),
}
KINDS: Final = {
    "phrase": marked("phrase"),
    "pattern": marked("pattern (RE2)"),
    "host": marked("host of a link"),
    "domain": marked("domain"),
    "url": marked("link"),
    "phone": marked("telephone"),
    "address": marked("e-mail address"),
    "wallet": marked("wallet"),
    "handle": marked("name on a messenger"),
    "list": marked("List-Id"),
    "checksum": marked("SHA-256 of an attachment"),
}
PLACES: Final = {
    "any": marked("anywhere but in header fields"),
    "text": marked("text"),
    "subject": marked("subject"),
    "name": marked("name of the sender"),
    "picture": marked("text in pictures"),
    "header": marked("header fields"),
}
STATES: Final = {
    "active": marked("in force"),
    "proposed": marked("proposed"),
    "declined": marked("declined"),
    "removed": marked("out of use"),
    "file": marked("in a policy file"),
}
WORDS: Final = {"flags": FLAGS, "kinds": KINDS, "places": PLACES, "states": STATES}


@page(
    "GET", "/signatures", Right.SIGNATURE, Right.POLICY_SEE, menu=marked("Signatures"), order=45,
    whole=True,
)  # fmt: skip
async def show_signatures(visit: Visit) -> web.Response:
    """Show a page of signatures.

    Raises:
        DeskError: the desk does not answer.
    """
    if visit.query("as") == "lines":  # all of the store, as they can be imported
        file = await visit.ask("signatures.content", {}, dict[str, Any], EXPORT_S)
        return lines_file(visit.request, "signatures", file["content"])
    view = visit.query("view") if visit.query("view") in VIEWS else "in-force"
    text, owner, skip = visit.query("text")[:500], visit.query("owner")[:500], _skipped(visit)
    asked = {"view": view, "text": text, "owner": owner, "skip": skip, "most": AT_ONCE}
    found, told = None, ""
    try:
        found = await visit.ask("signatures.find", asked, dict[str, Any])
    except DeskError as error:
        if error.status not in {422, 500, 503}:
            raise
        told = error.text
    rows = found["signatures"] if found is not None else []
    if visit.query("as") == "json":
        return visit.json("signatures", rows)
    if visit.query("as") == "csv":
        heads = ["id", "flag", "kind", "value", "where", "mode", "owner", "reason", "expires",
                 "state", "today", "fortnight", "total", "last", "stale"]  # fmt: skip
        return visit.csv("signatures", heads, (_columns(row, heads) for row in rows))
    number = found["number"] if found is not None else 0
    more = skip + AT_ONCE < number
    return visit.render(
        "signatures/list.html",
        rows=rows,
        number=number,
        told=told,
        view=view,
        views=VIEWS,
        hint=HINTS[view],
        text=text,
        owner=owner,
        older=visit.url(skip=str(skip + AT_ONCE)) if more else "",
        links=signature_links(row["signature"]["id"] for row in rows),
        may=visit.leads("/signatures/add", "POST"),
        **WORDS,
    )


@page("GET", "/signatures/pardoned", Right.SIGNATURE, Right.POLICY_SEE)
async def show_pardoned(visit: Visit) -> web.Response:
    """Show the signatures that are found in mail which people say is no spam.

    Raises:
        DeskError: the session ended.
    """
    found = await visit.part("signatures.pardoned", {}, dict[str, Any])
    rows = found["signatures"] if found is not None else []
    if visit.query("as") == "json":
        return visit.json("pardoned", rows)
    if visit.query("as") == "csv":
        cells = ([row["id"], row["messages"], " ".join(row["examples"])] for row in rows)
        return visit.csv("pardoned", ["id", "messages", "examples"], cells)
    return visit.render(
        "signatures/pardoned.html",
        found=found,
        views=VIEWS,
        links=signature_links(row["id"] for row in rows),
    )


@page("GET", "/signatures/proposals", Right.SIGNATURE, Right.POLICY_SEE)
async def show_proposals(visit: Visit) -> web.Response:
    """Show the signatures that wait for a decision, with what speaks for each.

    Raises:
        DeskError: the session ended.
    """
    found = await visit.part("signatures.proposals", {}, dict[str, Any])
    rows = found["proposals"] if found is not None else []
    if visit.query("as") == "json":
        return visit.json("proposals", rows)
    if visit.query("as") == "csv":
        heads = ["id", "kind", "value", "where", "owner", "reason", "support", "of", "good_mail"]
        cells = ({**row["signature"], **row["evidence"], "id": row["id"]} for row in rows)
        return visit.csv("proposals", heads, ([one.get(head) for head in heads] for one in cells))
    skip = _skipped(visit)
    more = skip + AT_ONCE < len(rows)
    return visit.render(
        "signatures/proposals.html",
        found=found,
        rows=rows[skip : skip + AT_ONCE],
        views=VIEWS,
        older=visit.url(skip=str(skip + AT_ONCE)) if more else "",
        may=visit.leads("/signatures/accept", "POST"),
        links=signature_links(row["id"] for row in rows),
        **WORDS,
    )


@page("GET", "/signature/{id}", Right.SIGNATURE, Right.POLICY_SEE)
async def show_signature(visit: Visit) -> web.Response:
    """Show everything about a signature, and what may be done with it.

    Raises:
        DeskError: the desk does not answer, or there is none of this id.
    """
    shown = await visit.ask("signatures.show", {"name": visit.parts["id"]}, dict[str, Any])
    if visit.query("as") == "json":
        return visit.json("signature", shown)
    state = shown["state"]
    return visit.render(
        "signatures/signature.html",
        shown=shown,
        one=shown["signature"],
        may=visit.leads("/signatures/mode", "POST") and state != "file",
        proposed=state == "proposed",
        active=state == "active",
        **WORDS,
    )


def signature_links(names: Iterable[str]) -> dict[str, str]:
    """Return the addresses of the pages of signatures, by their ids."""
    return {name: f"/signature/{quote(name, safe='')}" for name in names}


def _skipped(visit: Visit) -> int:
    text = visit.query("skip")
    plain = text.isascii() and text.isdecimal() and len(text) < 10
    return min(int(text), MOST_SKIPPED) if plain else 0


def _columns(row: dict[str, Any], heads: Iterable[str]) -> list[object]:
    return [row[head] if head in row else row["signature"].get(head) for head in heads]
