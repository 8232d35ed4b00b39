"""Entities as people name them: what a person types, as the scan normalises and counts it.

192.0.2.1  2001:db8::1          address of a mail server
192.0.2.0/24  2001:db8::/64     its network
AS64496                         autonomous system
ann@example.org                 author: the From address, where it was proved
example.org                     the author's domain, where it was proved
sender:  account:               envelope sender that SPF proved; login
link:  host:  url:              registrable domain, host and whole of a link
phone:  wallet:  handle:  contact:  list:  file:  picture:
TYPE:HASH                       a shingle, as `counters top` and `explain` print it
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation.entity_piece import read_piece
from oborona.desk.shingle import shingle_of
from oborona.message.shingle_name import name_of, type_name
from oborona.message.shingles import Hasher, ShingleType
from oborona.message.unique_pairs import entity_recipients
from oborona.reputation.networks import plain
from oborona.types import Shingle

MAX_ENTITY: Final = 1000  # characters

_AS: Final = re.compile(r"as([0-9]{1,10})", re.IGNORECASE)
_LABEL: Final = {
    ShingleType.CLIENT_IP: "address", ShingleType.CLIENT_NETWORK: "network", ShingleType.AS_NUMBER: "as", ShingleType.AUTHOR: "author",
    ShingleType.AUTHOR_DOMAIN: "domain", ShingleType.PROVED_SENDER: "sender", ShingleType.ACCOUNT: "account", ShingleType.LINK_DOMAIN: "link",
    ShingleType.HOST: "host", ShingleType.URL: "url", ShingleType.PHONE: "phone", ShingleType.WALLET: "wallet", ShingleType.HANDLE: "handle",
    ShingleType.ADDRESS: "contact", ShingleType.LIST: "list", ShingleType.CHECKSUM: "file", ShingleType.PICTURE: "picture",
}  # fmt: skip
"""Types that have a past worth a look, and what they are called here."""
KINDS: Final = {label: kind for kind, label in _LABEL.items()}
_BARE: Final = frozenset(
    {
        ShingleType.CLIENT_IP,
        ShingleType.CLIENT_NETWORK,
        ShingleType.AS_NUMBER,
        ShingleType.AUTHOR,
        ShingleType.AUTHOR_DOMAIN,
    }
)  # are told by how they look
REACHING: Final = frozenset(
    {
        ShingleType.AUTHOR,
        ShingleType.CLIENT_IP,
        ShingleType.AUTHOR_DOMAIN,
        ShingleType.ACCOUNT,
        ShingleType.PROVED_SENDER,
        ShingleType.LINK_DOMAIN,
        ShingleType.PHONE,
        ShingleType.WALLET,
    }
)  # whose distinct recipients are counted, `message.unique_pairs.reached`


class EntityName(msgspec.Struct, frozen=True):
    """What somebody named."""

    type: int
    piece: str  # normalised; empty = only its hash is known
    shingle: Shingle
    # what counts how many people it reaches; None = that is not counted
    recipients: Shingle | None = None

    @property
    def name(self) -> str:
        """The entity as it is typed."""
        return name_for(self.type, self.piece) if self.piece else name_of(self.shingle)

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        return kind_of(self.type)

    @property
    def judged(self) -> bool:
        """Whether judgements hang on entities of this type: no message is judged by its list, which
        anybody can name.
        """
        return self.type in _LABEL and self.type != ShingleType.LIST


def kind_of(number: int) -> str:
    """Return what entities of a type are called."""
    label = next((label for kind, label in _LABEL.items() if kind == number), None)
    return label or type_name(number)


def name_for(number: int, piece: str) -> str:
    """Return a normalised entity as it is typed."""
    if number == ShingleType.AS_NUMBER:
        return f"AS{piece}"
    return piece if number in _BARE else f"{kind_of(number)}:{piece}"


def entity_of(number: int, piece: str, hasher: Hasher) -> EntityName:
    """Return the entity of a normalised piece."""
    if number in (ShingleType.CHECKSUM, ShingleType.PICTURE):
        return EntityName(number, piece, hasher.octets(number, bytes.fromhex(piece)))
    reached = entity_recipients(hasher, number, piece) if number in REACHING else None
    return EntityName(number, piece, hasher.shingle(number, piece), reached)


def entity_named(text: str, hasher: Hasher) -> EntityName:
    """Return the entity that a text names.

    Raises:
        UnusableValueError: it names none; the text says what is missing.
    """
    text = text.strip()
    if not text or len(text) > MAX_ENTITY or not text.isprintable():
        raise UnusableValueError(
            f"{text[:60]!r} is no entity: write an address, network, domain or the like"
        )
    shingle = shingle_of(text)
    if shingle is not None:
        return EntityName(shingle.type, "", shingle)
    label, colon, value = text.partition(":")
    kind = KINDS.get(label.lower()) if colon else None
    if kind is None:
        kind, value = _guessed(text), text
    try:
        return entity_of(kind, read_piece(kind, value.strip()), hasher)
    except ValueError as fault:
        raise UnusableValueError(f"{text!r}: {fault}") from None


def _guessed(text: str) -> ShingleType:
    """Return the type of what is written without its kind."""
    if "://" in text:
        return ShingleType.URL
    if plain(text) is not None:
        return ShingleType.CLIENT_IP
    if "/" in text:
        return ShingleType.CLIENT_NETWORK
    if _AS.fullmatch(text):
        return ShingleType.AS_NUMBER
    if "@" in text:
        return ShingleType.AUTHOR
    if ":" in text:
        raise UnusableValueError(
            f"{text!r}: no kind {text.partition(':')[0]!r}; there are {', '.join(KINDS)}, "
            f"and TYPE:HASH"
        )
    return ShingleType.AUTHOR_DOMAIN
