"""The site's own lists: their entries, with who put them there; changed, imported, and saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from oborona.console.act_form import ActPlan, carry_out
from oborona.console.declaration import FORM_BYTES, page
from oborona.console.desk_client import DeskError
from oborona.console.language import gettext as _
from oborona.console.language import marked
from oborona.console.track_query import list_url
from oborona.console.undo_order import undo_fields, undo_plan
from oborona.console.visit import Visit
from oborona.people.rights import Right

SHOWN: Final = "lists/answer.html"
IMPORTED: Final = "lists/imported.html"
UNDO: Final = frozenset({"lists.undo"})
ROWS: Final = 500  # entries on a page
MIB: Final = 1 << 20
MOST_FILE: Final = 2 * MIB  # some 100,000 entries; larger files go by the command
MOST_FORM: Final = 3 * MOST_FILE + FORM_BYTES  # from the preview each octet may come as three
FORMS: Final = frozenset({"lines", "hosts", "rspamd"})


@page("GET", "/lists", Right.POLICY_SEE, menu=marked("Lists of the site"), order=50, whole=True)
async def show_site_lists(visit: Visit) -> web.Response:
    """Show the lists that there are, or the entries of one.

    Raises:
        DeskError: the desk does not answer, or there is no such list.
    """
    name, wanted = visit.query("name"), visit.query("find").lower()
    shown = await visit.ask("lists.show", {"name": name})
    match visit.query("as"):
        case "csv":
            rows = ([row["entry"], row["comment"]] for row in shown["entries"])
            return visit.csv(name or "entries", ("entry", "comment"), rows)
        case "json":
            return visit.json(name or "lists", shown)
        case "list" if name:
            return visit.text(f"{name}.list", "".join(map(_line, shown["entries"])))
    if not name:
        return visit.render("lists/lists.html", shown=shown, list_url=list_url)
    found = [
        row
        for row in shown["entries"]
        if wanted in row["entry"].lower() or wanted in row["comment"].lower()
    ]
    return visit.render(
        "lists/list.html",
        name=name,
        home=list_url(name),
        wanted=visit.query("find"),
        entries=found[:ROWS],
        found=len(found),
        number=len(shown["entries"]),
    )


def _line(row: Mapping[str, str]) -> str:
    comment = "".join(letter if letter.isprintable() else " " for letter in row["comment"])
    return f"{row['entry']}{f'  # {comment}' if comment.strip() else ''}\n"


@page("POST", "/lists/add", Right.POLICY_PUBLISH)
async def add_to_list(visit: Visit) -> web.Response:
    """Put entries on a list."""
    return await _act(visit, "lists.add", _("Add entries"), _entries(visit))


@page("POST", "/lists/remove", Right.POLICY_PUBLISH)
async def remove_from_list(visit: Visit) -> web.Response:
    """Take entries off a list."""
    return await _act(visit, "lists.remove", _("Remove entries"), _entries(visit))


@page("POST", "/lists/import", Right.POLICY_PUBLISH, max_bytes=MOST_FORM)
async def import_list(visit: Visit) -> web.Response:
    """Take the entries of a file or of pasted text, after showing what of it can't be used.

    Raises:
        DeskError: there is nothing in it, or too much.
    """
    file = visit.form.files.get("file")
    if file is not None:
        if len(file.octets) > MOST_FILE:
            told = _("The file has more than %(n)s MiB: import it by `oborona list import`.")
            raise DeskError(413, told % {"n": MOST_FILE // MIB})
        # the preview sends it again: a browser keeps no file for that
        visit.form.fields["content"] = [file.octets.decode("utf-8", "replace")]
        visit.form.fields["called"] = [file.name[:200]]
    content = visit.form.raw("content")
    if not content.strip():
        raise DeskError(422, _("Choose a file, or paste entries."))
    form = visit.form.one("form")
    order = {
        "content": content,
        "called": visit.form.one("called") or _("pasted text"),
        "form": form if form in FORMS else None,
        # the preview has each line that can't be used: whoever goes on has seen them
        "skip_broken": True,
    }
    return await _act(visit, "lists.import", _("Import entries"), order, IMPORTED)


@page("POST", "/lists/undo", Right.POLICY_PUBLISH)
async def undo_list_change(visit: Visit) -> web.Response:
    """Take the last change of a list back.

    Raises:
        DeskError: it can't be.
    """
    plan = undo_plan(visit, UNDO, title=_("Undo"), back="/lists", shown=SHOWN)
    plan.back = list_url(str(plan.order.get("name", "")))
    return await carry_out(visit, plan)


def _entries(visit: Visit) -> dict[str, object]:
    lines = visit.form.raw("entries").splitlines()
    return {"entries": [line.strip() for line in lines if line.strip()]}


async def _act(
    visit: Visit, call: str, title: str, order: Mapping[str, object], shown: str = SHOWN
) -> web.Response:
    name = visit.form.one("name")
    plan = ActPlan(
        call=call,
        order={"name": name, **order},
        title=title,
        back=list_url(name),
        shown=shown,
        undo="/lists/undo",
        undo_fields=_undo,
    )
    return await carry_out(visit, plan)


def _undo(answer: Any) -> Mapping[str, str] | None:
    return undo_fields(answer) or None
