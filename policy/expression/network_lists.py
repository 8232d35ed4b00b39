"""Lists of networks and of domains, made when a rule is compiled, and asked while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from oborona.domains import MAX_HOST, normal_host

_MAX_ADDRESS: Final = 45  # characters of an IPv6 address in its longest form


def _no_network(text: str) -> str:
    """Return what is wrong with a text that is no network."""
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        return f'"{text[:60]}" is no address and no network; write it as "192.0.2.0/24"'
    return f'"{text}" has bits set behind its length; the network is {meant}'


class NetworkList:
    """Networks, by the lengths of their prefixes.

    Args:
        texts: such as 192.0.2.0/24; an address is a network of one.

    Raises:
        ValueError: one is no network.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        spans: dict[tuple[int, int], set[int]] = {}
        for text in texts:
            try:
                network = ip_network(text)
            except ValueError:
                raise ValueError(_no_network(text)) from None
            shift = network.max_prefixlen - network.prefixlen
            spans.setdefault((network.version, shift), set()).add(
                int(network.network_address) >> shift
            )
        self._found = tuple(
            (version, shift, frozenset(prefixes)) for (version, shift), prefixes in spans.items()
        )

    def has(self, text: str) -> bool:
        """Tell whether a text is an address in one of them.

        An IPv4 address written in IPv6 is that IPv4 address.
        """
        if len(text) > _MAX_ADDRESS:
            return False
        try:
            address: IPv4Address | IPv6Address = ip_address(text)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        number = int(address)
        return any(
            version == address.version and number >> shift in prefixes
            for version, shift, prefixes in self._found
        )


class DomainList:
    """Domains with all names below them.

    Args:
        texts: such as example.org; other letters are turned into those of the DNS.

    Raises:
        ValueError: one is no name.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        names = [normal_host(text) for text in texts]
        for text, name in zip(texts, names, strict=True):
            if not name:
                raise ValueError(f'"{text[:60]}" is no domain; write it as "example.org"')
        self._names = frozenset(names)

    def has(self, text: str) -> bool:
        """Tell whether a name, or the domain of a mail address, is one of them or below one."""
        name = text[-MAX_HOST - 1 :].rpartition("@")[2].lower()
        if len(name) > MAX_HOST:
            return False
        if not name.isascii():
            name = normal_host(name)
        while name:
            if name in self._names:
                return True
            name = name.partition(".")[2]
        return False
