"""What in a PDF acts by itself (ISO 32000-1 s12.6.4, s7.11.4): scripts, programs to start, files
inside.

A bounded search, no parser: names are found as they are written, with their #xx escapes undone
(s7.3.5), in the file and in its object streams (s7.5.7), where newer writers keep the dictionaries.

Limits: encrypted ones and other filters than FlateDecode are not opened; a name inside a text or a
stream counts like one in a dictionary.
"""

from __future__ import annotations

import re
import zlib
from itertools import islice
from typing import Final

from oborona.message.findings import Findings

MAX_SEARCHED: Final = 2 << 20  # octets from the beginning, and as many from the end
MAX_STREAMS: Final = 30  # object streams opened; a page needs one or two
MAX_STREAM: Final = 256 << 10  # octets of one, unpacked
MAX_UNPACKED: Final = 512 << 10  # of a message's PDFs together
MAX_ESCAPED: Final = 200  # names with escapes that are read, of a file or a stream
_END: Final = rb"(?=[\0\t\n\x0c\r ()<>\[\]{}/%]|\Z)"  # s7.2.2: what ends a name
_NAMES: Final = tuple(
    (re.compile(b"/" + name.encode() + _END), f"/{name}", finding)
    for name, finding in (
        ("JavaScript", "document-script"),
        ("JS", "document-script"),
        ("Launch", "document-launch"),
        ("EmbeddedFile", "document-object"),
    )
)
_ESCAPED: Final = re.compile(
    rb"/[A-Za-z]{0,12}#[2-7][0-9A-Fa-f](?:[A-Za-z]|#[2-7][0-9A-Fa-f]){0,20}"
)
_ESCAPE: Final = re.compile(rb"#([0-9A-Fa-f]{2})")
_STREAM: Final = re.compile(rb"stream\r?\n")


def look(octets: bytes, name: str, findings: Findings) -> None:
    """Look for what acts by itself; never raises.

    Args:
        octets: of the file.
        name: for evidence.
        findings: gets document-script, document-launch, document-object.

    """
    if len(octets) > 2 * MAX_SEARCHED:
        octets = octets[:MAX_SEARCHED] + octets[-MAX_SEARCHED:]
    _search(octets, name, findings)
    at = octets.find(b"/ObjStm")
    for _ in range(MAX_STREAMS):
        if at < 0:
            break
        stream = _STREAM.search(octets, at, at + 1000)
        following = octets.find(b"/ObjStm", at + 7)
        if stream is not None:
            unpacked = _inflated(octets[stream.end() : stream.end() + MAX_STREAM])
            if not findings.afford("pdf", len(unpacked), MAX_UNPACKED):
                break
            _search(unpacked, name, findings)
        at = following


def _search(octets: bytes, name: str, findings: Findings) -> None:
    if b"#" in octets:
        escaped = [
            _ESCAPE.sub(_unescape, match[0]) + b" "
            for match in islice(_ESCAPED.finditer(octets), MAX_ESCAPED)
        ]
        octets += b"".join(dict.fromkeys(escaped))
    for pattern, mark, finding in _NAMES:
        if pattern.search(octets):
            findings.add(finding, f"{name}: {mark}")


def _inflated(octets: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(octets, MAX_STREAM)
    except zlib.error:
        return b""  # another filter, or broken: readers see no more of it


def _unescape(escape: re.Match[bytes]) -> bytes:
    return bytes((int(escape[1], 16),))
