"""Fingerprints of texts as they are kept, and whether a message's text is nearly one of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from oborona.types import Shingle

Needed = Callable[[int, int], int]
"""How many values of one type must be shared, of so many: (type, values) → number."""

_VALUE: Final = struct.Struct("<BQ")


def packed(values: Sequence[Shingle]) -> bytes:
    """Return values as octets: a byte of type and 8 of hash each, little-endian."""
    return struct.pack("<" + "BQ" * len(values), *chain.from_iterable(values))


def alike(sample: bytes, text: frozenset[Shingle], needed: Needed) -> bool:
    """Tell whether two texts are nearly the same.

    Args:
        sample: values of one, packed; octets that no value fills are passed over.
        text: values of the other.
        needed: how many must be shared.
    """
    counts: dict[int, int] = {}
    shared: dict[int, int] = {}
    for kind, value in _VALUE.iter_unpack(sample[: len(sample) // _VALUE.size * _VALUE.size]):
        counts[kind] = counts.get(kind, 0) + 1
        if (kind, value) in text:
            shared[kind] = shared.get(kind, 0) + 1
    return any(number >= needed(kind, counts[kind]) for kind, number in shared.items())
