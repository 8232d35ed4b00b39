"""Shingles seen once, as their page keeps them: a field beside the records, made and read by
`pages.lua`, and read here.

    field "d"   slots in the order they came, 4 bytes each: print u16, ten-minute bucket mod 2^16
                u16, little-endian
    print       prefix and type, and the last 16 bits of the hash, added modulo 2^16; the page's
                name says 18 others

A key without a record whose only count is one `seen` gets a slot at the end. When it comes again,
its sighting goes into a record and the slot is taken out. So nothing is approximate but this:

    full   of more than SLOTS the oldest goes: the count of its key is one low
    alike  a new key finds another's print by chance, one in 65,536 for each slot: it counts one too
           many, the other one too few

A shingle that is the first half of a unique pair is not looked for here: pairs stay exact.
"""

from __future__ import annotations

import struct
from typing import Final

from oborona.counters.record import BUCKET_SHIFT, CELL_BYTES, RING

DOOR: Final = b"d"
SLOT: Final = struct.Struct("<HH")
SLOTS: Final = 128  # of a page; as in pages.lua
PRINTS: Final = 1 << 16
BUCKETS: Final = 1 << 16  # a ring of 455 days
ONE_SEEN: Final = 1
PRINT_PARTS: Final = struct.Struct(">H6xH")  # of a key


def sighting(slots: bytes, key: bytes, reference: int) -> bytes:
    """Return the cell of a key's one sighting; empty when there is none.

    Args:
        slots: of its page.
        key: without a record.
        reference: a bucket less than 227 days from it.
    """
    head, low = PRINT_PARTS.unpack(key)
    fingerprint = ((head + low) % PRINTS).to_bytes(2, "little")
    at = slots.find(fingerprint)
    while at >= 0 and at % SLOT.size:
        at = slots.find(fingerprint, at + 1)
    if at < 0:
        return b""
    place: int = SLOT.unpack_from(slots, at)[1]
    bucket = reference - ((reference - place + BUCKETS // 2) % BUCKETS - BUCKETS // 2)
    return (bucket % RING << BUCKET_SHIFT | ONE_SEEN).to_bytes(CELL_BYTES, "little")
