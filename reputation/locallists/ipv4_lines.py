"""Lines that are plain IPv4 addresses or networks, as masses of entries are, read many at a time as
arrays.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_DIGIT, _DOT, _SLASH, _OTHER = range(4)
_CLASSES: Final = np.full(256, _OTHER, np.uint8)
_CLASSES[np.frombuffer(b"0123456789", np.uint8)] = _DIGIT
_CLASSES[ord(".")] = _DOT
_CLASSES[ord("/")] = _SLASH


def plain(
    piece: bytes,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Return which lines are plain, and first address and length of those.

    Plain: four numbers of one to three digits without leading zero, 0 to 255; a length of 0 to 32
    behind a slash or none; no bit set behind it; and nothing else.

    Args:
        piece: one line or more, all ended.
    """
    octets = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(octets == ord("\n"))
    begins = np.concatenate(([0], ends[:-1] + 1))
    classes = _CLASSES[octets]
    others = np.add.reduceat(classes == _OTHER, begins, dtype=np.intp)
    accepted = others == 1  # its end
    accepted &= np.add.reduceat(classes == _DOT, begins, dtype=np.intp) == 3
    slashed = np.add.reduceat(classes == _SLASH, begins, dtype=np.intp)
    accepted &= slashed <= 1
    chosen = np.repeat(accepted, ends - begins + 1)
    octets, classes = octets[chosen], classes[chosen]
    rows = np.flatnonzero(accepted)
    slash = slashed[rows] == 1
    stops = np.flatnonzero(classes != _DIGIT)  # the end of every number
    values, fine = _numbers(octets, stops)
    at = np.cumsum(slash + 4) - (slash + 4)  # of each row's first number
    good = np.ones(rows.size, bool)
    start = np.zeros(rows.size, np.uint64)
    for place in range(4):
        value = values[at + place]
        good &= (
            fine[at + place]
            & (value <= 255)
            & (classes[stops[at + place]] != _SLASH if place < 3 else True)
        )
        start = start << np.uint64(8) | (value & 255).astype(np.uint64)
    length = np.full(rows.size, 32, np.int64)
    behind = at[slash] + 4
    length[slash] = values[behind]
    good[slash] &= fine[behind] & (classes[stops[behind - 1]] == _SLASH)
    good &= length <= 32
    free = np.uint64(0xFFFFFFFF) >> np.minimum(length, 32).astype(np.uint64)
    good &= (start & free) == 0
    accepted[rows[~good]] = False
    return accepted, start[good].astype(np.uint32), length[good].astype(np.uint8)


def _numbers(
    octets: npt.NDArray[np.uint8], stops: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the numbers that end before each of `stops`, and whether they are written as numbers
    are.
    """
    width = np.diff(stops, prepend=-1) - 1
    fine = (width >= 1) & (width <= 3)
    values = np.zeros(stops.size, np.int64)
    leading = np.zeros(stops.size, np.int64)
    for place in range(3):
        there = width > place
        digit = np.where(there, octets[stops - 1 - place], ord("0")).astype(np.int64) - ord("0")
        values += digit * 10**place
        leading = np.where(there, digit, leading)
    return values, fine & ((width == 1) | (leading > 0))
