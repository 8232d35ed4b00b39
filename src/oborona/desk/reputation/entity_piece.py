"""What somebody typed of an entity, in the form in which entities of its kind are counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from oborona import domains
from oborona.authentication.names import fqdn
from oborona.client_network import client_network
from oborona.message.shingles import ShingleType
from oborona.policy.signatures import BrokenSignature, Signature, SignatureFlag, SignatureKind
from oborona.policy.signatures.check import entity
from oborona.reputation.networks import network, plain

MAX_LOCAL: Final = 64  # characters before the @, RFC 5321 section 4.5.3.1.1
MAX_AS: Final = (1 << 32) - 1
_CHECKSUM: Final = re.compile(r"[0-9a-f]{64}")


def read_piece(kind: ShingleType, value: str) -> str:
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
