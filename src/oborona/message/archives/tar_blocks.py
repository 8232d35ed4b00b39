"""The listing of a tar archive (POSIX.1-2017 pax, "ustar Interchange Format"; GNU long names).

A reader of our own, as the standard library's has been led into endless loops and quadratic
patterns by hostile headers (CVE-2019-20907, CVE-2024-6232, CVE-2025-8194); the patched versions are
not everywhere.  Blocks of 512 octets, each looked at once, always forward.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.archives.entry import (
    MAX_ENTRIES,
    MAX_NAME,
    ArchiveEntry,
    ArchiveListing,
    StorageMethod,
)
from oborona.message.findings import Findings

_BLOCK: Final = 512
_FILES: Final = frozenset(b"0\x007")
_LINKS_AND_MORE: Final = frozenset(b"123456")  # links, devices, folders: no octets of their own
_PAX_PATH: Final = re.compile(rb"(?:\A|\n)\d{1,8} path=([^\n]{1,1024})\n")
MAX_PAX: Final = 64 << 10  # octets of one extended header that are read


def listing(octets: bytes, findings: Findings) -> ArchiveListing:
    """Return what a tar archive holds; never raises.

    Args:
        octets: of the archive.
        findings: gets archive-broken, archive-too-large.

    """
    entries: list[ArchiveEntry] = []
    position = 0
    long_name = b""
    headers = 0
    while position + _BLOCK <= len(octets):
        header = octets[position : position + _BLOCK]
        if not header[0]:  # the end, or nothing
            break
        headers += 1
        size = _number(header[124:136])
        if size < 0 or headers > 2 * MAX_ENTRIES or len(entries) >= MAX_ENTRIES:
            findings.add(
                *(
                    ("archive-broken", "tar")
                    if size < 0
                    else ("archive-too-large", f"over {MAX_ENTRIES} files")
                )
            )
            break
        kind = header[156]
        start = position + _BLOCK
        if kind in _LINKS_AND_MORE:
            size = 0
        position = start + -(-size // _BLOCK) * _BLOCK
        if kind == ord("L"):
            long_name = octets[start : start + min(size, MAX_NAME)].rstrip(b"\0")
            continue
        if kind == ord("x"):
            match = _PAX_PATH.search(octets[start : start + min(size, MAX_PAX)])
            long_name = match[1] if match else b""
            continue
        if kind in _FILES:
            name = long_name or _plain_name(header)
            if not name.endswith(b"/"):
                whole = start + size <= len(octets)
                entries.append(
                    ArchiveEntry(
                        name=name.decode("utf-8", "replace"),
                        size=size,
                        method=StorageMethod.STORED,
                        start=start,
                        packed=size if whole else len(octets) - start,
                    )
                )
        long_name = b""
    return ArchiveListing(entries)


def _plain_name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _number(field: bytes) -> int:
    """Return an octal number, or GNU's binary one; -1 for what is none."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    text = field.strip(b" \0")
    if not text:
        return 0
    return int(text, 8) if text.isdigit() and not text.strip(b"01234567") else -1
