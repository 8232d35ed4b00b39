"""A message as the content model sees it: a set of numbers, each a piece of its header, of its
text, or of how it is made.

    view     pieces                                                   slots
    head     runs of 4 octets of the header                           2^18
    text     runs of 4 octets of the normalised text                  2^18
    fields   words of the header, each with the name of its field     2^17
    words    words of the normalised text                             2^17
    shape    how the message is made (shape.py)                       2^16

Each view has slots of its own; pieces that meet in a slot share what is learned. Source: K.
Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009; the runs of octets:
D. Sculley and G. Wachman, "Relaxed Online SVMs for Spam Filtering", 2007.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from oborona.message.model import HeaderField, Message
from oborona.policy.headers import OUR_NAMES
from oborona.policy.models.content import shape
from oborona.policy.models.content.pieces import grams, slots, words, words_of_lines

# What of a message's header the content model reads: what was written before it came to us.
#
# Left out is what was written after, so that a message looks the same at the door and when a person
# complains about it: our own headers, those of delivery and of mailboxes; and the verdicts of other
# filters, which would teach theirs instead of people's.

FIELD_OCTETS: Final = 400  # of a field: chains of signatures must not push Subject out
SIGNATURE_OCTETS: Final = 100  # of a signature: version, algorithm, domain; what follows is random
HEAD_OCTETS: Final = 6000  # of all fields

_DELIVERY: Final = frozenset(
    ("return-path", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "x-sieve", "status", "x-status", "x-uid", "x-uidl",
     "x-keywords", "lines", "content-length", "x-folder", "x-label", "x-gmail-labels", "x-gm-thrid", "xref", "replied", "forwarded")
)  # fmt: skip
_AFTERWARDS: Final = re.compile(r"x-(?:evolution|mozilla|imap|dovecot)")
_VERDICT: Final = re.compile(
    r".*(?:spam|bogosity|virus|amavis)|x-(?:mailscanner|barracuda|ironport|proofpoint|pmx|assp|crm114|gmane|ms-exchange-organization)"
)
_HANDED_OVER: Final = re.compile(rb"\bwith LMTP")  # from our mail server to the mailbox
_SIGNATURE: Final = re.compile(
    r"(?:.*dkim-signature|domainkey-signature|arc-|x-gm-message-state|x-me-proxy)"
)


def read_header_fields(message: Message) -> list[tuple[HeaderField, bytes]]:
    """Return the fields that count, in order, each with its octets: name, colon, value, cut to a
    length.

    Returns:
        No more than `HEAD_OCTETS` together, but for the last, with a line end after each; none
        within.
    """
    fields = []
    left = HEAD_OCTETS
    for header in message.headers:
        length = _octets(header.name)
        raw = header.raw
        if length and not (header.name == "received" and _HANDED_OVER.search(raw)):
            if b"=?" in raw:
                raw = header.value.encode("utf-8", "surrogatepass")
            octets = header.name.encode() + b": " + raw[:length].replace(b"\n", b" ")
            fields.append((header, octets))
            left -= len(octets) + 1
            if left <= 0:
                break
    return fields


@lru_cache(maxsize=2048)
def _octets(name: str) -> int:
    """Return how much of a field is read; 0 = it is left out."""
    if (
        name.startswith(OUR_NAMES)
        or name in _DELIVERY
        or _AFTERWARDS.match(name)
        or _VERDICT.match(name)
    ):
        return 0
    return SIGNATURE_OCTETS if _SIGNATURE.match(name) else FIELD_OCTETS


VIEWS: Final = ("head", "text", "fields", "words", "shape")
BITS: Final = (18, 18, 17, 17, 16)  # of a view's slots
FIRST: Final = tuple(int(sum(1 << bits for bits in BITS[:view])) for view in range(len(BITS) + 1))
SPACE: Final = FIRST[-1]  # slots of all views
EDGES: Final = np.array(FIRST, np.uint32)
OCTETS: Final = 4000  # of the normalised text that are looked at
MAX_FEATURES: Final = (HEAD_OCTETS + OCTETS) * 3 // 2 + 10_000  # more than a message can have


class ContentFeatures(msgspec.Struct, frozen=True):
    """A set of slots; the same message always gives the same."""

    slots: NDArray[np.uint32]  # ascending, distinct, below SPACE

    def to_bytes(self) -> bytes:
        """Return them as octets: the gaps between them, seven bits to an octet (LEB128).

        3 kB for most messages.
        """
        gaps = np.diff(self.slots, prepend=np.uint32(0))
        two, three = gaps >= 1 << 7, gaps >= 1 << 14
        width = 1 + two.astype(np.intp) + three
        first = np.cumsum(width) - width
        octets = np.zeros(int(width.sum()), np.uint8)
        octets[first] = gaps & 0x7F | np.where(two, 0x80, 0)
        octets[first[two] + 1] = gaps[two] >> 7 & 0x7F | np.where(three[two], 0x80, 0)
        octets[first[three] + 2] = gaps[three] >> 14
        return octets.tobytes()

    @classmethod
    def from_bytes(cls, octets: bytes) -> ContentFeatures:
        """Return what `to_bytes` wrote.

        Raises:
            ValueError: it did not write these.
        """
        if len(octets) > 3 * MAX_FEATURES:
            raise ValueError("no features: too many")
        read = np.frombuffer(octets, np.uint8)
        last = np.flatnonzero(read < 0x80)
        if not read.size:
            return cls(np.empty(0, np.uint32))
        if not last.size or last[-1] != read.size - 1:
            raise ValueError("no features: they end within a number")
        first = np.concatenate(([0], last[:-1] + 1))
        width = last - first + 1
        if width.max() > 3:
            raise ValueError("no features: a gap is too wide")
        wide = np.concatenate((read, np.zeros(2, np.uint8))).astype(np.uint32)
        gaps = wide[first] & 0x7F
        gaps += np.where(width > 1, (wide[first + 1] & 0x7F) << 7, 0).astype(np.uint32)
        gaps += np.where(width > 2, wide[first + 2] << 14, 0).astype(np.uint32)
        numbers = np.cumsum(gaps, dtype=np.uint64)
        if numbers[-1] >= SPACE or not gaps[1:].all():
            raise ValueError("no features: out of range")
        return cls(numbers.astype(np.uint32))


class ContentPieces(NamedTuple):
    """A message's pieces: what features are made of, and what explains them."""

    fields: list[bytes]  # what is read of the header
    text: bytes  # what is read of the normalised text
    shape: list[str]
    slots: tuple[NDArray[np.uint32], ...]  # by view: of each piece, in order


