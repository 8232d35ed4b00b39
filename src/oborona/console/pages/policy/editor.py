"""A draft in the editor: its files, what the loader says while somebody types, and saving."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.desk_client import DeskError
from oborona.console.pages.policy.answers import DraftFileOnPage, DraftShownOnPage
from oborona.console.pages.policy.permission import (
    NOBODY_WRITES,
    OVERLAY,
    WRONG,
    draft_path,
    file_of,
    is_own,
    linted,
    writes,
    writing_mode,
)
from oborona.console.visit import Visit
from oborona.people.rights import Right

MAX_FORM: Final = 13 << 20  # bytes: a file of 4 MiB, three for each as a form is sent
MOST_NUMBERED: Final = 5_000  # lines that have numbers until a script gives them
MEANWHILE: Final = 409


@page("GET", "/policy/draft/{name}", Right.POLICY_DRAFT)
async def show_draft(visit: Visit) -> web.Response:
    """Show a draft, one of its files in the editor.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    return await _editor(visit, visit.query("file"))


@page("POST", "/policy/draft/{name}/check", Right.POLICY_DRAFT, max_bytes=MAX_FORM)
async def check_text(visit: Visit) -> web.Response:
    """Say what the loader makes of a text that is not saved: to a script, or on the whole page.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    file, text = visit.form.one("file"), _text(visit)
    if not visit.partial:
        return await _editor(visit, file, text)
    name = visit.parts["name"]
    names = {*(await _shown(visit, name)).files, file}
    found = await linted(visit, {"draft": name, "file": file, "text": text})
    return visit.render("policy/lint.html", found=found, names=names, **_places(name, file))


@page("POST", "/policy/draft/{name}", Right.POLICY_DRAFT, max_bytes=MAX_FORM)
async def save_text(visit: Visit) -> web.Response:
    """Save a file of a draft; what somebody else has written meanwhile is not written over.

    Raises:
        DeskError: the session ended, or the draft is gone.
    """
    form, name = visit.form, visit.parts["name"]
    file, text, before = form.one("file"), _text(visit), form.one("before")
    order = {"draft": name, "file": file, "text": text, "before": before}
    if form.one("step") == "remove":
        order["text"] = None  # type: ignore[assignment] # the file goes
    try:
        if not before and file in (await _shown(visit, name)).files:
            return await _editor(visit, file, text, status=MEANWHILE)
        await visit.ask("policy.draft_write", order)
    except DeskError as error:
        if error.status == MEANWHILE and await _differs(visit, file, before):
            return await _editor(visit, file, text, status=MEANWHILE)
        if error.status in WRONG:
            return await _editor(visit, file, text, told=error.text, status=422)
        if error.status < 500:
            raise
        # the desk is away: what was typed is not
        return visit.render(
            "policy/kept.html", error.status, name=name, file=file, text=text, before=before
        )
    return visit.go(draft_path(name, file=file, saved="1"))


async def _shown(visit: Visit, name: str, file: str = "") -> DraftShownOnPage:
    return await visit.ask("policy.draft_show", {"draft": name, "file": file}, DraftShownOnPage)


async def _differs(visit: Visit, file: str, before: str) -> bool:
    """Return whether a file is another than the one that its writer has seen."""
    return (await _shown(visit, visit.parts["name"])).files.get(file, "") != before


async def _editor(
    visit: Visit, file: str, text: str | None = None, *, told: str = "", status: int = 200
) -> web.Response:
    """Return the page of a draft.

    Args:
        visit: who looks.
        file: which; empty: the one that is most likely wanted.
        text: that is not saved; None = what the draft has.
        told: what is wrong.
        status: of the answer; 409: somebody else has written the file meanwhile.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    mode = await writing_mode(visit)
    shown = await _shown(visit, name)
    names = sorted({*shown.files, *([OVERLAY] if mode != NOBODY_WRITES else [])})
    file = file or _first(shown, names)
    there: DraftFileOnPage | None = None
    if file in shown.files:
        there = (await _shown(visit, name, file)).file
    can_write = writes(mode, file) and is_own(visit, shown.brief) and (there is None or there.whole)
    unsaved = text is not None and can_write
    asked = {"draft": name, **({"file": file, "text": text} if text and unsaved else {})}
    now = there.text if there is not None else ""
    kept = now if text is None else text
    return visit.render(
        "policy/draft.html",
        status,
        brief=shown.brief,
        names=names,
        there=there,
        text=kept,
        numbers=min(kept.count("\n") + 1, MOST_NUMBERED),
        crlf="\r\n" in now,
        theirs=now if status == MEANWHILE else None,
        can_write=can_write,
        own=is_own(visit, shown.brief),
        mode=mode,
        told=told,
        saved=visit.query("saved") == "1" and text is None,
        unsaved=unsaved,
        found=await linted(visit, asked) if file else None,
        overlay=OVERLAY,
        **_places(name, file),
    )


def _first(shown: DraftShownOnPage, names: list[str]) -> str:
    wanted = [*shown.brief.changed, *([OVERLAY] if OVERLAY in names else []), *names]
    return next((name for name in wanted if name in names), "")


def _places(name: str, file: str) -> dict[str, object]:
    """Return what leads from a problem to its line."""
    return {"name": name, "file": file, "file_of": file_of, "draft_path": draft_path}


def _text(visit: Visit) -> str:
    """Return the text of a form with the ends of lines that its file has: browsers send CRLF."""
    text = visit.form.raw("text").replace("\r\n", "\n")
    return text.replace("\n", "\r\n") if visit.form.one("ends") == "crlf" else text
