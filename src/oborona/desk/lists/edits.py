"""One change of a list file: tried, or made while nobody else changes it."""

from __future__ import annotations

from collections.abc import Callable

from oborona.desk.call import UndoCall
from oborona.desk.lists.files import (
    EMPTY,
    SiteList,
    UnknownListError,
    called,
    check,
    contents,
    list_lock,
    write,
)
from oborona.reputation.locallists import BrokenLine
from oborona.reputation.locallists.edit import EditedList


def edit_list(site_list: SiteList, edit: Callable[[bytes], EditedList], *, dry: bool) -> EditedList:
    """Change a list file, or see what would become of it.

    Args:
        site_list: the list.
        edit: what is there → what is to be.
        dry: only see.

    Raises:
        UnknownListError: the policy could not be loaded with it.
        StoreError: the file can't be written; what was there stays.
    """
    if dry:
        edited = edit(contents(site_list.path))
        if edited.changed:
            with_place(site_list, lambda: check(site_list, edited.raw or EMPTY))
        return edited
    with list_lock(site_list):
        edited = edit(contents(site_list.path))
        if edited.changed:
            with_place(site_list, lambda: write(site_list, edited.raw or EMPTY))
    return edited


def with_place(site_list: SiteList, step: Callable[[], None]) -> None:
    """Take a step; a line that breaks it is told with its file.

    Raises:
        UnknownListError: there is one.
    """
    try:
        step()
    except BrokenLine as fault:
        raise UnknownListError(
            f"{site_list.path}:{fault.line}: {fault.problem}; nothing was changed"
        ) from None


def undo_of(site_list: SiteList) -> UndoCall:
    """Return the call that takes back the last change of a list."""
    return UndoCall(call="lists.undo", asked={"name": called(site_list.name)})
