"""The site's own clients: those exempt from DNS lists, SPF, DMARC and RepIP."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Final

from oborona.message.hashing import ShingleType
from oborona.types import Client, CounterPrefix, Envelope, Shingle

# Python's is_private counts documentation and benchmark networks too, which are nobody's home
# network.
_PRIVATE: Final = tuple(
    map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)

_ACCOUNT: Final = int(ShingleType.ACCOUNT)
# the second is of Linux distributions' own making
_NOWHERE: Final = frozenset({"localhost", "localdomain"})


def is_own(envelope: Envelope) -> bool:
    """Tell whether mail comes from one of ours: such clients are no matter of DNS lists, SPF, DMARC
    and RepIP.
    """
    return envelope.own or bool(envelope.login) or is_near(envelope.client)


def direction(envelope: Envelope) -> CounterPrefix:
    """Return the direction of a message, under which it is counted: OUT from ours, to whomever; IN
    from anybody else.

    Ours are those who are proved: by a login, a network of the site, a submission port.  What comes
    from this machine or a private network may be anybody's: fetchmail, a container, a relay inside.
    """
    return CounterPrefix.OUT if envelope.own or envelope.login else CounterPrefix.IN


def opposite(prefix: CounterPrefix) -> CounterPrefix:
    """Return the other direction."""
    return CounterPrefix.IN if prefix is CounterPrefix.OUT else CounterPrefix.OUT


def direction_of_pieces(pieces: Iterable[Shingle]) -> CounterPrefix:
    """Return the direction of a message of which the pieces alone are left: what an account sent
    has it among them.

    Mail of our own networks without a login has no such piece, and is taken for inbound here.
    """
    sent = any(piece.type == _ACCOUNT for piece in pieces)
    return CounterPrefix.OUT if sent else CounterPrefix.IN


def is_program(envelope: Envelope) -> bool:
    """Tell whether mail comes from a program of the mail server's own machine: by `sendmail`, as
    Postfix shows it (loopback) or Exim (no address, and the program's Unix user as login), or by
    SMTP on loopback without a login.

    A message of `sendmail` that is put off is tried again by Postfix' pickup at once, and again;
    Exim bounces it.
    """
    client = envelope.client
    if envelope.login:
        return not client.ip and not client.unknown
    return is_loopback(client.ip)


def own_name(site: str, server: str) -> str:
    """Return the name that we go by: the site's.

    Where that is none that the Internet could know, what the mail server calls itself.

    Args:
        site: as the settings or the host have it.
        server: as the mail server says; empty = it does not.
    """
    return site if not server or is_qualified(site) else server


def is_qualified(name: str) -> bool:
    """Tell whether a host name may be one of the Internet: "localhost" and names without a dot are
    not.
    """
    labels = name.lower().rstrip(".").split(".")
    return len(labels) > 1 and all(labels) and labels[-1] not in _NOWHERE


def is_near(client: Client) -> bool:
    """Tell whether a client is no matter of the Internet: by its address, or as a program of the
    mail server's own machine. Whom nobody knows may be anywhere.
    """
    return not client.unknown and is_local(client.ip)


@lru_cache(maxsize=4096)
def is_loopback(text: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def is_local(text: str) -> bool:
    """Tell whether an address is loopback, link-local or private, or none at all."""
    try:
        address = ip_address(text)
    except ValueError:
        return True
    return (
        address.is_loopback
        or address.is_link_local
        or any(address in network for network in _PRIVATE)
    )
