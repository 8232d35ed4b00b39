"""Where a record lies in the cluster: tags, pages, fields.

    tag     the first 8 bits of the hash; a word whose slot lies in that 256th of all slots, so that
            shards get equal parts
    page    a hash of Redis for each 18 bits: "{word}" and two bytes; small hashes are packed lists,
            25 bytes a record
    field   prefix, type and the last 48 bits of the hash → the record's cells (`record.py`)

    field "a" and 8 bytes   the last step that touched this page, of the outbox with that id
    field "p"               the ten-minute bucket of the last time the page was gone through for
                            what is out of the windows
    key "{word}a"           a hash: outbox id → the last step applied to this tag, and its bucket

The two shingles of a unique pair agree in the first 12 bits, so their pages share a tag, and a tag
has one slot.
"""

from __future__ import annotations

import binascii
import string
from itertools import product
from typing import Final

SLOTS: Final = 16_384
TAGS: Final = 256
FIELD_BYTES: Final = 8
FIRST_HASH_BYTE: Final = 2  # of a key: behind prefix and type
APPLIED: Final = b"a"
ID_BYTES: Final = 8


def slot_of(key: bytes) -> int:
    """Return the slot of a name without braces, or of what stands between them.

    Source: Redis cluster specification, "Hash tags": CRC16/XMODEM modulo 16384.
    """
    return binascii.crc_hqx(key, 0) % SLOTS


def _words() -> tuple[bytes, ...]:
    """Return for each tag the first two letters or digits whose slot lies in its part of the
    slots.
    """
    words: dict[int, bytes] = {}
    for pair in product((string.ascii_letters + string.digits).encode(), repeat=2):
        word = bytes(pair)
        words.setdefault(slot_of(word) * TAGS // SLOTS, word)
    return tuple(words[tag] for tag in range(TAGS))


WORDS: Final = _words()
SLOT_OF_TAG: Final = tuple(map(slot_of, WORDS))
APPLIED_KEYS: Final = tuple(b"{" + word + b"}" + APPLIED for word in WORDS)
OPENINGS: Final = tuple(b"{" + word + b"}" for word in WORDS)


def tag_of(key: bytes) -> int:
    """Return the tag of a record's key, 0..255."""
    return key[FIRST_HASH_BYTE]


def page_of(key: bytes) -> bytes:
    """Return the page that holds a record."""
    return OPENINGS[key[2]] + bytes((key[3], key[4] & 0xC0))


def field_of(key: bytes) -> bytes:
    """Return a record's field in its page: what the page's name does not say."""
    return key[:2] + key[4:]
