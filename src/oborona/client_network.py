"""The network of a client: what counts where single addresses are cheap; pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address


@lru_cache(maxsize=4096)
def client_network(ip: str) -> str:
    """Return the /24 or /64 network of a client address in canonical text, empty when there is
    none.
    """
    try:
        address = ip_address(ip)
    except ValueError:
        return ""
    if address.version == 4:
        return ip.rpartition(".")[0] + ".0/24"
    if address.ipv4_mapped is not None:
        return client_network(str(address.ipv4_mapped))
    return str(type(address)(int(address) >> 64 << 64)) + "/64"


def client_home(ip: str) -> str:
    """Return an address as one that counts: of IPv6 the network, of which whoever has one address
    has all.
    """
    return client_network(ip) if ":" in ip and "." not in ip else ip
