"""Local lists, as policy files give them.

    [[local_list]]
    name   = "OUR_PARTNERS"
    action = "allow"
    of     = ["client", "sender"]
    file   = "partners.list"

What a list file holds is read in `oborona.policy.list_files`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.named_tables import (
    LIST_FILE,
    MAX_LIST_FILE,
    Enabled,
    Fields,
    Name,
    TableSort,
    Why,
    refuse,
    subjects,
)
from oborona.reputation import locallists
from oborona.reputation.locallists import BrokenLine, ListAction, ListTable
from oborona.reputation.subject import MAILBOXES, ListSubject
from oborona.toml import TomlDocument, TomlPlace
from oborona.types import RuleMode

MAX_LOCAL_LISTS: Final = 50
MAX_INLINE: Final = 1000  # entries in a policy file; more belong into a list file


class LocalListTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[local_list]]` table; this is their only list."""

    name: Name
    action: Annotated[ListAction, Meta(description="What its entries mean.")] | UnsetType = UNSET
    of: Annotated[tuple[ListSubject, ...], subjects(locallists.SUBJECTS)] | UnsetType = UNSET
    entries: (
        Annotated[
            tuple[str, ...],
            Meta(
                max_length=MAX_INLINE,
                description="Addresses, networks, names, mail addresses.",
                extra={
                    "allowed": f"at most {MAX_INLINE} texts in brackets; more belong into a file"
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    file: (
        Annotated[
            str,
            Meta(
                pattern=LIST_FILE,
                max_length=MAX_LIST_FILE,
                description="File of more entries, one a line, in the policy folder.",
                extra={
                    "allowed": 'the name of a file in the policy folder, such as "partners.list"'
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: explained, decides nothing.")] | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


class ListSource(msgspec.Struct, frozen=True, kw_only=True):
    """A local list whose file is not read yet."""

    name: str
    action: ListAction
    of: tuple[ListSubject, ...]
    entries: ListTable
    file: str = ""
    mode: RuleMode = RuleMode.LIVE
    enabled: bool = True
    why: str = ""
    # of each field that a file gave
    places: Mapping[str, TomlPlace] = msgspec.field(default_factory=dict)


def _inspect(document: TomlDocument, path: tuple[str | int, ...], fields: Fields) -> None:
    """Find the entry of a policy file that can't be used while its place is known."""
    if "entries" in fields:
        try:
            locallists.entries(fields["entries"].value)
        except BrokenLine as fault:
            name = fields["name"].value
            raise refuse(
                f"local list {name}: {fault.problem}",
                document.value(*path, "entries", fault.line - 1),
            ) from None


LOCAL_LISTS: Final = TableSort(
    "local_list",
    "local list",
    LocalListTable,
    MAX_LOCAL_LISTS,
    (("action",), ("of",), ("entries", "file")),
    _inspect,
)


def list_source(fields: Fields) -> ListSource:
    """Return the local list that files give together, its file not read yet.

    Raises:
        PolicyError: entries that its subjects can never be.
    """
    values: dict[str, Any] = {key: field.value for key, field in fields.items()}
    values["entries"] = locallists.entries(values.get("entries", ()))
    source = ListSource(**values, places={key: field.place for key, field in fields.items()})
    vain = in_vain(source.entries, source.of)
    if vain is not None:
        raise refuse(f"local list {source.name}: {vain[1]}", fields["entries"].place)
    return source


def in_vain(table: ListTable, of: tuple[ListSubject, ...]) -> tuple[int, str] | None:
    """Return the line of an entry that none of a list's subjects can ever match, and what is wrong.

    None if there is none.
    """
    able = {
        locallists.ListEntryType.NETWORK: {ListSubject.CLIENT, ListSubject.HELO},
        locallists.ListEntryType.NAME: set(locallists.SUBJECTS) - {ListSubject.CLIENT},
        locallists.ListEntryType.MAILBOX: MAILBOXES,
    }
    for sort, line in table.first.items():
        if not able[sort] & set(of):
            names = ", ".join(
                f'"{subject.value}"' for subject in locallists.SUBJECTS if subject in able[sort]
            )
            return line, f"{sort.value} matches only where the list is of {names}"
    return None
