"""Entries put on the site's own lists, taken off, imported, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, UndoCall, act
from oborona.desk.lists.files import (
    EMPTY,
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
from oborona.desk.lists.notes import note_of, printable, warnings_of
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.locallists import BrokenLine
from oborona.reputation.locallists.edit import EditedList, lines, with_entries, without_entries
from oborona.reputation.locallists.foreign_formats import ForeignFormat, foreign_lines, form_of

MOST_ENTRIES: Final = 10_000  # in one call
MAX_FILE: Final = 64 << 20


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
    edited = _edit(
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
    edited = _edit(
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


def _edit(site_list: SiteList, edit: Callable[[bytes], EditedList], *, dry: bool) -> EditedList:
    """Change a list file, or see what would become of it."""
    if dry:
        edited = edit(contents(site_list.path))
        if edited.changed:
            _checked(site_list, lambda: check(site_list, edited.raw or EMPTY))
        return edited
    with list_lock(site_list):
        edited = edit(contents(site_list.path))
        if edited.changed:
            _checked(site_list, lambda: write(site_list, edited.raw or EMPTY))
    return edited


def _checked(site_list: SiteList, step: Callable[[], None]) -> None:
    try:
        step()
    except BrokenLine as fault:
        raise UnknownListError(
            f"{site_list.path}:{fault.line}: {fault.problem}; nothing was changed"
        ) from None


def _report(
    site_list: SiteList, edited: EditedList, warnings: list[str], *, dry: bool
) -> ChangedList:
    return ChangedList(
        dry=dry,
        undo=_undo(site_list) if edited.changed else None,
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        changed=list(edited.changed),
        same=list(edited.same),
        warnings=warnings,
    )


def _undo(site_list: SiteList) -> UndoCall:
    return UndoCall(call="lists.undo", asked={"name": called(site_list.name)})


class ForeignEntries(NamedTuple):
    """What a file of entries holds.

    Args:
        entries: as they are written.
        problems: lines that can't be used: number, and why.
    """

    entries: list[str]
    problems: list[tuple[int, str]]


def foreign_entries(text: str, form: ForeignFormat | None) -> ForeignEntries:
    """Return the entries of a file; its form is guessed where it is not told."""
    some = list(foreign_lines(text, form or form_of(text)))
    return ForeignEntries(
        [line.entry for line in some if line.entry],
        [(line.line, line.problem) for line in some if line.problem],
    )


class ListImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A file of entries; the reason stands above them.

    Args:
        name: allow, deny, or that of a list with a file.
        content: the file.
        called: its name.
        form: of the file; None = guessed.
        skip_broken: pass over lines that can't be used; else one such line stops the import.
    """

    name: str
    content: Annotated[str, Meta(max_length=MAX_FILE)]
    called: Annotated[str, Meta(max_length=1000)] = "-"
    form: ForeignFormat | None = None
    skip_broken: bool = False


class ImportedEntries(ChangedList, frozen=True, kw_only=True):
    """A list with the entries of a file.

    Args:
        passed_over: lines that can't be used: number, and why.
    """

    passed_over: list[tuple[int, str]]


@act("lists.import", Right.POLICY_PUBLISH, about=("name",))
def import_entries(site: Site, caller: Caller, asked: ListImportOrder) -> ImportedEntries:
    """Take the entries of a file: lines as ours, a hosts file, a map of rspamd or Postfix.

    Raises:
        UnknownListError: there is no such list, it can't be changed, or a line can't be used.
        StoreError: the file can't be written; what was there stays.
    """
    found = foreign_entries(asked.content, asked.form)
    if found.problems and not asked.skip_broken:
        line, problem = found.problems[0]
        raise UnknownListError(
            f"{printable(asked.called)}: {len(found.problems)} lines can't be used, nothing was "
            f"added; the first is {line}: {printable(problem)}"
        )
    site_list = find_list(site, asked.name)
    source = f"from {printable(asked.called)}"
    note = note_of(f"{source}: {asked.reason}" if asked.reason else source, caller.name)

    def edit(before: bytes) -> EditedList:
        edited = with_entries(before, found.entries, "")
        fresh = edited.raw[len(before.rstrip(b"\n")) + 1 if before else 0 :]
        ended = before + (b"" if before.endswith(b"\n") or not before else b"\n")
        return edited._replace(raw=ended + f"# {note}\n".encode() + fresh)

    edited = _edit(site_list, edit, dry=asked.dry)
    return ImportedEntries(
        dry=asked.dry,
        undo=_undo(site_list) if edited.changed else None,
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        changed=list(edited.changed),
        same=list(edited.same),
        warnings=[],
        passed_over=found.problems,
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
    """

    name: str
    called: str
    path: str
    entries: int


@act("lists.undo", Right.POLICY_PUBLISH, about=("name",))
def undo_list(site: Site, caller: Caller, asked: ListUndoOrder) -> RestoredList:
    """Take back the last change that was made to a list; twice is as before.

    Raises:
        UnknownListError: there is no such list, or no change to take back.
        StoreError: the file can't be written; what was there stays.
    """
    site_list = find_list(site, asked.name)
    if asked.dry:
        before = _before(site_list)
        _checked(site_list, lambda: check(site_list, before))
    else:
        with list_lock(site_list):
            before = _before(site_list)
            _checked(site_list, lambda: write(site_list, before))
    return RestoredList(
        dry=asked.dry,
        undo=_undo(site_list),
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        entries=sum(1 for _ in lines(before)),
    )


def _before(site_list: SiteList) -> bytes:
    before = contents(undo_file(site_list.path))
    if not before:
        raise UnknownListError(f"{site_list.name}: no change to take back")
    return before
