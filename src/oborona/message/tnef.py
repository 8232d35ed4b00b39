"""Outlook's envelope, winmail.dat (MS-OXTNEF 2.1): the files and the text in it.

A reader of our own: what is needed of it is names, octets and text, and tnefparse 1.4 turns every
property of a message into objects first. Attributes are read in one pass, each by its stated
length; a file's long name stands among its MAPI properties (MS-OXCDATA 2.11), which are walked as
far as their types have a known length.

Limits: a text that is only there as compressed RTF is not read; a message inside the message is a
file, not opened.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final

import msgspec

from oborona.message.findings import Findings

MAX_FILES: Final = 50
MAX_ATTRIBUTES: Final = 2000
MAX_PROPERTIES: Final = 300  # of one file or of the message
MAX_TEXT: Final = 256 << 10  # octets of the text that are returned

# a file begins; its short name; its octets
_RENDERING, _TITLE, _DATA = 0x00069002, 0x00018010, 0x0006800F
_FILE_PROPERTIES, _MESSAGE_PROPERTIES, _BODY = 0x00069005, 0x00069003, 0x0002800C
_LONG_NAME, _PLAIN_TEXT, _HTML, _OBJECT = 0x3707, 0x1000, 0x1013, 0x3701
_WANTED: Final = frozenset({_LONG_NAME, _PLAIN_TEXT, _HTML, _OBJECT})
_INTERFACE: Final = 16  # octets before the content of an object: what opens it
_FIXED: Final = {
    2: 4,
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 8,
    10: 4,
    11: 4,
    20: 8,
    64: 8,
    72: 16,
}  # octets, padded to four
_VARIABLE: Final = frozenset({13, 30, 31, 258})
_OBJECT_TYPE, _TEXT_16, _SEVERAL, _NAMED = 13, 31, 0x1000, 0x8000


class _TnefFile(msgspec.Struct):
    name: str = ""
    content: bytes = b""


def read(octets: bytes, findings: Findings) -> tuple[bytes, str, list[tuple[str, bytes]]]:
    """Return the text of the envelope, its type (text/plain or text/html), and the files with their
    names; never raises.

    Args:
        octets: of the envelope, `kinds.kind` says tnef.
        findings: gets tnef-broken.

    """
    text, text_type = b"", "text/plain"
    files: list[_TnefFile] = []
    position = 6  # after the mark and the key
    for _ in range(MAX_ATTRIBUTES):
        if position + 9 > len(octets):
            break
        _, attribute, length = unpack_from("<BLL", octets, position)
        start = position + 9
        position = start + length + 2  # the checksum
        if start + length > len(octets):
            findings.add("tnef-broken", "an attribute beyond the end")
            length = len(octets) - start
        if attribute == _RENDERING:
            if len(files) >= MAX_FILES:
                findings.add("tnef-broken", f"over {MAX_FILES} files")
                break
            files.append(_TnefFile())
        elif attribute == _TITLE and files:
            files[-1].name = files[-1].name or _text(octets[start : start + min(length, 1024)])
        elif attribute == _DATA and files:
            files[-1].content = octets[start : start + length]
        elif attribute == _FILE_PROPERTIES and files:
            properties = _properties(octets, start, start + length)
            files[-1].content = properties.get(_OBJECT, files[-1].content)
            name = properties.get(_LONG_NAME)
            files[-1].name = _text(name[:1024]) if name else files[-1].name
        elif attribute == _BODY and not text:
            text = octets[start : start + min(length, MAX_TEXT)].rstrip(b"\0")
        elif attribute == _MESSAGE_PROPERTIES:
            properties = _properties(octets, start, start + length)
            if html := properties.get(_HTML):
                text, text_type = html[:MAX_TEXT], "text/html"
            elif not text:
                text = properties.get(_PLAIN_TEXT, b"")[:MAX_TEXT]
    else:
        findings.add("tnef-broken", f"over {MAX_ATTRIBUTES} attributes")
    return text, text_type, [(file.name, file.content) for file in files]


def _properties(octets: bytes, position: int, end: int) -> dict[int, bytes]:
    """Return the octets of those properties that are looked for; texts as UTF-8.

    Source: MS-OXTNEF 2.1.3.4.
    """
    properties: dict[int, bytes] = {}
    position += 4  # how many
    for _ in range(MAX_PROPERTIES):
        if position + 8 > end:
            break
        kind, number = unpack_from("<HH", octets, position)
        position += 4
        if number >= _NAMED:  # a property set, then a number, or a name with its length
            how = int.from_bytes(octets[position + 16 : position + 20], "little")
            position += 20 + 4
            if how:
                position += _padded(int.from_bytes(octets[position - 4 : position], "little"))
        several, kind = kind & _SEVERAL, kind & ~_SEVERAL
        count = 1
        if several or kind in _VARIABLE:
            count = int.from_bytes(octets[position : position + 4], "little")
            position += 4
        if kind in _VARIABLE:
            for _ in range(min(count, MAX_PROPERTIES)):
                length = int.from_bytes(octets[position : position + 4], "little")
                if number in _WANTED and position + 4 + length <= end:
                    value = octets[position + 4 : position + 4 + length]
                    if kind == _TEXT_16:
                        value = value.decode("utf-16-le", "replace").encode()
                    elif kind == _OBJECT_TYPE:
                        value = value[_INTERFACE:]
                    properties[number] = value if number == _OBJECT else value.rstrip(b"\0")
                position += 4 + _padded(length)
        elif kind in _FIXED:
            position += _FIXED[kind] * count
        else:
            break
    return properties


def _padded(length: int) -> int:
    return -(-length // 4) * 4


def _text(octets: bytes) -> str:
    octets = octets.partition(b"\0")[0]
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("cp1252", "replace")
