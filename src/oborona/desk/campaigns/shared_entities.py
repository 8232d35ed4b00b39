"""What all messages of a campaign have in common, by name: what a signature or a pin can stand on.

Names come from what the journal keeps of links and senders, and from texts that were handed in with
reports; that a message has one is told by its shingles, which the journal keeps of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from oborona.client_network import client_network
from oborona.desk.call import CallError
from oborona.desk.reputation.entity import EntityName, entity_named
from oborona.domains import registrable
from oborona.journal.entry import JournalEntry
from oborona.message.parse import parse
from oborona.message.shingles import Hasher
from oborona.policy.signatures import (
    BrokenSignature,
    Signature,
    SignatureFlag,
    SignatureKind,
    check_signature,
)
from oborona.policy.signatures.fields import SearchFields
from oborona.recheck.engine.signature_changes import shingles_of
from oborona.reputation.networks import networks, plain
from oborona.types import Shingle

MOST: Final = 12  # signatures, and pins
TEXTS: Final = 20  # that are read
_ORDER: Final = {
    kind: place
    for place, kind in enumerate(
        (
            SignatureKind.DOMAIN, SignatureKind.PHONE, SignatureKind.WALLET, SignatureKind.HANDLE,
            SignatureKind.ADDRESS, SignatureKind.CHECKSUM, SignatureKind.HOST, SignatureKind.URL,
        )
    )
}  # fmt: skip
"""Kinds that are offered, the weightiest first."""


class SharedSignature(NamedTuple):
    """An entity that all have, as a signature of it, and its shingles."""

    signature: Signature
    shingles: tuple[Shingle, ...]


def shared_signatures(
    entries: Sequence[JournalEntry], texts: Sequence[bytes], hasher: Hasher, regions: Sequence[str]
) -> list[SharedSignature]:
    """Return entities that all messages have, as signatures of spam.

    Args:
        entries: of the journal.
        texts: of messages of the campaign that are kept.
        hasher: holds the site's secret.
        regions: whose telephone numbers may stand without their country.
    """
    pieces = [frozenset(entry.shingles) for entry in entries if entry.shingles]
    found: dict[tuple[SignatureKind, str], SharedSignature] = {}
    for kind, value in _named(entries, texts, regions):
        try:
            signature = check_signature(
                Signature(id="s1", flag=SignatureFlag.SPAM, kind=kind, value=value)
            )
        except BrokenSignature:
            continue  # a public suffix, a telephone that can't be
        shingles = shingles_of(signature, hasher)
        if pieces and all(not some.isdisjoint(shingles) for some in pieces):
            found[kind, value] = SharedSignature(signature, shingles)
    ranked = sorted(found, key=lambda pair: (_ORDER[pair[0]], pair[1]))
    return [found[pair] for pair in ranked[:MOST]]


def shared_pins(
    entries: Sequence[JournalEntry], names: Iterable[Signature], hasher: Hasher, own: str
) -> list[EntityName]:
    """Return entities that all messages have and that a judgement can hang on.

    Args:
        entries: of the journal.
        names: of entities in the text that all have.
        hasher: holds the site's secret.
        own: networks of the site, with blanks between them: what they send is not theirs.
    """
    pieces = [frozenset(entry.shingles) for entry in entries if entry.shingles]
    if not pieces:
        return []
    common = frozenset.intersection(*pieces)
    found = list[EntityName]()
    for text in dict.fromkeys((*_senders(entries, own), *map(_typed, names))):
        try:
            named = entity_named(text, hasher)
        except CallError:
            continue
        if named.judged and named.shingle in common and named not in found:
            found.append(named)
    return found[:MOST]


def _named(
    entries: Sequence[JournalEntry], texts: Sequence[bytes], regions: Sequence[str]
) -> list[tuple[SignatureKind, str]]:
    """Return names of entities that may be in all messages."""
    named: dict[tuple[SignatureKind, str], None] = {}
    for entry in entries[:1]:  # what all have, the first has
        for host in _texts(entry.facts.get("links_hosts")):
            named[SignatureKind.DOMAIN, registrable(host)] = None
            named[SignatureKind.HOST, host] = None
    read: list[set[tuple[SignatureKind, str]]] = []
    for raw in texts[:TEXTS]:
        fields = SearchFields(parse(raw, regions=tuple(regions)), headers=False)
        read.append(
            {
                (SignatureKind(kind), value)
                for (kind, value), header in fields.entities()
                if not header and kind in _ORDER and _is_whole(kind, value)
            }
        )
    if read:
        named |= dict.fromkeys(set.intersection(*read))
    # what does not print is no name that anybody could tick
    return [pair for pair in named if pair[1] and pair[1].isprintable()]


def _is_whole(kind: str, value: str) -> bool:
    """Tell whether a name is offered: of domains the one that somebody registered."""
    return kind != SignatureKind.DOMAIN or registrable(value) == value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list | tuple | set | frozenset):
        return []
    return sorted(one for one in value if isinstance(one, str))


def _senders(entries: Sequence[JournalEntry], own: str) -> list[str]:
    """Return who may have sent all messages: addresses, networks, domains, envelope senders."""
    entry = entries[0]
    names = list[str]()
    address = plain(entry.client_ip)
    if address is not None and address not in networks(own):
        names += [client_network(entry.client_ip), entry.client_ip]
    mailbox = entry.header_from.rpartition("<")[2].rstrip(">").strip()
    if "@" in mailbox:
        names += [registrable(mailbox.rpartition("@")[2].lower()), mailbox]
    names += [f"sender:{entry.sender}"] if entry.sender else []
    return names


def _typed(signature: Signature) -> str:
    """Return an entity as a pin names it."""
    kind = {
        SignatureKind.DOMAIN: "link", SignatureKind.ADDRESS: "contact",
        SignatureKind.CHECKSUM: "file",
    }.get(signature.kind, signature.kind.value)  # fmt: skip
    return f"{kind}:{signature.value}"
