"""A file of entries taken into one of the site's own lists, as one change."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from oborona.desk.acts.lists import ChangedList
from oborona.desk.call import ActOrder, act
from oborona.desk.lists.edits import edit_list, undo_of
from oborona.desk.lists.files import UnknownListError, called, find_list
from oborona.desk.lists.notes import note_of, printable, warnings_of
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.locallists.edit import EditedList, with_entries
from oborona.reputation.locallists.foreign_formats import (
    ForeignFormat,
    ForeignLine,
    foreign_lines,
    form_of,
)

MAX_FILE: Final = 64 << 20
WARNED_OF: Final = 500  # entries that are held against the other lists
_AS_WRITTEN: Final = 1000  # entries in another form than they were written in, that are told


class ForeignEntries(NamedTuple):
    """What a file of entries holds.

    Args:
        form: that it is in.
        entries: as they are written.
        problems: lines that can't be used: number, and why.
        others: lines whose entry is taken in another form than it was written in.
    """

    form: ForeignFormat
    entries: list[str]
    problems: list[tuple[int, str]]
    others: list[ForeignLine]


def foreign_entries(text: str, form: ForeignFormat | None) -> ForeignEntries:
    """Return the entries of a file; its form is guessed where it is not told."""
    form = form or form_of(text)
    some = list(foreign_lines(text, form))
    return ForeignEntries(
        form,
        [line.entry for line in some if line.entry],
        [(line.line, line.problem) for line in some if line.problem],
        [line for line in some if line.entry and line.entry != line.written],
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


class EntryForm(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that is taken in another form than it was written in."""

    line: int
    written: str
    entry: str


class ImportedEntries(ChangedList, frozen=True, kw_only=True):
    """A list with the entries of a file.

    Args:
        form: of the file.
        passed_over: lines that can't be used: number, and why.
        rewritten: entries in another form than they were written in, the first of them.
        rewritten_more: how many more there are.
    """

    form: ForeignFormat
    passed_over: list[tuple[int, str]]
    rewritten: list[EntryForm]
    rewritten_more: int


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

    edited = edit_list(site_list, edit, dry=asked.dry)
    return ImportedEntries(
        dry=asked.dry,
        undo=undo_of(site_list) if edited.changed else None,
        name=site_list.name,
        called=called(site_list.name),
        path=str(site_list.path),
        changed=list(edited.changed),
        same=list(edited.same),
        warnings=list(warnings_of(site, site_list, edited.changed[:WARNED_OF])),
        form=found.form,
        passed_over=found.problems,
        rewritten=[
            EntryForm(line=one.line, written=printable(one.written), entry=one.entry)
            for one in found.others[:_AS_WRITTEN]
        ],
        rewritten_more=max(0, len(found.others) - _AS_WRITTEN),
    )
