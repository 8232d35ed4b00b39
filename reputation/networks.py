"""IP networks in masses, and which of them is the narrowest around an address.

CIDR networks lie inside each other or apart, never across.  Sorted by first address, wide before
narrow, the narrowest network around an address is the last one that begins at or before it, or one
of those around that one.  So a table holds for each network its first address, its length, and the
place of the next wider network around it: 9 octets for IPv4, 21 for IPv6.  A look-up is one binary
search and a few steps up.

An IPv4 address mapped into IPv6 (::ffff:192.0.2.1) is the IPv4 address, in tables and when asked
for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Columns = tuple[npt.NDArray[np.uint32 | np.uint64], ...]

_WORD: Final = 64
_ALL: Final = (1 << _WORD) - 1
_AT_ONCE: Final = 1 << 16
_MAPPED: Final = IPv6Network("::ffff:0:0/96")


# a client's address is looked at by several, and lists answer in few codes
@lru_cache(maxsize=4096)
def plain(text: str) -> Address | None:
    """Return the address that a text is, a mapped IPv4 address as itself; None when it is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or (None if address.scope_id else address)
    return address


def network(text: str) -> Network:
    """Return the network that a text is; an address is a network of its own.

    Raises:
        ValueError: what is wrong with it, in words for an admin.
    """
    kind = IPv6Network if ":" in text else IPv4Network
    try:
        parsed = kind(text)
    except ValueError:
        try:
            wider = kind(text, strict=False)
        except ValueError:
            raise ValueError(
                "is no address and no network, such as 192.0.2.0/24 or 2001:db8::/32"
            ) from None
        raise ValueError(f"has bits set behind its length; the network is {wider}") from None
    if isinstance(parsed, IPv6Network):
        if parsed.network_address.scope_id:
            raise ValueError("has a zone, which means nothing on other machines")
        if parsed.prefixlen >= _MAPPED.prefixlen and parsed.subnet_of(_MAPPED):
            return IPv4Network((int(parsed.network_address) & 0xFFFFFFFF, parsed.prefixlen - 96))
    return parsed


class _Family:
    """The networks of one address family.

    Args:
        bits: 32 or 128.
        columns: of the first addresses, in words, highest first; sorted, with the lengths as the
            last key, each network once.
        lengths: of the networks.
    """

    def __init__(self, bits: int, columns: Columns, lengths: npt.NDArray[np.uint8]) -> None:
        self._bits = bits
        self._columns = [column.data for column in columns]
        self._lengths = lengths.data
        self._around = _around(columns, lengths, _masks(bits)).data

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return (
            self._lengths.nbytes
            + self._around.nbytes
            + sum(column.nbytes for column in self._columns)
        )

    def find(self, value: int) -> tuple[int, int] | None:
        """Return first address and length of the narrowest network around an address."""
        at = self._last(value)
        while at >= 0:
            length, first = self._lengths[at], self._first(at)
            if (value ^ first) >> self._bits - length == 0:
                return first, length
            at = self._around[at]
        return None

    def _first(self, at: int) -> int:
        first = 0
        for column in self._columns:
            first = first << _WORD | column[at]
        return first

    def _last(self, value: int) -> int:
        """The place of the last network that begins at or before an address, -1 for none."""
        if self._bits == 32:
            return bisect_right(self._columns[0], value) - 1
        high, low = value >> _WORD, value & _ALL
        end = bisect_right(self._columns[0], high)
        if end and self._columns[0][end - 1] == high:
            start = bisect_right(self._columns[0], high - 1, 0, end)
            return bisect_right(self._columns[1], low, start, end) - 1
        return end - 1


def _masks(bits: int) -> Columns:
    """The network masks by length, in words."""
    whole = [(1 << bits) - (1 << bits - length) for length in range(bits + 1)]
    if bits == 32:
        return (np.array(whole, np.uint32),)
    return (
        np.array([mask >> _WORD for mask in whole], np.uint64),
        np.array([mask & _ALL for mask in whole], np.uint64),
    )


