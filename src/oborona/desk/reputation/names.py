"""Names for what is counted under hashes alone: who and what stands in the journal, and what is
pinned.

The counters keep keyed hashes, from which nobody can tell an address or a domain. The journal keeps
both for as long as the counters remember, two weeks by default. So whoever wrote to this machine
and was not refused before the content has a name here; a purged journal, or mail that came to
another machine of a cluster, leaves the hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from oborona.client_network import client_network
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation.entity import EntityName, entity_named, entity_of
from oborona.journal.entry import JournalEntry
from oborona.journal.queries import JournalReader
from oborona.message.shingles import Hasher, ShingleType
from oborona.reputation.pins import Pin


class JournalNames(NamedTuple):
    """What the journal names."""

    pieces: dict[ShingleType, set[str]]  # normalised, by type
    shared: set[str]  # domains of links that everybody uses, as `repentity.shared` had them


_FACTS: Final = {
    ShingleType.AUTHOR: "author",
    ShingleType.AUTHOR_DOMAIN: "author_domain",
    ShingleType.PROVED_SENDER: "sender_proved",
    ShingleType.AS_NUMBER: "client_as_number",
    ShingleType.LINK_DOMAIN: "links_domains",
    ShingleType.HOST: "links_hosts",
    ShingleType.PHONE: "phones",
    ShingleType.WALLET: "wallets",
    ShingleType.HANDLE: "handles",
    ShingleType.ADDRESS: "addresses",
    ShingleType.LIST: "list_id",
}
"""Facts that hold entities in the form in which they are counted."""
NAMED: Final = (*_FACTS, ShingleType.CLIENT_IP, ShingleType.CLIENT_NETWORK, ShingleType.ACCOUNT)
"""Types whose entities the journal names; it does not keep whole links, nor checksums of files."""


def of_journal(path: Path, since: float, kinds: Iterable[ShingleType]) -> JournalNames:
    """Return what stands in the journal since a time; nothing where there is none yet.

    Args:
        path: the journal's file.
        since: Unix seconds.
        kinds: types that are asked for.

    Raises:
        StoreError: the journal can't be read.
    """
    names = JournalNames({kind: set() for kind in kinds}, set())
    if path.exists():
        asyncio.run(_read(path, since, names))
    return names


async def _read(path: Path, since: float, names: JournalNames) -> None:
    async with await JournalReader.open(path) as journal:
        async for entry in journal.since(since):
            if isinstance(entry, JournalEntry):
                for kind, pieces in names.pieces.items():
                    pieces.update(of_entry(entry, kind))
                names.shared.update(_texts(entry.facts.get("repentity_shared")))


def of_entry(entry: JournalEntry, kind: ShingleType) -> Iterator[str]:
    """Yield the entities of a type that a journal entry names, in the form in which they are
    counted.
    """
    match kind:
        case ShingleType.CLIENT_IP:
            value: Any = entry.client_ip
        case ShingleType.CLIENT_NETWORK:
            value = client_network(entry.client_ip)
        case ShingleType.ACCOUNT:
            value = entry.login.lower()
        case _:
            value = entry.facts.get(_FACTS[kind])
    yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    for member in value if isinstance(value, list | tuple) else (value,):
        if member:
            yield str(member)


def entities(names: JournalNames, pins: Iterable[Pin], hasher: Hasher) -> list[EntityName]:
    """Return all that is named, and what else is pinned of these types, each once."""
    by_piece = {
        entity.shingle: entity
        for kind, pieces in names.pieces.items()
        for entity in (entity_of(kind, piece, hasher) for piece in pieces)
    }
    for pin in pins:
        if pin.type in names.pieces and pin.shingle not in by_piece:
            by_piece[pin.shingle] = _pinned(pin, hasher)
    return list(by_piece.values())


def _pinned(pin: Pin, hasher: Hasher) -> EntityName:
    try:
        named = entity_named(pin.name, hasher)
    except UnusableValueError:  # by its hash
        named = None
    return (
        named
        if named is not None and named.shingle == pin.shingle
        else EntityName(pin.type, "", pin.shingle)
    )
