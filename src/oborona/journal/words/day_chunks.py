"""How a search file keeps messages: how many at once, and their ids; pure."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Final

from oborona.journal.words.slices import SLICES

PART: Final = 1000  # messages: what is not in a part yet is read whole
PARTS: Final = 32  # that are joined at once
IDS: Final = 8 * PART  # octets of ids


def kept_ids(ids: Sequence[int]) -> bytes:
    """Return ids as they are kept."""
    return _kept(array("Q", ids))


def read_ids(kept: bytes) -> array[int]:
    """Return ids that were kept.

    Raises:
        ValueError: they are damaged.
    """
    return _read("Q", kept)


def kept_counts(counts: Sequence[int]) -> bytes:
    """Return how many messages each slice has, as it is kept."""
    return _kept(array("I", counts))


def read_counts(kept: bytes) -> array[int]:
    """Return how many messages each slice has, as it was kept.

    Raises:
        ValueError: it is damaged.
    """
    counts = _read("I", kept)
    if len(counts) != SLICES:
        raise ValueError("counts of slices")
    return counts


def _kept(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _read(kind: str, kept: bytes) -> array[int]:
    numbers = array(kind)
    numbers.frombytes(kept)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
