"""All local lists of a site together: which entry decides about a client, a name or a mail address.

The narrowest entry decides, whichever list it is in: a deny of 192.0.2.7 stands against an allow of
192.0.2.0/24, and the other way round. Where an allow and a deny are equally narrow, the deny holds:
what was denied by name was denied on purpose, and is found in the log; and of two lists that say
the same, the one defined first is named.

How narrow: of networks the longer; the mail address itself before its domain; `@example.com` and
`example.com` (equal) before `.example.com`, and that before `.com`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from oborona.domains import normal_host
from oborona.reputation.locallists.table import ListTable
from oborona.reputation.networks import Address, plain
from oborona.reputation.subject import MAILBOXES, ListSubject
from oborona.types import RuleMode

SUBJECTS: Final = (
    ListSubject.CLIENT,
    ListSubject.RDNS,
    ListSubject.HELO,
    ListSubject.SENDER,
    ListSubject.RECIPIENT,
    ListSubject.FROM,
)
"""What local lists can be about."""

_WHOLE: Final = 100_000  # narrower than any name
_EXACT: Final = 10_000  # narrower than any suffix, which has at most 254 characters
_MAX_TEXT: Final = 320  # of a mail address; what is longer is no entry


class ListAction(StrEnum):
    """What an entry means."""

    ALLOW = "allow"  # nothing before the content refuses, and neither DNS lists nor RepIP are asked
    DENY = "deny"  # refused as soon as it is known


class LocalList(msgspec.Struct, frozen=True, kw_only=True):
    """One list."""

    name: str
    action: ListAction
    of: tuple[ListSubject, ...]
    tables: tuple[ListTable, ...]  # what the policy file holds, and the list file
    mode: RuleMode = RuleMode.LIVE  # shadow: told, and nothing done about it
    why: str = ""


class LocalListMatch(msgspec.Struct, frozen=True, kw_only=True):
    """The entry that decides about one subject."""

    list: str
    action: ListAction
    entry: str  # in its normal form
    of: ListSubject
    mode: RuleMode = RuleMode.LIVE


class LocalLists:
    """The lists of a site.

    Args:
        lists: those that are switched on, in the order of their definition.
    """

    def __init__(self, lists: Sequence[LocalList] = ()) -> None:
        self.lists = tuple(lists)
        self.subjects = frozenset(subject for local_list in lists for subject in local_list.of)
        self.on_trial = any(local_list.mode is RuleMode.SHADOW for local_list in lists)

    def __len__(self) -> int:
        return sum(len(table) for local_list in self.lists for table in local_list.tables)

    def look(self, of: ListSubject, value: str, *, shadow: bool = False) -> LocalListMatch | None:
        """Return the entry that decides about a client, name or mail address.

        Args:
            of: what `value` is.
            value: as the mail server told it: an address, a name (of HELO also `[192.0.2.7]`), a
                mail address without <>; anything at all.
            shadow: ask the lists in shadow mode, and only these.

        Returns:
            None where no list has it. Never raises.
        """
        if of not in self.subjects or not value or len(value) > _MAX_TEXT:
            return None
        address, text = _lookup_key(of, value)
        best: tuple[int, bool] = (-1, False)
        match = None
        for local_list in self.lists:
            if of not in local_list.of or (local_list.mode is RuleMode.SHADOW) != shadow:
                continue
            for table in local_list.tables:
                narrow, entry = (
                    table.text(_forms(text)) if address is None else table.address(address)
                )
                rank = (narrow, local_list.action is ListAction.DENY)
                if narrow >= 0 and rank > best:
                    best = rank
                    match = LocalListMatch(
                        list=local_list.name,
                        action=local_list.action,
                        entry=entry,
                        of=of,
                        mode=local_list.mode,
                    )
        return match


def _lookup_key(of: ListSubject, value: str) -> tuple[Address | None, str]:
    """Return the address, or the name or mail address in normal form, that a value is.

    Empty where it is none.
    """
    if of in MAILBOXES:
        return None, _mailbox(value)
    address = plain(_literal(value) if of is ListSubject.HELO else value)
    return address, "" if address is not None or of is ListSubject.CLIENT else normal_host(value)


def _literal(helo: str) -> str:
    """The address of an address literal (RFC 5321 section 4.1.3); anything else as it is."""
    if not (helo.startswith("[") and helo.endswith("]")):
        return helo
    inside = helo[1:-1]
    return inside[5:] if inside[:5].lower() == "ipv6:" else inside


def _mailbox(value: str) -> str:
    local, at, domain = value.rpartition("@")
    host = normal_host(domain)
    return f"{local.lower()}@{host}" if at and host else ""


def _forms(text: str) -> Iterator[tuple[int, str]]:
    """Yield the entries that would hold a name or mail address in normal form, narrowest first,
    with their narrowness.
    """
    if not text:
        return
    local, at, name = text.rpartition("@")
    if at:
        if local:
            yield _WHOLE, text
        yield _EXACT, f"@{name}"
    yield _EXACT, name
    place = 0
    while place >= 0:
        suffix = name[place:].lstrip(".")
        yield len(suffix), f".{suffix}"
        place = name.find(".", place + 1)
