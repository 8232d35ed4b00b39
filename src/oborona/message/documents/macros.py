"""VBA source out of a compound file, and what in it starts by itself and reaches out (MS-OVBA
2.4.1; the idea is MacroRaptor's, of oletools).

olevba 0.60 takes 94 ms and 20 MB to load, and looks for much more than is asked here: does a
document have macros, and would one of them run a program, load a library or fetch a file when the
document is opened.  Source is found by its first line, which VBA writes the same everywhere.

Limits: `MAX_SOURCE` octets of source of a message; macros whose source was removed and only the
compiled form left are macros and no more.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.documents.compound_file import CompoundFile
from oborona.message.findings import Findings

MAX_SOURCE: Final = 128 << 10  # octets of VBA source undone for one message: some 30 ms
MAX_STREAM: Final = 512 << 10  # octets of one stream in which source is looked for
MAX_READ: Final = 4 << 20  # octets of all streams that are looked into
MAX_RECORDS: Final = 2000  # of a workbook's globals
_SIGNATURE: Final = 1
_FIRST_LINE: Final = b"\0Attribut"  # the flags of eight literals, and these
_STARTS: Final = re.compile(
    rb"\b(auto_?(?:exec|open|close|exit|new)|document_?(?:open|close|beforeclose|new)|workbook_(?:open|activate|close|beforeclose)"
    rb"|\w{1,40}_(?:painted|layout|gotfocus|mousehover))\b",
    re.IGNORECASE,
)
_REACHES: Final = re.compile(
    rb"\b(shell|shellexecutea?|wscript\.shell|createobject|getobject|urldownloadtofilea?|adodb\.stream|winhttp\w{0,20}|msxml2\.\w{0,20}"
    rb"|powershell|mshta|regsvr32|rundll32|certutil|virtualalloc|createthread|writeprocessmemory|rtlmovememory|executeexcel4macro|macscript"
    rb"|createtextfile|savetofile)\b|\bdeclare\s[^\n]{1,80}\slib\b",
    re.IGNORECASE,
)


def has_macros(file: CompoundFile) -> bool:
    """Return whether a compound file holds a VBA project."""
    return "_VBA_PROJECT" in file.names


def autorun_calls(file: CompoundFile, findings: Findings) -> str:
    """Return what starts by itself and what it reaches for, as "AutoOpen, Shell".

    Empty when there is no such pair.
    """
    starts = reaches = None
    for stream in file.streams:
        if not findings.afford("streams", min(stream.size, MAX_STREAM), MAX_READ):
            break
        octets = file.read(stream, MAX_STREAM)
        at = octets.find(_FIRST_LINE)
        if at < 3 or not findings.afford("macros", min(len(octets) - at, 8192), MAX_SOURCE):
            continue
        text = source(octets[at - 3 :], MAX_SOURCE // 4)
        starts = starts or _STARTS.search(text)
        reaches = reaches or _REACHES.search(text)
        if starts and reaches:
            return f"{starts[0][:30].decode('latin-1')}, {reaches[0][:30].decode('latin-1')}"
    return ""


def source(octets: bytes, limit: int) -> bytes:
    """Return the source in a compressed container, up to a limit; what is broken ends it.

    Source: MS-OVBA 2.4.1.3.

    Args:
        octets: begin with the container's signature.
        limit: octets of source.

    """
    out = bytearray()
    position = 1
    if octets[:1] != bytes((_SIGNATURE,)):
        return b""
    while position + 2 <= len(octets) and len(out) < limit:
        header = int.from_bytes(octets[position : position + 2], "little")
        end = min(position + (header & 0x0FFF) + 3, len(octets))
        if header >> 12 & 7 != 3:
            break
        if header & 0x8000:
            _chunk(octets, position + 2, end, out)
        else:
            out += octets[position + 2 : end]
        position = end
    return bytes(out[:limit])


def _chunk(octets: bytes, position: int, end: int, out: bytearray) -> None:
    """Undo one chunk, of at most 4096 octets: flags for eight tokens, each an octet or "so many
    from so far back".
    """
    start = len(out)
    while position < end:
        flags = octets[position]
        position += 1
        if not flags:
            out += octets[position : min(position + 8, end)]
            position += 8
            continue
        for bit in range(8):
            if position >= end:
                return
            if not flags >> bit & 1:
                out.append(octets[position])
                position += 1
                continue
            token = int.from_bytes(octets[position : position + 2], "little")
            position += 2
            done = len(out) - start
            bits = max(4, (done - 1).bit_length())  # of the distance
            back = (token >> 16 - bits) + 1
            length = (token & 0xFFFF >> bits) + 3
            if back > done or done + length > 4096 + 18:
                return
            if back >= length:
                out += out[-back : len(out) - back + length]
            else:  # it repeats itself
                out += (out[-back:] * (length // back + 1))[:length]


def sheets(workbook: bytes) -> tuple[bool, bool]:
    """Return whether a workbook's stream has Excel 4 macro sheets, and whether it is encrypted.

    Source: MS-XLS 2.4.28, 2.4.117.
    """
    position = 0
    macros = False
    for _ in range(MAX_RECORDS):
        kind = int.from_bytes(workbook[position : position + 2], "little")
        length = int.from_bytes(workbook[position + 2 : position + 4], "little")
        if position + 4 > len(workbook) or kind == 0x0A:  # the end of the globals
            break
        if kind == 0x2F:
            return macros, True
        if kind == 0x85 and workbook[position + 9 : position + 10] == b"\1":
            macros = True
        position += 4 + length
    return macros, False
