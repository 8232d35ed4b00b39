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
from collections.abc import Callable
from typing import Any, Final

import msgspec

from oborona import domains
from oborona.authentication.names import fqdn
from oborona.desk.refusals import UnusableValueError
from oborona.desk.shingle import shingle_of
from oborona.message.sender_pieces import client_network
from oborona.message.shingle_name import name_of, type_name
from oborona.message.shingles import Hasher, ShingleType
from oborona.message.unique_pairs import entity_recipients
from oborona.policy.signatures import BrokenSignature, Signature, SignatureFlag, SignatureKind
from oborona.policy.signatures.check import entity
from oborona.reputation.networks import network, plain
from oborona.types import Shingle

MAX_ENTITY: Final = 1000  # characters
MAX_LOCAL: Final = 64  # characters before the @, RFC 5321 section 4.5.3.1.1
MAX_AS: Final = (1 << 32) - 1

_AS: Final = re.compile(r"as([0-9]{1,10})", re.IGNORECASE)
_CHECKSUM: Final = re.compile(r"[0-9a-f]{64}")
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
        return entity_of(kind, _piece(kind, value.strip()), hasher)
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


def _piece(kind: ShingleType, value: str) -> str:
    """Return an entity in the form in which it is counted.

    Raises:
        ValueError: it is none of its kind.
    """
    read = _READ.get(kind)
    if read is None:
        return _as_signature(kind, value)
    piece = read(value)
    if not piece:
        raise ValueError(_FORMS[kind])
    return piece


def _address(value: str) -> str:
    address = plain(value)
    return "" if address is None else str(address)


def _network(value: str) -> str:
    parsed = network(value)
    if parsed.prefixlen != (24 if parsed.version == 4 else 64):
        raise ValueError(
            "counted are networks of /24 (IPv4) and /64 (IPv6); of others `[[list]]` of "
            "the policy speaks"
        )
    return client_network(str(parsed.network_address))


def _as_number(value: str) -> str:
    digits = value.upper().removeprefix("AS")
    valid = (
        digits.isascii() and digits.isdigit() and len(digits) <= 10 and 0 < int(digits) <= MAX_AS
    )
    return str(int(digits)) if valid else ""


def _mailbox(value: str) -> str:
    local, sign, domain = value.removeprefix("<").removesuffix(">").rpartition("@")
    normal = fqdn(domain)
    valid = (
        sign
        and 0 < len(local) <= MAX_LOCAL
        and domains.normal_host(normal)
        and not re.search(r"\s", local)
    )
    return f"{local.lower()}@{normal}" if valid else ""


def _domain(value: str) -> str:
    normal = domains.normal_host(value.removeprefix("."))
    if not normal or "." not in normal or plain(normal) is not None:
        return ""
    domain = domains.registrable(normal)
    if domain != normal:
        raise ValueError(f"the domain that somebody registered is {domain}: write that")
    if not domains.under_known_suffix(normal) and domains.under_known_suffix(f"a.{normal}"):
        raise ValueError("this is a public suffix: everybody's domains lie below it")
    return domain


def _link(value: str) -> str:
    normal = domains.normal_host(value)
    # links may lead to bare addresses
    return normal if plain(normal) is not None else _domain(value)


def _account(value: str) -> str:
    return value.lower()


def _file(value: str) -> str:
    return value.lower() if _CHECKSUM.fullmatch(value.lower()) else ""


_READ: Final[dict[ShingleType, Callable[[str], str]]] = {
    ShingleType.CLIENT_IP: _address,
    ShingleType.CLIENT_NETWORK: _network,
    ShingleType.AS_NUMBER: _as_number,
    ShingleType.AUTHOR: _mailbox,
    ShingleType.PROVED_SENDER: _mailbox,
    ShingleType.AUTHOR_DOMAIN: _domain,
    ShingleType.LINK_DOMAIN: _link,
    ShingleType.ACCOUNT: _account,
    ShingleType.CHECKSUM: _file,
    ShingleType.PICTURE: _file,
}
_MAILBOX: Final = "write a mail address, such as ann@example.org"
_DOMAIN: Final = "write a domain, such as example.org"
_SHA256: Final = "write the SHA-256 of the file as 64 hexadecimal digits"
_FORMS: Final = {
    ShingleType.CLIENT_IP: "write an IP address, such as 192.0.2.1",
    ShingleType.CLIENT_NETWORK: "write a network, such as 192.0.2.0/24",
    ShingleType.AS_NUMBER: "write the number of an autonomous system, such as AS64496",
    ShingleType.AUTHOR: _MAILBOX,
    ShingleType.PROVED_SENDER: _MAILBOX,
    ShingleType.AUTHOR_DOMAIN: _DOMAIN,
    ShingleType.LINK_DOMAIN: _DOMAIN,
    ShingleType.ACCOUNT: "write a login",
    ShingleType.CHECKSUM: _SHA256,
    ShingleType.PICTURE: _SHA256,
}
_SIGNED: Final = {
    ShingleType.HOST: SignatureKind.HOST,
    ShingleType.URL: SignatureKind.URL,
    ShingleType.PHONE: SignatureKind.PHONE,
    ShingleType.WALLET: SignatureKind.WALLET,
    ShingleType.HANDLE: SignatureKind.HANDLE,
    ShingleType.ADDRESS: SignatureKind.ADDRESS,
    ShingleType.LIST: SignatureKind.LIST,
}


def _as_signature(kind: ShingleType, value: str) -> str:
    """Return an entity in the form in which signatures are looked for, which is that of the
    scan.
    """
    options: dict[str, Any] = {
        "id": "s1",
        "flag": SignatureFlag.SPAM,
        "kind": _SIGNED[kind],
        "value": value,
    }
    try:
        return entity(Signature(**options))[1]
    except BrokenSignature as fault:
        raise ValueError(str(fault)) from None
