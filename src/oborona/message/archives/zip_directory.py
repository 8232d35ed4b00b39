"""The listing of a zip archive, by its central directory (PKWARE APPNOTE 6.3.10).

A reader of our own, because the standard library's takes the whole directory before it answers: 4
µs and 500 octets for each of as many entries as a stranger cares to write.  This one stops at
`MAX_ENTRIES`, and looks at what that one does not: whether the header before each file agrees with
the directory, and whether two files lie on the same octets.

Limits: an archive cut before its directory is read by its local headers, sizes where they stand
there; several disks are not joined.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from oborona.message.archives.entry import (
    MAX_ENTRIES,
    MAX_NAME,
    ArchiveEntry,
    ArchiveListing,
    StorageMethod,
)
from oborona.message.findings import Findings

_END: Final = Struct("<4s4H2LH")  # s4.3.16
_END_64: Final = Struct("<4sQ2H2L4Q")  # s4.3.14
_LOCATOR: Final = Struct("<4sLQL")  # s4.3.15
_CENTRAL: Final = Struct("<4s6H3L5H2L")  # s4.3.12
_LOCAL: Final = Struct("<4s5H3L2H")  # s4.3.7
_TAIL: Final = _END.size + (1 << 16)  # the end record, and the longest comment behind it
_WHOLE: Final = 0xFFFFFFFF  # "see the zip64 field", s4.5.3
_UTF8: Final = 1 << 11  # s4.4.4
_LATER: Final = 1 << 3  # sizes stand behind the file
_METHODS: Final = {
    0: StorageMethod.STORED,
    8: StorageMethod.DEFLATED,
    12: StorageMethod.BZIP2,
}  # s4.4.5
_AES: Final = 99


def ends_with_zip(octets: bytes) -> bool:
    """Return whether a zip archive ends the octets, whatever stands before it."""
    return octets.rfind(b"PK\x05\x06", max(0, len(octets) - _TAIL)) >= 0


def listing(octets: bytes, findings: Findings) -> ArchiveListing:
    """Return what a zip archive holds; never raises.

    Args:
        octets: of the archive.
        findings: gets archive-broken, archive-contradicts, archive-bomb, archive-too-large.

    """
    end = octets.rfind(b"PK\x05\x06", max(0, len(octets) - _TAIL))
    if end < 0 or end + _END.size > len(octets):
        findings.add("archive-broken", "zip without a directory")
        return ArchiveListing(_locals(octets))
    _, _, _, _, _, size, start, _ = _END.unpack_from(octets, end)
    stands = end  # where the directory ends
    locator = end - _LOCATOR.size
    if locator >= 0 and octets.startswith(b"PK\x06\x07", locator):
        stated = _LOCATOR.unpack_from(octets, locator)[2]
        # where it says; with data before the archive, where it is written
        for at in (stated, locator - _END_64.size):
            if 0 <= at <= locator - _END_64.size and octets.startswith(b"PK\x06\x06", at):
                *_, size, start = _END_64.unpack_from(octets, at)
                stands = at
                break
    # octets that stand before the archive (a self-extractor, a disguise)
    before = stands - size - start
    if before < 0 or stands - size < 0:
        findings.add("archive-broken", "zip directory beyond its end")
        return ArchiveListing(_locals(octets))
    if before > 0 and not octets.startswith(b"MZ"):
        findings.add("archive-contradicts", f"{before} octets before a zip")
    entries = _central(octets, stands - size, stands, before, findings)
    _overlaps(entries, stands - size, findings)
    return ArchiveListing(entries)


def _central(
    octets: bytes, position: int, end: int, before: int, findings: Findings
) -> list[ArchiveEntry]:
    entries: list[ArchiveEntry] = []
    while position + _CENTRAL.size <= end:
        if len(entries) >= MAX_ENTRIES:
            findings.add("archive-too-large", f"over {MAX_ENTRIES} files")
            break
        (
            mark,
            _,
            _,
            flags,
            method,
            _,
            _,
            crc,
            packed,
            size,
            name_length,
            extra_length,
            comment_length,
            *_,
            start,
        ) = _CENTRAL.unpack_from(octets, position)
        if mark != b"PK\x01\x02":
            findings.add("archive-broken", "zip directory")
            break
        at = position + _CENTRAL.size
        raw = octets[at : at + min(name_length, MAX_NAME)]
        extra = octets[at + name_length : at + name_length + extra_length]
        position = at + name_length + extra_length + comment_length
        if _WHOLE in (packed, size, start):
            size, packed, start = _large(extra, size, packed, start)
        data = _data(octets, start + before, raw, flags, method, findings)
        if raw.endswith(b"/") and not size:
            continue  # a folder
        encrypted = bool(flags & 1) or method == _AES
        entries.append(
            ArchiveEntry(
                name=_name(raw, flags),
                size=size,
                crc=-1 if method == _AES and not crc else crc,  # AE-2 leaves it out
                encrypted=encrypted,
                method=StorageMethod.CLOSED
                if encrypted
                else _METHODS.get(method, StorageMethod.CLOSED),
                start=data,
                packed=packed if data >= 0 else 0,
            )
        )
    return entries


def _data(
    octets: bytes, local: int, name: bytes, flags: int, method: int, findings: Findings
) -> int:
    """Return where a file's packed octets begin, -1 when its own header is not there.

    Says so when the two disagree.
    """
    if (
        local < 0
        or local + _LOCAL.size > len(octets)
        or not octets.startswith(b"PK\x03\x04", local)
    ):
        findings.add("archive-broken", name)
        return -1
    _, _, own_flags, own_method, _, _, _, _, _, name_length, extra_length = _LOCAL.unpack_from(
        octets, local
    )
    at = local + _LOCAL.size
    own = octets[at : at + min(name_length, MAX_NAME)]
    # bit 13 masks the local header, s4.4.4
    if not flags & 1 << 13 and (own != name or own_method != method or (own_flags ^ flags) & 1):
        findings.add("archive-contradicts", own + b" is " + name)
    return int(at + name_length + extra_length)


def _large(extra: bytes, size: int, packed: int, start: int) -> tuple[int, int, int]:
    """Return sizes and offset with those of the zip64 field in place of the marks.

    Source: APPNOTE s4.5.3.
    """
    position = 0
    while position + 4 <= len(extra):
        kind = int.from_bytes(extra[position : position + 2], "little")
        length = int.from_bytes(extra[position + 2 : position + 4], "little")
        if kind == 1:
            field = extra[position + 4 : position + 4 + length]
            large = [
                int.from_bytes(field[at : at + 8], "little") for at in range(0, len(field) - 7, 8)
            ]
            sizes = [size, packed, start]
            for place, value in enumerate(sizes):
                if value == _WHOLE and large:
                    sizes[place] = large.pop(0)
            return sizes[0], sizes[1], sizes[2]
        position += 4 + length
    return size, packed, start


def _overlaps(entries: list[ArchiveEntry], end: int, findings: Findings) -> None:
    """Say so when files lie on one another's octets: the way to unpack petabytes from megabytes."""
    reached = 0
    for entry in sorted(
        (entry for entry in entries if entry.packed), key=lambda entry: entry.start
    ):
        if entry.start < reached or entry.start + entry.packed > end:
            findings.add("archive-bomb", entry.name)
            return
        reached = entry.start + entry.packed


