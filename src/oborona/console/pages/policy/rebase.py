"""A draft that began before the policy was changed is brought to what is there now."""

from __future__ import annotations

import difflib
from typing import Final, NamedTuple

from aiohttp import web

from oborona.console.declaration import page
from oborona.console.pages.policy.answers import (
    ConflictOnPage,
    DraftShownOnPage,
    RebasedOnPage,
)
from oborona.console.pages.policy.permission import draft_path, file_of
from oborona.console.visit import Visit
from oborona.people.rights import Right

MOST_COMPARED: Final = 5_000  # lines of a file, beyond which both are shown whole
MOST_SHOWN: Final = 500  # lines of a difference
KEEP: Final = "keep-"
"""Names of fields, each with the name of a file behind it."""


class ShownConflict(NamedTuple):
    """A file that both have changed, as a page shows it.

    Args:
        file: its name.
        mine: what the draft changes.
        theirs: what others changed since it began.
        gone: the policy has it no more.
    """

    file: str
    mine: list[str]
    theirs: list[str]
    gone: bool


@page("POST", "/policy/draft/{name}/rebase", Right.POLICY_DRAFT)
async def rebase_draft(visit: Visit) -> web.Response:
    """Bring a draft to what is there now; files that both have changed are shown first.

    Raises:
        DeskError: the desk does not answer, or knows no such draft.
    """
    name = visit.parts["name"]
    chosen = {
        field.removeprefix(KEEP): values[-1]
        for field, values in visit.form.fields.items()
        if field.startswith(KEEP)
    }
    order = {
        "draft": name,
        "keep": [file for file, choice in chosen.items() if choice == "mine"],
        "take": [file for file, choice in chosen.items() if choice == "theirs"],
    }
    found = await visit.ask("policy.draft_rebase", order, RebasedOnPage)
    shown = await visit.ask("policy.draft_show", {"draft": name}, DraftShownOnPage)
    return visit.render(
        "policy/rebase.html",
        brief=shown.brief,
        name=name,
        found=found,
        conflicts=[_shown(one) for one in found.conflicts],
        keep=KEEP,
        chosen=chosen,
        file="",
        file_of=file_of,
        draft_path=draft_path,
    )


def _shown(conflict: ConflictOnPage) -> ShownConflict:
    return ShownConflict(
        file=conflict.file,
        mine=changed_lines(conflict.base, conflict.draft),
        theirs=changed_lines(conflict.base, conflict.current),
        gone=conflict.current is None,
    )


def changed_lines(before: str | None, after: str | None) -> list[str]:
    """Return what differs between two texts, as `diff -u` has it, without its head."""
    old, new = ((text or "").splitlines() for text in (before, after))
    if max(len(old), len(new)) > MOST_COMPARED:
        return new[:MOST_SHOWN]
    lines = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return lines[:MOST_SHOWN]
