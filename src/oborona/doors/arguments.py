r"""Clients and addresses as a mail server gives them, in one form for all transports.

Bytes become text as UTF-8 (RFC 6531); what is not UTF-8 is shown with backslashes (`\xff`), never
as surrogates, so that every text can be logged, hashed and stored, and two different ones stay
different.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from oborona.errors import PeerError
from oborona.types import Client


def peer_text(data: bytes) -> str:
    """Return peer bytes as text that any encoding of ours takes."""
    return data.decode("utf-8", "backslashreplace")


def path_address(argument: str) -> str:
    """Return the address of a MAIL or RCPT argument without its angle brackets (RFC 5321 section
    4.1.2).
    """
    if argument.startswith("<") and argument.endswith(">"):
        return argument[1:-1]
    return argument


def client_at_connect(host: str, address: str, port: int) -> Client:
    """Return the SMTP client of a connect step.

    Args:
        host: verified name; "[192.0.2.1]" and "unknown" are ways to say that there is none.
        address: IPv4 or IPv6 address, the latter with or without "IPv6:"; empty = a local client.
        port: 0 = not known.

    Raises:
        PeerError: not an address.
    """
    name = host.lower().rstrip(".")
    if name.startswith("[") or name == "unknown":
        name = ""
    return Client(ip=_canonical(address), name=name, port=port)


@lru_cache(maxsize=1024)  # clients come back
def _canonical(address: str) -> str:
    if not address:
        return ""
    try:
        if ":" not in address:
            return str(IPv4Address(address))
        if address[:5].lower() == "ipv6:":
            address = address[5:]
        ip = IPv6Address(address)
    except AddressValueError as error:
        raise PeerError(f"not a client address: {address[:60]!r}") from error
    return str(ip.ipv4_mapped or ip)