def _locals(octets: bytes) -> list[ArchiveEntry]:
    """Return the files of an archive without a directory, by the headers before each.

    A size that is not there ends it.
    """
    entries: list[ArchiveEntry] = []
    position = 0
    while position + _LOCAL.size <= len(octets) and len(entries) < MAX_ENTRIES:
        mark, _, flags, method, _, _, crc, packed, size, name_length, extra_length = (
            _LOCAL.unpack_from(octets, position)
        )
        if mark != b"PK\x03\x04":
            break
        at = position + _LOCAL.size
        raw = octets[at : at + min(name_length, MAX_NAME)]
        data = at + name_length + extra_length
        unknown = bool(flags & _LATER) and not packed
        entries.append(
            ArchiveEntry(
                name=_name(raw, flags),
                size=-1 if unknown else size,
                crc=-1 if unknown else crc,
                encrypted=bool(flags & 1),
                method=StorageMethod.CLOSED
                if flags & 1
                else _METHODS.get(method, StorageMethod.CLOSED),
                start=data,
                packed=max(0, len(octets) - data) if unknown else packed,
            )
        )
        if unknown:
            break
        position = data + packed
    return entries


def _name(raw: bytes, flags: int) -> str:
    """Return a name as unpackers read it: UTF-8 where it is said or is so, else the PC's own
    alphabet (s4.4.4, D.1).
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace") if flags & _UTF8 else raw.decode("cp437")
