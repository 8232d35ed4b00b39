"""Octets to numbers: every run of four octets, and every word, each by a hash that is the same on
every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

GRAM: Final = 4  # octets of a run
_GRAM_MULTIPLIER: Final = np.uint32(2654435761)
_SEPARATORS: Final = b"\0\t\n\r !\"#&'((?>))*+,./:;<=>?@[\\]^_`{|}~"
_SPACED: Final = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS)).lower()
_SPACED_LINES: Final = _SPACED[:10] + b"\n" + _SPACED[11:]
_WORD: Final = re.compile(rb"[^ \x0b\x0c]+")


def grams(octets: bytes, bits: int) -> NDArray[np.uint32]:
    """Return a number for each run of `GRAM` octets, in order.

    Args:
        octets: any.
        bits: of a number, 1..32.
    """
    if len(octets) < GRAM:
        return np.empty(0, np.uint32)
    runs = np.ndarray(
        len(octets) - GRAM + 1, "<u4", octets, 0, (1,)
    )  # a number at every octet, not at every fourth
    gram: NDArray[np.uint32] = np.multiply(runs, _GRAM_MULTIPLIER)
    gram >>= np.uint32(32 - bits)
    return gram


def words(octets: bytes) -> list[bytes]:
    """Return the words, in order and in lower case: what stands between separators."""
    return octets.translate(_SPACED).split()


def words_of_lines(octets: bytes) -> list[list[bytes]]:
    """Return the words of each line."""
    return list(map(bytes.split, octets.translate(_SPACED_LINES).split(b"\n")))


def places(octets: bytes) -> Iterator[tuple[int, int]]:
    """Return where the words of `words` begin and end."""
    return (match.span() for match in _WORD.finditer(octets.translate(_SPACED)))


def slots(
    words: Sequence[bytes], bits: int, names: NDArray[np.uint32] | None = None
) -> NDArray[np.uint32]:
    """Return a number for each word.

    Args:
        words: any octets.
        bits: of a number, 1..32.
        names: for each word, the number of what it belongs to: the same word elsewhere has another
            number.
    """
    mixed = np.fromiter(map(crc32, words), np.uint32, len(words))
    if names is not None:
        mixed ^= names
    mixed *= _GRAM_MULTIPLIER
    mixed >>= np.uint32(32 - bits)
    return mixed
