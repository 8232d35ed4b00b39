"""Chooses the hashes by which the index knows a message: those that copies of a campaign share, or
that an admin, a list or a person may name.

A message has some seventy shingles.  Left out are those that half of all mail shares (language,
country, program, form of the message), those that say little alone (opening and closing, names of
files), those of pairs, and most values of a fingerprint.  Near-duplicates share a quarter of 32
values and more; of eight values, always the same eight, at least one is shared by nine in ten
copies that share no more than that quarter, and by nearly all others; exact copies are also found
by their template.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.message.hashing import ShingleType
from oborona.types import Shingle

Numbers = npt.NDArray[np.uint64]

MOST: Final[dict[ShingleType, int]] = {
    ShingleType.TEXT: 1,
    ShingleType.TEMPLATE: 1,
    ShingleType.WORDS: 8,
    ShingleType.CHARACTERS: 6,
    ShingleType.SUBJECT: 1,
    ShingleType.SUBJECT_TEMPLATE: 1,
    ShingleType.AUTHOR: 1,
    ShingleType.AUTHOR_DOMAIN: 1,
    ShingleType.PROVED_SENDER: 1,
    ShingleType.ACCOUNT: 1,
    ShingleType.FROM: 1,
    ShingleType.FROM_DOMAIN: 1,
    ShingleType.MAIL_FROM: 1,
    ShingleType.REPLY_TO: 1,
    ShingleType.DKIM_DOMAIN: 2,
    ShingleType.CLIENT_IP: 1,
    ShingleType.CLIENT_NETWORK: 1,
    ShingleType.LIST: 1,
    ShingleType.URL: 3,
    ShingleType.PATH: 1,
    ShingleType.HOST: 3,
    ShingleType.LINK_DOMAIN: 4,
    ShingleType.PHONE: 4,
    ShingleType.ADDRESS: 4,
    ShingleType.WALLET: 4,
    ShingleType.HANDLE: 4,
    ShingleType.CODE: 2,
    ShingleType.CHECKSUM: 4,
    ShingleType.MEMBER_CHECKSUM: 4,
    ShingleType.PICTURE: 4,
    ShingleType.PICTURE_HASH: 24,  # alike pictures share one value at least: any of them may be it
    ShingleType.PICTURE_TEXT: 6,
    ShingleType.PICTURE_PHONE: 2,
    ShingleType.PICTURE_ADDRESS: 2,
}
"""Pieces of each type that one message is known by at most, its first"""

_STORED: Final = np.dtype([("type", "u1"), ("hash", "<u8")])  # as the journal has shingles
_MOST: Final = np.zeros(256, dtype=np.int64)
_MOST[[int(kind) for kind in MOST]] = list(MOST.values())


def indexed_pieces(shingles: Iterable[Shingle]) -> tuple[Shingle, ...]:
    """Return those of a message's shingles that the index knows it by: what to ask for to find
    messages that are like it.
    """
    left, chosen = {int(kind): most for kind, most in MOST.items()}, []
    for shingle in shingles:
        if left.get(shingle.type, 0):
            left[shingle.type] -= 1
            chosen.append(shingle)
    return tuple(chosen)


def rows(ids: Sequence[int], stored: Sequence[bytes]) -> tuple[Numbers, Numbers]:
    """Return the rows of the index of some messages, unsorted.

    Args:
        ids: of the messages.
        stored: of each, its shingles as the journal stores them; damaged ones are none.

    Returns:
        Hashes of the pieces that they are known by, as `indexed_pieces` chooses them, and beside
        each the id of its message.
    """
    whole = [octets if len(octets) % _STORED.itemsize == 0 else b"" for octets in stored]
    pieces = np.frombuffer(b"".join(whole), dtype=_STORED)
    numbers = np.array([len(octets) // _STORED.itemsize for octets in whole], dtype=np.int64)
    owners = np.repeat(np.arange(len(ids), dtype=np.int64), numbers)
    groups = owners << 8 | pieces["type"]
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    # The place of each piece among those of its message and type: its own place less that of the
    # group's first.
    first = np.searchsorted(sorted_groups, sorted_groups)
    first_ones = order[np.arange(len(order)) - first < _MOST[sorted_groups & 0xFF]]
    return (
        pieces["hash"][first_ones].astype(np.uint64),
        np.array(ids, dtype=np.uint64)[owners[first_ones]],
    )


def messages_carrying(
    hashes: Numbers, ids: Numbers, hashes_wanted: Numbers, low: int, high: int, most: int
) -> list[Numbers]:
    """Return ids of messages that carry any of some pieces.

    Args:
        hashes: of the rows, ascending.
        ids: beside each that of its message, ascending among those of one hash.
        hashes_wanted: hashes.
        low: lower ids are not wanted.
        high: neither are this and higher ones.
        most: of each hash, its highest.
    """
    starts, ends = (
        np.searchsorted(hashes, hashes_wanted, "left"),
        np.searchsorted(hashes, hashes_wanted, "right"),
    )
    bounds = np.array([low, high], dtype=np.uint64)
    slices = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if start < end:
            of_one = ids[start:end]
            first, last = np.searchsorted(of_one, bounds).tolist()
            if first < last:
                slices.append(np.array(of_one[max(first, last - most) : last]))
    return slices
