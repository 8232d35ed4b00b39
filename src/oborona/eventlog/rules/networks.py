"""Networks as ranges of two whole numbers of 64 bits, which every engine has.

An address is a number of 128 bits: IPv6 as it is, IPv4 as IPv6 writes it (::ffff:192.0.2.1).  Its
halves are stored less 2^63, so that they are in order as numbers with a sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network
from operator import or_
from typing import Final, NamedTuple

import ibis
import ibis.expr.types as ir
import pyarrow as pa

_HALF: Final = 64
_SIGN: Final = 1 << 63
_LOW: Final = (1 << _HALF) - 1
_MAPPED: Final = 0xFFFF << 32  # what stands before an IPv4 address in IPv6
_LAST_MAPPED: Final = _MAPPED | 0xFFFFFFFF
_LONGEST: Final = 45  # characters of an IPv6 address in its longest form


class AddressHalves(NamedTuple):
    """An address as two numbers with a sign."""

    high: int
    low: int


def halves(text: str | None) -> AddressHalves | None:
    """Return the halves of an address; None for what is none.

    An IPv4 address written in IPv6 is that IPv4 address.
    """
    if text is None or len(text) > _LONGEST:
        return None
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return _halves(_MAPPED | int(address))
    return _halves(int(address))


def address_columns(texts: Iterable[str | None]) -> tuple[pa.Array, pa.Array]:
    """Return the columns `NAME_high` and `NAME_low` of a column of addresses.

    Args:
        texts: the column; what is no address has two nulls.
    """
    both = [halves(text) for text in texts]
    return (
        pa.array([one and one.high for one in both], pa.int64()),
        pa.array([one and one.low for one in both], pa.int64()),
    )


def in_networks(high: ir.Value, low: ir.Value, texts: Sequence[str]) -> ir.Value:
    """Return whether an address lies in one of some networks; NULL where it is none.

    Args:
        high: upper halves.
        low: lower halves.
        texts: networks that the checker took.
    """
    return reduce(or_, [_inside(high, low, text) for text in dict.fromkeys(texts)])


def _inside(high: ir.Value, low: ir.Value, text: str) -> ir.Value:
    network = ip_network(text)
    first, last = int(network.network_address), int(network.broadcast_address)
    if isinstance(network, IPv4Network):
        return _between(high, low, _MAPPED | first, _MAPPED | last)
    inside = _between(high, low, first, last)
    if first > _LAST_MAPPED or last < _MAPPED:
        return inside
    # an IPv4 address lies in no network of IPv6, wide as that may be
    return inside & ~_between(high, low, _MAPPED, _LAST_MAPPED)


def _between(high: ir.Value, low: ir.Value, first: int, last: int) -> ir.Value:
    """Whether an address is from `first` to `last`, the ends of a network."""
    begin, end = _halves(first), _halves(last)
    if begin.high != end.high:
        return high.between(_whole(begin.high), _whole(end.high))
    return (high == _whole(begin.high)) & low.between(_whole(begin.low), _whole(end.low))


def _halves(number: int) -> AddressHalves:
    return AddressHalves((number >> _HALF) - _SIGN, (number & _LOW) - _SIGN)


def _whole(number: int) -> ir.Value:
    return ibis.literal(number, type="int64")
