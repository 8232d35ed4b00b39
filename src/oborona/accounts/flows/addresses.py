"""IP addresses as numbers that columns hold, and which of them are ours.

An IPv4 address is its own number.  An IPv6 address is 2^32 and its place in a table of those that
were met; an IPv4 address mapped into IPv6 is the IPv4 address.  So a column of addresses takes 8
octets a row, whatever the family, and equal addresses are equal numbers.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, ip_network
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.reputation.networks import Network

AddressIds = npt.NDArray[np.int64]
_FIRST_V6: Final = 1 << 32
_V4_HOST: Final = 8  # bits of an address within its network
_V4_NETWORKS: Final = 1 << 24  # all numbers of theirs are below
_V6_NETWORK: Final = 6  # octets: what one site gets (RFC 6177)
_MAPPED: Final = b"\0" * 10 + b"\xff\xff"
_MAPPED_FIRST: Final = 0xFFFF << 32

NEVER_OURS: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "224.0.0.0/3",
        "::/127",
        "fc00::/7",
        "fe80::/10",
        "ff00::/8",
    )
)
"""Private, loopback and link-local addresses, and those of no host: many machines have the same
ones, so that a flow from there names nobody.

Source: RFC 1122 section 3.2.1.3; RFC 1918; RFC 3927; RFC 4193; RFC 4291; RFC 6598.
"""


class AddressTable:
    """The numbers of addresses; IPv6 addresses that were met are kept for its life."""

    def __init__(self) -> None:
        self._v6: dict[bytes, int] = {}
        self._octets: list[bytes] = []

    def id_of(self, text: str | bytes) -> int:
        """Return the number of an address in text form.

        Raises:
            ValueError: it is no address.
        """
        if isinstance(text, bytes):
            text = text.decode("ascii")
        try:
            if ":" not in text:
                return int.from_bytes(socket.inet_pton(socket.AF_INET, text), "big")
            octets = socket.inet_pton(socket.AF_INET6, text)
        except OSError as error:
            raise ValueError(f"{text[:50]!r} is no address") from error
        return self._id_of_v6(octets)

    def id_of_bits(self, bits: int) -> int:
        """Return the number of an IPv6 address, or an IPv4 address mapped into it, by its 128 bits.

        Raises:
            ValueError: it has more of them, or is negative.
        """
        if bits >> 32 == 0xFFFF:  # most are
            return bits & 0xFFFF_FFFF
        try:
            return self._id_of_v6(bits.to_bytes(16, "big"))
        except OverflowError as error:
            raise ValueError(f"{bits} is no address") from error

    def _id_of_v6(self, octets: bytes) -> int:
        if octets.startswith(_MAPPED):
            return int.from_bytes(octets[-4:], "big")
        number = self._v6.get(octets)
        if number is None:
            number = self._v6[octets] = _FIRST_V6 + len(self._octets)
            self._octets.append(octets)
        return number

    def text_of(self, number: int) -> str:
        """Return the canonical text of an address (RFC 5952) by its number."""
        if number < _FIRST_V6:
            return socket.inet_ntop(socket.AF_INET, number.to_bytes(4, "big"))
        return socket.inet_ntop(socket.AF_INET6, self._octets[number - _FIRST_V6])

    def networks_of(self, numbers: AddressIds) -> AddressIds:
        """Return a number for the /24 or /48 network of each address; the same network, the same
        number.
        """
        found = numbers >> _V4_HOST
        of_v6 = numbers >= _FIRST_V6
        if of_v6.any():
            known: dict[bytes, int] = {}
            found[of_v6] = [
                _V4_NETWORKS
                + known.setdefault(self._octets[number - _FIRST_V6][:_V6_NETWORK], len(known))
                for number in numbers[of_v6].tolist()
            ]
        return found

    def v6_from(self, place: int) -> list[int]:
        """Return the IPv6 addresses that were met, as integers of 128 bits, from a place on."""
        return [int.from_bytes(octets, "big") for octets in self._octets[place:]]


class OwnSources:
    """Tells which addresses of a table are ours.

    Args:
        networks: of the site and of its accounts; any order, they may overlap.
        table: of the addresses that are asked about.
    """

    def __init__(self, networks: Iterable[Network], table: AddressTable) -> None:
        ours = list(networks)
        self._v4 = _less(
            _ranges([network for network in ours if isinstance(network, IPv4Network)]),
            _ranges([network for network in NEVER_OURS if isinstance(network, IPv4Network)]),
        )
        self._v6 = _less(
            _ranges([network for network in ours if not isinstance(network, IPv4Network)]),
            _ranges([network for network in NEVER_OURS if not isinstance(network, IPv4Network)]),
        )
        self._edges = np.array([edge for pair in self._v4 for edge in pair], dtype=np.int64)
        self._table = table
        self._known_v6 = np.empty(0, dtype=bool)

    def select(self, ids: AddressIds) -> npt.NDArray[np.bool_]:
        """Return which of the addresses are ours."""
        # edges are first, behind the last, first, ...: inside after an odd number of them
        ours: npt.NDArray[np.bool_] = np.searchsorted(self._edges, ids, side="right") % 2 == 1
        of_v6 = ids >= _FIRST_V6
        if of_v6.any():
            fresh = self._table.v6_from(len(self._known_v6))
            if fresh:
                found = np.fromiter(map(self._is_own_v6, fresh), dtype=bool, count=len(fresh))
                self._known_v6 = np.concatenate([self._known_v6, found])
            ours[of_v6] = self._known_v6[ids[of_v6] - _FIRST_V6]
        return ours

    def mapped_ranges(self) -> Ranges:
        """Return our addresses as ranges of IPv6, IPv4 mapped into it.

        Source: RFC 4291 section 2.5.5.2.
        """
        of_v4 = [(first + _MAPPED_FIRST, behind + _MAPPED_FIRST) for first, behind in self._v4]
        return _less(self._v6, [(_MAPPED_FIRST, _MAPPED_FIRST + _FIRST_V6)]) + of_v4

    def _is_own_v6(self, address: int) -> bool:
        return any(first <= address < behind for first, behind in self._v6)


Ranges = list[tuple[int, int]]
"""First address, and the one behind the last; ascending, apart from each other."""


def _ranges(networks: Sequence[Network]) -> Ranges:
    merged: Ranges = []
    for first, behind in sorted(
        (int(network.network_address), int(network.broadcast_address) + 1) for network in networks
    ):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(behind, merged[-1][1]))
        else:
            merged.append((first, behind))
    return merged


def _less(ranges: Ranges, without: Ranges) -> Ranges:
    """Return ranges without those parts that lie in others."""
    left: Ranges = []
    for first, behind in ranges:
        at = first
        for gap_first, gap_behind in without:
            if gap_behind <= at or gap_first >= behind:
                continue
            if gap_first > at:
                left.append((at, gap_first))
            at = max(at, gap_behind)
        if at < behind:
            left.append((at, behind))
    return left
