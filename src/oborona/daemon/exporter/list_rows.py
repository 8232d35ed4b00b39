"""What the local lists of a policy say of clients and senders, entry by entry.

The lists that workers ask keep hashes of names, from which nothing can be written down again; so
the files are read anew.  Which entry decides is left to who looks up: the address itself, then
networks from the narrowest to the widest; the sender, its domain, then what is above it.  Of two
that are equally narrow the one that denies is kept, as in `oborona.reputation.locallists`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from oborona.daemon.exporter.row import ALLOW, DENY, ExportRow, deny_row
from oborona.errors import StoreError
from oborona.policy.folders import PolicyFolders
from oborona.policy.load import Policy
from oborona.reputation.locallists import ListAction, LocalList, LocalLists
from oborona.reputation.locallists.entry import entry
from oborona.reputation.networks import Network
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

MOST: Final = 200_000  # entries: a table is made in memory, at some 1.5 KB each, and written whole


_Key = TypeVar("_Key", str, Network)


class ListRows(NamedTuple):
    """What lists and settings of a policy say."""

    networks: dict[Network, ExportRow]  # addresses are networks of their own
    senders: dict[str, ExportRow]  # by ann@a.example, *@a.example, .a.example
    lists: LocalLists  # to ask of an address what they would say
    refuses: bool  # anybody at all
    by_history: bool  # clients with a bad past


def list_rows(policy: Policy, where: Path | PolicyFolders) -> ListRows:
    """Return what a policy says of clients and senders by its lists.

    Args:
        policy: loaded from the folders.
        where: they are; a path stands for that folder alone.

    Raises:
        StoreError: a file can't be read, or there are more entries than `MOST`; half of a list is
            not written.
    """
    refuses, folders = policy.verdict.refuse, PolicyFolders.of(where)
    networks: dict[Network, ExportRow] = {}
    senders: dict[str, ExportRow] = {}
    for local_list in policy.local_lists.lists:
        if local_list.mode is not RuleMode.LIVE or not {
            ListSubject.CLIENT,
            ListSubject.SENDER,
        } & set(local_list.of):
            continue
        if local_list.action is ListAction.DENY and not refuses:
            continue
        for entry_key in _entries(local_list, policy, folders):
            if isinstance(entry_key, str):
                if ListSubject.SENDER in local_list.of:
                    _put(senders, _key(entry_key), _row(local_list, entry_key, "Sender"))
            elif ListSubject.CLIENT in local_list.of:
                _put(networks, entry_key, _row(local_list, network_text(entry_key), "Client"))
            if len(networks) + len(senders) > MOST:
                raise StoreError(
                    f"the local lists hold more than {MOST} entries: too many for tables"
                )
    return ListRows(
        networks, senders, policy.local_lists, refuses, refuses and policy.repip.bad == "reject"
    )


def network_text(network: Network) -> str:
    """Return a network as people write it: without its length where it is one address."""
    return (
        str(network) if network.prefixlen < network.max_prefixlen else str(network.network_address)
    )


def _put(rows: dict[_Key, ExportRow], key: _Key, row: ExportRow) -> None:
    if key not in rows or (row.verdict == DENY and rows[key].verdict == ALLOW):
        rows[key] = row


def _row(local_list: LocalList, entry_text: str, of: str) -> ExportRow:
    why = f"{local_list.name} {entry_text}"
    return deny_row(of, why) if local_list.action is ListAction.DENY else ExportRow(ALLOW, why)


def _key(name: str) -> str:
    """Return the key of a name or mail address: a domain stands for all of its addresses."""
    if name.startswith("."):
        return name
    return f"*{name}" if name.startswith("@") else name if "@" in name else f"*@{name}"


def _entries(
    local_list: LocalList, policy: Policy, folders: PolicyFolders
) -> Iterator[Network | str]:
    """Yield the entries of a list, in their normal form."""
    for text in policy.lists.get(f"local_list.{local_list.name}.entries", ()):
        yield from _entry(text)
    file = policy.lists.get(f"local_list.{local_list.name}.file", "")
    if not file:
        return
    path = folders.find(file)
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield from _entry(line.rstrip("\n"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: {error}") from error


def _entry(text: str) -> Iterator[Network | str]:
    network = entry(text)
    if network is not None:
        yield network
