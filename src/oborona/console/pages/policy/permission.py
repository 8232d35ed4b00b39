"""What `console.policy` lets drafts change, whose a draft is, and where their problems stand."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, urlencode

from oborona.console.desk_client import DeskError
from oborona.console.pages.policy.answers import (
    DraftOnPage,
    LintOnPage,
    ValuesOnPage,
)
from oborona.console.visit import Visit
from oborona.people.rights import Right

OVERLAY: Final = "90-console.toml"
MODE: Final = "console.policy"
NOBODY_WRITES: Final = "read"
ALL_FILES: Final = "write"
WRONG: Final = frozenset({403, 404, 409, 422})
"""Statuses that say what is wrong with a change of a draft, whose form is shown again."""


async def writing_mode(visit: Visit) -> str:
    """Return what `console.policy` says: read, overlay or write.

    Raises:
        DeskError: the desk does not answer.
    """
    found = await visit.ask("policy.settings", {"name": MODE}, ValuesOnPage)
    return next((str(row.value) for row in found.settings if row.name == MODE), NOBODY_WRITES)


def writes(mode: str, file: str) -> bool:
    """Return whether drafts may change a file."""
    return mode == ALL_FILES or (mode != NOBODY_WRITES and file == OVERLAY)


def is_own(visit: Visit, draft: DraftOnPage) -> bool:
    """Return whether this person may change a draft."""
    person = visit.signed_in
    return draft.owner == person.name or person.may(Right.POLICY_PUBLISH)


def draft_path(name: str, part: str = "", **words: str) -> str:
    """Return the path of a draft's page."""
    path = f"/policy/draft/{quote(name, safe='')}{part and f'/{part}'}"
    return f"{path}?{urlencode(words)}" if words else path


def file_of(place: str) -> str:
    """Return the name of the file that a path leads to."""
    return PurePosixPath(place).name


async def linted(visit: Visit, asked: dict[str, str]) -> LintOnPage | None:
    """Return what the loader says of a draft; None where that is not to be had.

    Raises:
        DeskError: the session ended.
    """
    try:
        return await visit.ask("policy.lint", asked, LintOnPage)
    except DeskError as error:
        if error.status == 401:
            raise
        return None
