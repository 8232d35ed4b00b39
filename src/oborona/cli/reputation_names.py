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

import click

from oborona.cli.reputation_entity import Entity, entity_named, entity_of
from oborona.journal.entry import Entry
from oborona.journal.queries import Reader
from oborona.message.sender_pieces import client_network
from oborona.message.shingles import Hasher, Type
from oborona.reputation.pins import Pin


class Names(NamedTuple):
    """What the journal names."""

    pieces: dict[Type, set[str]]  # normalised, by type
    shared: set[str]  # domains of links that everybody uses, as `repentity.shared` had them


_FACTS: Final = {
    Type.AUTHOR: "author",
    Type.AUTHOR_DOMAIN: "author_domain",
    Type.PROVED_SENDER: "sender_proved",
    Type.AS_NUMBER: "client_as_number",
    Type.LINK_DOMAIN: "links_domains",
    Type.HOST: "links_hosts",
    Type.PHONE: "phones",
    Type.WALLET: "wallets",
    Type.HANDLE: "handles",
    Type.ADDRESS: "addresses",
    Type.LIST: "list_id",
}
"""Facts that hold entities in the form in which they are counted."""
NAMED: Final = (*_FACTS, Type.CLIENT_IP, Type.CLIENT_NETWORK, Type.ACCOUNT)
"""Types whose entities the journal names; it does not keep whole links, nor checksums of files."""


def of_journal(path: Path, since: float, kinds: Iterable[Type]) -> Names:
    """Return what stands in the journal since a time; nothing where there is none yet.

    Args:
        path: the journal's file.
        since: Unix seconds.
        kinds: types that are asked for.

    Raises:
        StoreError: the journal can't be read.
    """
    names = Names({kind: set() for kind in kinds}, set())
    if path.exists():
        asyncio.run(_read(path, since, names))
    return names


async def _read(path: Path, since: float, names: Names) -> None:
    async with await Reader.open(path) as journal:
        async for entry in journal.since(since):
            if isinstance(entry, Entry):
                for kind, pieces in names.pieces.items():
                    pieces.update(of_entry(entry, kind))
                names.shared.update(_texts(entry.facts.get("repentity_shared")))


def of_entry(entry: Entry, kind: Type) -> Iterator[str]:
    """Yield the entities of a type that a journal entry names, in the form in which they are
    counted.
    """
    match kind:
        case Type.CLIENT_IP:
            found: Any = entry.client_ip
        case Type.CLIENT_NETWORK:
            found = client_network(entry.client_ip)
        case Type.ACCOUNT:
            found = entry.login.lower()
        case _:
            found = entry.facts.get(_FACTS[kind])
    yield from _texts(found)


def _texts(found: object) -> Iterator[str]:
    for one in found if isinstance(found, list | tuple) else (found,):
        if one:
            yield str(one)


def entities(names: Names, pins: Iterable[Pin], hasher: Hasher) -> list[Entity]:
    """Return all that is named, and what else is pinned of these types, each once."""
    found = {
        entity.shingle: entity
        for kind, pieces in names.pieces.items()
        for entity in (entity_of(kind, piece, hasher) for piece in pieces)
    }
    for pin in pins:
        if pin.type in names.pieces and pin.shingle not in found:
            found[pin.shingle] = _pinned(pin, hasher)
    return list(found.values())


def _pinned(pin: Pin, hasher: Hasher) -> Entity:
    try:
        named = entity_named(pin.name, hasher)
    except click.BadParameter:  # by its hash
        named = None
    return (
        named
        if named is not None and named.shingle == pin.shingle
        else Entity(pin.type, "", pin.shingle)
    )
