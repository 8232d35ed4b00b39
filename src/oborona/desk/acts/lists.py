"""Entries put on the site's own lists, taken off, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, act
from oborona.desk.lists.edits import edit_list, undo_of, with_place
from oborona.desk.lists.files import (
    SiteList,
    UnknownListError,
    called,
    check,
    contents,
    find_list,
    list_lock,
    undo_file,
    write,
)
from oborona.desk.lists.notes import note_of, warnings_of
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.locallists.edit import EditedList, lines, with_entries, without_entries

MOST_ENTRIES: Final = 10_000  # in one call


class ListOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Entries of a list; the reason stands beside those that are new.

    Args:
        name: allow, deny, or that of a list with a file.
        entries: addresses, networks, names, mail addresses.
    """

    name: str
    entries: Annotated[list[str], Meta(min_length=1, max_length=MOST_ENTRIES)]


class ChangedList(ActReport, frozen=True, kw_only=True):
    """A list that was changed.

    Args:
        name: of it.
        called: as people call it.
        path: of its file.
        changed: entries that were added, or removed, in their normal form.
        same: that were there already, or were not there.
        warnings: what an admin would wonder about later.
    """

    name: str
    called: str
    path: str
    changed: list[str]
    same: list[str]
    warnings: list[str]


@act("lists.add", Right.POLICY_PUBLISH, about=("name", "entries"))
def add_entries(site: Site, caller: Caller, asked: ListOrder) -> ChangedList:
    """Put entries on a list; the list `allow` or `deny` is begun with its first one.

    Raises:
        UnknownListError: there is no such list, or it can't be changed.
        UnusableValueError: a text is no entry.
        StoreError: the file can't be written; what was there stays.
    """
    note = note_of(asked.reason, caller.name)
    site_list = find_list(site, asked.name)
    edited = edit_list(
        site_list,
        lambda raw: _entries_edited(lambda: with_entries(raw, asked.entries, note)),
        dry=asked.dry,
    )
    warnings = list(warnings_of(site, site_list, edited.changed))
    return _report(site_list, edited, warnings, dry=asked.dry)


@act("lists.remove", Right.POLICY_PUBLISH, about=("name", "entries"))
def remove_from_list(site: Site, caller: Caller, asked: ListOrder) -> ChangedList:
    """Take entries off a list.

    Raises:
        UnknownListError: there is no such list, or it can't be changed.
        UnusableValueError: a text is no entry.
        StoreError: the file can't be written; what was there stays.
    """
    site_list = find_list(site, asked.name)
    edited = edit_list(
        site_list,
        lambda raw: _entries_edited(lambda: without_entries(raw, asked.entries)),
        dry=asked.dry,
    )
    return _report(site_list, edited, [], dry=asked.dry)


def _entries_edited(edit: Callable[[], EditedList]) -> EditedList:
    try:
        return edit()
    except ValueError as fault:
        raise UnusableValueError(str(fault), "entry") from None


def _report(
    site_list: SiteList, edited: EditedList, warnings: list[str], *, dry: bool
) -> ChangedList:
    return ChangedList(
        dry=dry,
        undo=undo_of(site_list) if edited.changed else None,
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        changed=list(edited.changed),
        same=list(edited.same),
        warnings=warnings,
    )


class ListUndoOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """The list whose last change is to be taken back."""

    name: str


class RestoredList(ActReport, frozen=True, kw_only=True):
    """A list that is as before its last change.

    Args:
        name: of it.
        called: as people call it.
        path: of its file.
        entries: how many it has.
        back: entries that are there again.
        gone: entries that are not there any more.
    """

    name: str
    called: str
    path: str
    entries: int
    back: int
    gone: int


@act("lists.undo", Right.POLICY_PUBLISH, about=("name",))
def undo_list(site: Site, caller: Caller, asked: ListUndoOrder) -> RestoredList:
    """Take back the last change that was made to a list; twice is as before.

    Raises:
        UnknownListError: there is no such list, or no change to take back.
        StoreError: the file can't be written; what was there stays.
    """
    site_list = find_list(site, asked.name)
    if asked.dry:
        now, before = contents(site_list.path), _before(site_list)
        with_place(site_list, lambda: check(site_list, before))
    else:
        with list_lock(site_list):
            now, before = contents(site_list.path), _before(site_list)
            with_place(site_list, lambda: write(site_list, before))
    had, has = ({entry.entry for entry in lines(raw)} for raw in (now, before))
    return RestoredList(
        dry=asked.dry,
        undo=undo_of(site_list),
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        entries=sum(1 for _ in lines(before)),
        back=len(has - had),
        gone=len(had - has),
    )


def _before(site_list: SiteList) -> bytes:
    before = contents(undo_file(site_list.path))
    if not before:
        raise UnknownListError(f"{site_list.name}: no change to take back")
    return before
