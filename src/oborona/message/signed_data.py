"""What a CMS object holds (S/MIME, RFC 5652): the content of signed-data, of compressed-data, and
whether it is encrypted.

    ContentInfo → signed-data (1.2.840.113549.1.7.2) → encapContentInfo → OCTET STRING
                → compressed-data (1.2.840.113549.1.9.16.1.9, RFC 3274) → the same, zlib undone
                → enveloped-data and its kin: nothing, but the word for it

Only the way to the content is walked, in BER, as mail programs write definite and indefinite
lengths alike. No signature is checked: what is signed is read like any other text, as its reader
sees it. asn1crypto would read it as well; it loads in 42 ms, builds all of the certificates'
objects beside, and was last released in 2022.

Limits: `MAX_CONTENT` octets of what is compressed; one octet string of `MAX_PIECES`, as deep as
`MAX_NESTED`. Broken BER has no content.
"""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

MAX_CONTENT: Final = 4 << 20  # octets, unpacked: 15 ms
MAX_PIECES: Final = 30_000  # of an octet string: 0.1 s; OpenSSL writes a piece for each kB
MAX_STEPS: Final = 1000  # elements walked over on the way; real ones have 20
MAX_NESTED: Final = 4  # octet strings within octet strings; writers nest one

_OID, _OCTETS, _OCTETS_MADE, _SEQUENCE, _FIRST, _END = 0x06, 0x04, 0x24, 0x30, 0xA0, 0x00
_SIGNED: Final = bytes.fromhex("2a864886f70d010702")
_COMPRESSED: Final = bytes.fromhex("2a864886f70d0109100109")
_ENCRYPTED: Final = frozenset(
    {
        bytes.fromhex("2a864886f70d010703"),  # enveloped-data
        bytes.fromhex("2a864886f70d010706"),  # encrypted-data
        bytes.fromhex("2a864886f70d0109100117"),  # auth-enveloped-data
    }
)


class CmsContent(NamedTuple):
    """What was found."""

    content: bytes = b""  # empty = none, or none that can be read
    encrypted: bool = False


class _Element(NamedTuple):
    tag: int
    start: int  # of its content
    end: int  # of it; -1 = at an end mark


def read(octets: bytes) -> CmsContent:
    """Return what a CMS object holds; never raises."""
    try:
        return _read(octets)
    except (_BrokenError, IndexError):
        return CmsContent()


class _BrokenError(Exception):
    """The octets are no CMS object, or end early."""


def _read(octets: bytes) -> CmsContent:
    outer = _expect_element(octets, 0, _SEQUENCE)
    kind = _expect_element(octets, outer.start, _OID)
    name = octets[kind.start : kind.end]
    if name in _ENCRYPTED:
        return CmsContent(encrypted=True)
    if name not in {_SIGNED, _COMPRESSED}:
        return CmsContent()
    inside = _expect_element(octets, _expect_element(octets, kind.end, _FIRST).start, _SEQUENCE)
    position = _after(octets, inside.start)  # the version
    position = _after(octets, position)  # the digests, or the way of compression
    wrapped = _expect_element(octets, position, _SEQUENCE)
    position = _after(octets, wrapped.start)  # what it says the content is
    if position >= len(octets) or (0 <= wrapped.end <= position) or octets[position] != _FIRST:
        return CmsContent()  # a detached signature
    content = _string(octets, _expect_element(octets, position, _FIRST).start)
    if name == _COMPRESSED:
        try:
            content = zlib.decompressobj().decompress(content, MAX_CONTENT)
        except zlib.error:
            return CmsContent()
    return CmsContent(content)


def _element(octets: bytes, position: int) -> _Element:
    """Return the element that begins at `position`. Source: X.690 s8.1."""
    tag = octets[position]
    if tag & 31 == 31:
        raise _BrokenError  # a tag of many octets: not on this way
    length = octets[position + 1]
    start = position + 2
    if length == 128:
        return _Element(tag, start, -1)
    if length > 128:
        more = length - 128
        if more > 4:
            raise _BrokenError
        length = int.from_bytes(octets[start : start + more], "big")
        start += more
    return _Element(
        tag, start, min(start + length, len(octets))
    )  # a message cut short is read as far as it goes


def _expect_element(octets: bytes, position: int, tag: int) -> _Element:
    element = _element(octets, position)
    if element.tag != tag:
        raise _BrokenError
    return element


def _after(octets: bytes, position: int) -> int:
    """Return where the element that begins at `position` is over."""
    open_ = 0
    for _ in range(MAX_STEPS):
        element = _element(octets, position)
        if element.tag == _END:
            open_ -= 1
            position = element.start
        elif element.end < 0:
            open_ += 1
            position = element.start
        else:
            position = element.end
        if open_ <= 0:
            return position
    raise _BrokenError


def _string(octets: bytes, position: int) -> bytes:
    """Return an octet string, put together where it is in pieces. Source: X.690 s8.7."""
    pieces: list[bytes] = []
    ends = [len(octets)]  # of the strings that are open; those without a length end at a mark
    for step in range(MAX_PIECES):
        if step and len(ends) == 1:
            break
        if position >= ends[-1]:
            position = ends.pop()
            continue
        element = _element(octets, position)
        position = element.start
        if element.tag == _OCTETS_MADE and len(ends) <= MAX_NESTED:
            ends.append(len(octets) if element.end < 0 else element.end)
        elif element.tag == _OCTETS and element.end >= 0:
            pieces.append(octets[element.start : element.end])
            position = element.end
        elif element.tag == _END:
            ends.pop()
        else:
            raise _BrokenError
    return b"".join(pieces)
