"""The client that a connection counts for, for limits per client and lists of allowed networks."""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import Final

from oborona.reputation.networks import NetworkSet, plain

_NETWORK: Final = 64  # bits of an IPv6 address that one customer is given whole
_CRED: Final = struct.Struct("3i")  # pid, uid, gid


def client_key(peer: socket.socket) -> str:
    """Return a name for the client of an accepted socket: its IPv4 address, the /64 of its IPv6
    address, or the user at the other end of a socket file.

    Empty where the kernel does not say, for the client is gone.
    """
    try:
        if peer.family == socket.AF_UNIX:
            _, uid, _ = _CRED.unpack(
                peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CRED.size)
            )
            return f"user {uid}"
        host: str = peer.getpeername()[0]
    except OSError:
        return ""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address), _NETWORK), strict=False))
    return str(address)


def peer_address(peer: socket.socket) -> str:
    """Return the address at the other end of an accepted socket, as doors tell a client's.

    Empty of a socket file, and where the kernel does not say.
    """
    if peer.family == socket.AF_UNIX:
        return ""
    try:
        host: str = peer.getpeername()[0]
    except OSError:
        return ""
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def is_in_networks(peer: socket.socket, allowed: NetworkSet) -> bool:
    """Tell whether an accepted socket comes from one of these networks.

    Who opens a socket file does, who is gone does not.
    """
    if peer.family == socket.AF_UNIX:
        return True
    try:
        host: str = peer.getpeername()[0]
    except OSError:
        return False
    address = plain(host.partition("%")[0])
    return address is not None and address in allowed