def features(message: Message) -> ContentFeatures:
    """Return the features of a message; never raises, and looks at a bounded part of it."""
    numbers = np.concatenate(pieces(message).slots)
    numbers.sort()
    keep = np.empty(numbers.size, np.bool_)
    keep[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=keep[1:])
    return ContentFeatures(numbers[keep])


def pieces(message: Message) -> ContentPieces:
    """Return the pieces of a message; see `features`."""
    fields = read_header_fields(message)
    octets = [octet for _, octet in fields]
    head = b"\n".join(octets)
    text = message.normal_text[:OCTETS].encode("utf-8", "surrogatepass")[:OCTETS]
    marks = shape.read_shape(message, [header for header, _ in fields])
    by_field = words_of_lines(head) if fields else []
    numbers = [_number(header.name) for header, _ in fields]
    names = np.repeat(np.array(numbers, np.uint32), list(map(len, by_field)))
    return ContentPieces(
        octets,
        text,
        marks,
        (
            grams(head, BITS[0]),
            grams(text, BITS[1]) + EDGES[1],
            slots(list(chain.from_iterable(by_field)), BITS[2], names) + EDGES[2],
            slots(words(text), BITS[3]) + EDGES[3],
            slots([mark.encode("utf-8", "surrogatepass") for mark in marks], BITS[4]) + EDGES[4],
        ),
    )


@lru_cache(maxsize=2048)
def _number(name: str) -> int:
    """Return the number of a field's name: the same word in another field is another piece."""
    return crc32(name.encode("utf-8", "surrogatepass")) * 0x9E3779B1 & 0xFFFFFFFF