def _around(
    columns: Columns, lengths: npt.NDArray[np.uint8], masks: Columns
) -> npt.NDArray[np.int32]:
    """Return for each of the sorted networks the place of the next wider one around it, -1 for
    none.

    The candidate of each is first the one before it.  A candidate that does not lie around it gives
    way to its own candidate, for what lies around a network lies around the candidate too.  So it
    goes for some thousands at a time: as all of them step at once, steps double.
    """
    around = np.arange(-1, len(lengths) - 1, dtype=np.int32)
    for begin in range(1, len(lengths), _AT_ONCE):
        looking = np.arange(begin, min(begin + _AT_ONCE, len(lengths)), dtype=np.int32)
        while looking.size:
            candidates = around[looking]
            length = lengths[candidates]
            apart = np.zeros(looking.size, bool)
            for column, mask in zip(columns, masks, strict=True):
                apart |= (column[looking] & mask[length]) != column[candidates]
            looking = looking[apart]
            around[looking] = around[around[looking]]
            looking = looking[around[looking] >= 0]
    return around


def _four(starts: npt.NDArray[np.uint32], lengths: npt.NDArray[np.uint8]) -> _Family:
    # In place where it can be: what is freed between large arrays that stay, the process keeps.
    keys = starts.astype(np.uint64)
    keys <<= np.uint64(8)
    keys |= lengths
    keys.sort()
    first = _first_of_equal(keys)
    if not first.all():
        keys = keys[first]
    starts, lengths = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint8)
    np.right_shift(keys, np.uint64(8), out=starts, casting="unsafe")
    np.bitwise_and(keys, np.uint64(0xFF), out=lengths, casting="unsafe")
    return _Family(32, (starts,), lengths)


def _six(
    high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64], lengths: npt.NDArray[np.uint8]
) -> _Family:
    keys: list[npt.NDArray[Any]] = [lengths, low, high]
    order = np.lexsort(keys)
    high, low, lengths = high[order], low[order], lengths[order]
    fresh = _first_of_equal(high) | _first_of_equal(low) | _first_of_equal(lengths)
    return _Family(128, (high[fresh], low[fresh]), lengths[fresh])


def _first_of_equal(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each differs from the one before it."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


class PackedNetworks(NamedTuple):
    """Networks as arrays."""

    starts4: npt.NDArray[np.uint32]  # first addresses of IPv4 networks
    lengths4: npt.NDArray[np.uint8]
    high6: npt.NDArray[np.uint64]  # first addresses of IPv6 networks, upper and lower half
    low6: npt.NDArray[np.uint64]
    lengths6: npt.NDArray[np.uint8]


def pack(networks: Sequence[Network]) -> PackedNetworks:
    """Return networks of both families as arrays."""
    four = [one for one in networks if one.version == 4]
    six = [one for one in networks if one.version == 6]
    starts = [int(net.network_address) for net in six]
    return PackedNetworks(
        np.array([int(net.network_address) for net in four], np.uint32),
        np.array([net.prefixlen for net in four], np.uint8),
        np.array([start >> _WORD for start in starts], np.uint64),
        np.array([start & _ALL for start in starts], np.uint64),
        np.array([net.prefixlen for net in six], np.uint8),
    )


class NetworkSet:
    """A set of networks.

    Args:
        parts: in any order, duplicates allowed.
    """

    def __init__(self, parts: Sequence[PackedNetworks] = ()) -> None:
        parts = parts or (pack(()),)
        starts4, lengths4, high6, low6, lengths6 = map(np.concatenate, zip(*parts, strict=True))
        self._four = _four(starts4, lengths4)
        self._six = _six(high6, low6, lengths6)

    def __len__(self) -> int:
        return len(self._four) + len(self._six)

    @property
    def nbytes(self) -> int:
        """Memory that the tables take, in octets."""
        return self._four.nbytes + self._six.nbytes

    def find(self, address: Address) -> Network | None:
        """Return the narrowest network around an address, such as `plain` gives it."""
        if isinstance(address, IPv4Address):
            match = self._four.find(int(address))
            return None if match is None else IPv4Network(match)
        match = self._six.find(int(address))
        return None if match is None else IPv6Network(match)

    def __contains__(self, address: Address) -> bool:
        return self.find(address) is not None


NOWHERE: Final = NetworkSet()
"""No network at all."""


def networks(text: str) -> NetworkSet:
    """Return the networks that an admin wrote with spaces or commas between them.

    Raises:
        ValueError: which of them is wrong, and why.
    """
    parsed = []
    for part in text.replace(",", " ").split():
        try:
            parsed.append(network(part))
        except ValueError as fault:
            raise ValueError(f"{part[:60]} {fault}") from None
    return NetworkSet((pack(parsed),))
