"""How a search file keeps messages: how many at once, and their ids; pure."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Final

PART: Final = 1000  # messages: what is not in a part yet is read whole
PARTS: Final = 32  # that are joined at once
IDS: Final = 8 * PART  # octets of ids


def kept_ids(ids: Sequence[int]) -> bytes:
    """Return ids as they are kept."""
    kept = array("Q", ids)
    if sys.byteorder == "big":
        kept.byteswap()
    return kept.tobytes()


def read_ids(kept: bytes) -> array[int]:
    """Return ids that were kept.

    Raises:
        ValueError: they are damaged.
    """
    ids = array("Q")
    ids.frombytes(kept)
    if sys.byteorder == "big":
        ids.byteswap()
    return ids
