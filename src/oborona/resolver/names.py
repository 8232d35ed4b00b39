"""Names of the DNS: as people write them, as they travel, and back.

A name travels as labels, each behind its length, closed by an empty one; at most 63 octets a label
and 255 in all (RFC 1035 section 3.1). Labels may hold any octets (RFC 2181 section 11): what does
not print, and what means something in a name's text, is written with a backslash (RFC 1035 section
5.1), and read so. Case means nothing: everything here is lower case. Letters beyond ASCII become
A-labels (`oborona.domains`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oborona.domains import a_labels

MAX_LABEL: Final = 63  # octets
MAX_NAME: Final = 255  # octets as it travels
MAX_POINTERS: Final = 127  # followed in one name: it has no more labels
MAX_TEXT: Final = 4 * MAX_NAME  # characters: each octet may be written as \DDD
# both bits set: the rest of the name stands elsewhere (RFC 1035 section 4.1.4)
_POINTER: Final = 0xC0

_PLAIN: Final = re.compile(rb"[!#%&'*+,\-/0-9:<=>?A-Z\[\]^_`a-z{|}~]+")
_SPECIAL: Final = frozenset(b'"().;\\@$')  # those that dnspython escapes too
_ESCAPED: Final = re.compile(rb"\\(?:([0-9]{3})|([^0-9]))|([^\\])", re.DOTALL)


class MalformedDnsMessage(Exception):  # noqa: N818 - says what a message is
    """A message that can't be read."""


# a message has some three names, each looked for and asked about by several checks
@lru_cache(maxsize=1024)
def encode(name: str) -> bytes | None:
    """Return a name as it travels, in lower case.

    None when it can be no name that anybody asks for.

    Args:
        name: with or without final dot; "." is the root, the empty text is None.
    """
    if name == ".":
        return b"\0"
    if len(name) > MAX_TEXT:
        return None
    try:
        octets = (name if name.isascii() else a_labels(name)).encode()
    except ValueError:
        return None
    labels = octets.lower().split(b".") if b"\\" not in octets else _unescape(octets)
    if not labels[-1]:
        labels.pop()
    if not labels or min(map(len, labels)) == 0 or max(map(len, labels)) > MAX_LABEL:
        return None
    wire = b"".join([len(label).to_bytes() + label for label in labels]) + b"\0"
    return wire if len(wire) <= MAX_NAME else None


def decode(wire: bytes) -> str:
    """Return the text of a whole, lower-case name without final dot; empty for the root."""
    labels = []
    at = 0
    while length := wire[at]:
        label = wire[at + 1 : at + 1 + length]
        labels.append(label.decode("ascii") if _PLAIN.fullmatch(label) else _escape(label))
        at += 1 + length
    return ".".join(labels)


def read(message: bytes, at: int) -> tuple[bytes, int]:
    """Return the name at a place in a message, without pointers and in lower case, and where the
    message goes on behind it.

    Guaranteed to end: a pointer leads before where its own part of the name began.

    Raises:
        Malformed: a label or pointer that leads out of the message, a name too long, a pointer
            forward, too many.
        IndexError: the message ends within the name.
    """
    parts: list[bytes] = []
    size, behind, begin, pointers = 1, 0, at, 0
    while length := message[at]:
        if length <= MAX_LABEL:
            size += length + 1
            if size > MAX_NAME or at + length + 1 >= len(message):
                raise MalformedDnsMessage("name too long")
            parts.append(message[at : at + length + 1])
            at += length + 1
        elif length >= _POINTER:
            target = (length - _POINTER) << 8 | message[at + 1]
            pointers += 1
            if target >= begin or pointers > MAX_POINTERS:
                raise MalformedDnsMessage("pointers that lead nowhere")
            behind = behind or at + 2
            begin = at = target
        else:
            raise MalformedDnsMessage("unknown kind of label")  # RFC 6891 section 5: none is in use
    # no length is that of a letter: 63 < "A"
    return b"".join(parts).lower() + b"\0", behind or at + 1


def _unescape(octets: bytes) -> list[bytes]:
    """Return the labels of a name with backslashes, an empty one if it is broken."""
    labels = [bytearray()]
    at = 0
    while at < len(octets):
        match = _ESCAPED.match(octets, at)
        if match is None or (match[1] and int(match[1]) > 255):
            return [b"", b""]
        if match[3] == b".":
            labels.append(bytearray())
        else:
            labels[-1] += bytes([int(match[1])]) if match[1] else match[2] or match[3]
        at = match.end()
    return [bytes(label).lower() for label in labels]


def _escape(label: bytes) -> str:
    return "".join(
        f"\\{chr(octet)}"
        if octet in _SPECIAL
        else chr(octet)
        if 0x20 < octet < 0x7F
        else f"\\{octet:03d}"
        for octet in label
    )
