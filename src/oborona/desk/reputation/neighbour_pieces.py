"""Who and what stands in a message, and whether it is one of an entity's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oborona import domains
from oborona.authentication.names import fqdn
from oborona.client_network import client_network
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.names import NAMED, of_entry
from oborona.journal.entry import JournalEntry
from oborona.journal.search_hit import SearchHit
from oborona.message.shingles import ShingleType
from oborona.reputation.networks import plain

HELO: Final = 0
"""A kind of its own here: nothing is decided by what a client calls itself."""
MAX_PIECE: Final = 250  # characters; longer ones are nobody's name

NeighbourKey = tuple[int, str]
"""Kind of an entity, or `HELO`, and its piece in the form in which it is counted."""


def pieces_beside(hit: SearchHit | None, entry: JournalEntry | None) -> Iterator[NeighbourKey]:
    """Yield who and what stands in a message, or in refusals before the content.

    Args:
        hit: the row of a search; None = it was not searched for.
        entry: the whole of it; None = it was refused before, or is purged.
    """
    helo = entry.helo if entry is not None else hit.helo if hit is not None else ""
    if helo:
        yield HELO, helo[:MAX_PIECE].lower()
    if entry is not None:
        for kind in NAMED:
            for piece in of_entry(entry, kind):
                if len(piece) <= MAX_PIECE:
                    yield kind, piece
    elif hit is not None:
        yield from _of_refused(hit)


def _of_refused(hit: SearchHit) -> Iterator[NeighbourKey]:
    if plain(hit.client) is not None:
        yield ShingleType.CLIENT_IP, hit.client
        yield ShingleType.CLIENT_NETWORK, client_network(hit.client)
    if hit.login:
        yield ShingleType.ACCOUNT, hit.login.lower()[:MAX_PIECE]
    domain = domain_of(hit.sender)
    if domain:  # nobody has proved it
        yield ShingleType.AUTHOR_DOMAIN, domain


def is_of(named: EntityName, hit: SearchHit | None, entry: JournalEntry | None) -> bool:
    """Return whether a message is one with an entity in it: a search finds also what is like it."""
    if entry is not None and (
        named.shingle in entry.shingles
        or (named.type in NAMED and named.piece in of_entry(entry, ShingleType(named.type)))
    ):
        return True
    if hit is None:
        return False
    senders = (hit.sender, mailbox_of(hit.header_from))
    match named.type:
        case ShingleType.CLIENT_IP:
            return hit.client == named.piece
        case ShingleType.CLIENT_NETWORK:
            return True  # the search compares addresses
        case ShingleType.AUTHOR | ShingleType.PROVED_SENDER:
            return named.piece in {sender.lower() for sender in senders}
        case ShingleType.AUTHOR_DOMAIN:
            return named.piece in {domain_of(sender) for sender in senders}
        case ShingleType.ACCOUNT:
            return hit.login.lower() == named.piece
        case _:
            return False


def mailbox_of(header_from: str) -> str:
    """Return the address of a mailbox as the journal has it, with or without a name."""
    return header_from.rpartition("<")[2].rstrip("> ")


def domain_of(mailbox: str) -> str:
    """Return the domain that was registered of a mailbox; empty = it has none."""
    normal = domains.normal_host(fqdn(mailbox.rpartition("@")[2]))
    if not normal or "." not in normal or plain(normal) is not None:
        return ""
    return domains.registrable(normal)
