"""All addresses of the site that the world can see, in an order that survives changes of networks.

An IPv6 network has more addresses than can be asked about, and so has a very large one of IPv4:
those are left out, and named.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Final

from oborona.reputation.dnsbl import public
from oborona.reputation.networks import Address, Network, plain

MOST: Final = 1 << 16  # addresses of one network
MOST_IN_ALL: Final = 1 << 18


class OwnAddresses:
    """The addresses of some networks.

    Args:
        networks: they may lie in each other.

    Attributes:
        left_out: networks that are too large, as text.
        total: addresses that are not left out.
    """

    def __init__(self, networks: Iterable[Network]) -> None:
        whole = set(networks)
        merged: list[Network] = [
            *collapse_addresses(one for one in whole if isinstance(one, IPv4Network)),
            *collapse_addresses(one for one in whole if isinstance(one, IPv6Network)),
        ]
        self.left_out: list[str] = []
        self.total = 0
        self._networks: list[Network] = []
        for network in merged:
            if not public(network.network_address):
                continue  # nobody in the world sees it
            size = network.num_addresses
            if size > MOST or self.total + size > MOST_IN_ALL:
                self.left_out.append(str(network))
                continue
            self._networks.append(network)
            self.total += size
        self._firsts = [_key(network.network_address) for network in self._networks]

    def has(self, text: str) -> bool:
        """Tell whether an address is one of them."""
        address = plain(text)
        if address is None:
            return False
        place = bisect_right(self._firsts, _key(address)) - 1
        return place >= 0 and address in self._networks[place]

    def after(self, last: str, most: int) -> list[str]:
        """Return the addresses that follow one in their order, as canonical text.

        Args:
            last: need not be among them any more; "" = begin.
            most: at most so many; fewer: the last is among them.
        """
        found = list[str]()
        address = plain(last) if last else None
        place = 0 if address is None else max(bisect_right(self._firsts, _key(address)) - 1, 0)
        for network in self._networks[place:]:
            offset = 0
            if address is not None and address in network:
                offset = int(address) - int(network.network_address) + 1
            elif address is not None and _key(address) > _key(network.broadcast_address):
                continue
            for number in range(offset, network.num_addresses):
                if len(found) == most:
                    return found
                found.append(str(network[number]))
        return found


def _key(address: Address) -> tuple[int, int]:
    return address.version, int(address)
