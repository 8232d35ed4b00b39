"""Addresses, domains and networks as other filters write them, as entries of ours; pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from oborona.reputation.locallists.edit import normal_entry
from oborona.reputation.personal import (
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    entry,
)

WIDER: Final = "names below a domain (*.example.com): here the domain itself, too"
_WILD: Final = frozenset("*?")
_WITHIN: Final = "a wildcard within a name: a list has whole names; write a rule"


class TheirEntry(NamedTuple):
    """An entry of ours; `note` tells where it is wider than theirs."""

    entry: str
    note: str = ""


def entry_of(text: str) -> TheirEntry:
    """Return the entry that a pattern with stars is.

    Raises:
        ValueError: there is none; it says why.
    """
    bare = text.strip().strip("<>\"'").strip()
    note = ""
    if bare.startswith(("*@*.", "*.")):
        bare, note = "." + bare.partition(".")[2], WIDER
    elif bare.startswith("*@"):
        bare = bare[1:]
    if _WILD & set(bare):
        raise ValueError(_WITHIN)
    normal = normal_entry(bare)
    if not normal:
        raise ValueError("is empty")
    return TheirEntry(normal, note)


def personal_entry(side: EntryAction, text: str, note: str, now: float) -> PersonalEntry:
    """Return the entry of a person's list that a pattern with stars is.

    Args:
        side: allowed or denied.
        text: the pattern.
        note: where it comes from.
        now: Unix seconds.

    Raises:
        ValueError: there is none; it says why.
    """
    bare = text.strip().strip("<>\"'").strip()
    for begin in ("*@*.", "*@.", "*@", "*.", "@", "."):
        if bare.startswith(begin):
            bare, kind = bare[len(begin) :], PersonalEntryKind.DOMAIN
            break
    else:
        kind = PersonalEntryKind.ADDRESS if "@" in bare else PersonalEntryKind.DOMAIN
    if _WILD & set(bare):
        raise ValueError("a wildcard within a name: a person's list has whole names")
    try:
        return entry(side, kind, bare, time=now, note=note)
    except InvalidPersonalEntry as fault:
        raise ValueError(str(fault)) from None
