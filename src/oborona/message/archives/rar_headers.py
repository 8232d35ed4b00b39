"""The listing of a RAR archive of version 4 or 5, by the headers before its files (RARLAB,
technote.txt of RAR 4 and 5).

A reader of our own, as rarfile 4.5 starts a program to read an archive's comment and adds 16 MB to
load; it is the oracle of the tests. Files are listed, and those that are stored can be taken out;
nothing is unpacked.

Limits: of several volumes, what is listed in this one; an archive behind a program
(self-extracting) is a program.
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

_VERSION_5: Final = b"Rar!\x1a\x07\x01\x00"
_VERSION_4: Final = b"Rar!\x1a\x07\x00"
MAX_BLOCKS: Final = 4 * MAX_ENTRIES  # comments, recovery records and services included

# version 4
_BLOCK: Final = Struct("<HBHH")  # checksum, type, flags, size
_FILE: Final = Struct(
    "<LLBLLBBHL"
)  # packed, size, system, CRC, time, version, method, length of the name, attributes
_MAIN_4, _FILE_4, _END_4 = 0x73, 0x74, 0x7B
_LOCKED: Final = 0x0080
_ENCRYPTED: Final = 0x0004
_LARGE: Final = 0x0100
_UNICODE: Final = 0x0200
_FOLDER: Final = 0x00E0
_HAS_DATA: Final = 0x8000
_STORED_4: Final = 0x30

# version 5
_FILE_5, _ENCRYPTION_5, _END_5 = 2, 4, 5
_STORED_METHOD: Final = 7 << 7  # bits of the compression information; all 0 = stored


def listing(octets: bytes, findings: Findings) -> ArchiveListing:
    """Return what a RAR archive holds; never raises.

    Args:
        octets: of the archive.
        findings: gets archive-broken, archive-too-large.

    """
    try:
        if octets.startswith(_VERSION_5):
            return _version_5(octets, findings)
        if octets.startswith(_VERSION_4):
            return _version_4(octets, findings)
    except IndexError:  # raised by `_Cursor` alone
        pass
    findings.add("archive-broken", "rar")
    return ArchiveListing([])


def _version_4(octets: bytes, findings: Findings) -> ArchiveListing:
    entries: list[ArchiveEntry] = []
    position = len(_VERSION_4)
    for _ in range(MAX_BLOCKS):
        if position + _BLOCK.size > len(octets) or len(entries) >= MAX_ENTRIES:
            break
        _, kind, flags, size = _BLOCK.unpack_from(octets, position)
        if kind == _END_4:
            return ArchiveListing(entries)
        if kind == _MAIN_4 and flags & _LOCKED:
            return ArchiveListing(entries, locked=True)
        data = position + size
        fixed = position + _BLOCK.size
        if size < _BLOCK.size:
            findings.add("archive-broken", "rar")
            return ArchiveListing(entries)
        packed = 0
        if kind == _FILE_4:
            if fixed + _FILE.size + 8 > len(octets):
                break
            packed, unpacked, _, crc, _, _, method, length, _ = _FILE.unpack_from(octets, fixed)
            at = fixed + _FILE.size
            if flags & _LARGE:
                packed |= int.from_bytes(octets[at : at + 4], "little") << 32
                unpacked |= int.from_bytes(octets[at + 4 : at + 8], "little") << 32
                at += 8
            if flags & _FOLDER != _FOLDER:
                encrypted = bool(flags & _ENCRYPTED)
                entries.append(
                    ArchiveEntry(
                        name=_name_4(octets[at : at + min(length, MAX_NAME)], flags),
                        size=unpacked,
                        crc=crc,
                        encrypted=encrypted,
                        method=StorageMethod.STORED
                        if method == _STORED_4 and not encrypted
                        else StorageMethod.CLOSED,
                        start=data,
                        packed=packed,
                    )
                )
        elif flags & _HAS_DATA:
            packed = int.from_bytes(octets[fixed : fixed + 4], "little")
        position = data + packed
    else:
        findings.add("archive-too-large", f"over {MAX_BLOCKS} blocks")
    if len(entries) >= MAX_ENTRIES:
        findings.add("archive-too-large", f"over {MAX_ENTRIES} files")
    return ArchiveListing(entries)


def _name_4(raw: bytes, flags: int) -> str:
    plain, nul, packed = raw.partition(b"\0")
    if flags & _UNICODE and nul:
        return _unpacked_name(plain, packed)
    return plain.decode("utf-8", "replace")


def _unpacked_name(plain: bytes, packed: bytes) -> str:
    """Return a UTF-16 name that is written as its difference from a name of octets.

    Source: unrar, encname.cpp.
    """
    out = bytearray()
    high = packed[0:1] or b"\0"
    position, bits, flags = 1, 0, 0
    while position < len(packed) and len(out) < 2 * MAX_NAME:
        if not bits:
            flags, bits = packed[position], 8
            position += 1
        bits -= 2
        mode = flags >> bits & 3
        octets = packed[position : position + 2]
        position += 2 if mode == 2 else 1
        if not octets:
            break
        if mode < 2:
            out += octets[:1] + (high if mode else b"\0")
        elif mode == 2:
            out += octets.ljust(2, b"\0")
        else:
            count = (octets[0] & 0x7F) + 2
            shift = 0
            if octets[0] & 0x80:
                shift = octets[1] if len(octets) > 1 else 0
                position += 1
            place = len(out) // 2
            for octet in plain[place : place + count]:
                out += bytes(((octet + shift) & 0xFF,)) + (high if octets[0] & 0x80 else b"\0")
    return out.decode("utf-16-le", "replace")


def _version_5(octets: bytes, findings: Findings) -> ArchiveListing:
    entries: list[ArchiveEntry] = []
    position = len(_VERSION_5)
    for _ in range(MAX_BLOCKS):
        if position + 7 > len(octets) or len(entries) >= MAX_ENTRIES:
            break
        cursor = _Cursor(octets, position + 4)  # after the checksum
        size = cursor.number()
        data = cursor.position + size
        kind, flags = cursor.number(), cursor.number()
        extra = cursor.number() if flags & 1 else 0
        packed = cursor.number() if flags & 2 else 0
        if kind == _END_5:
            return ArchiveListing(entries)
        if kind == _ENCRYPTION_5:
            return ArchiveListing(entries, locked=True)
        if kind == _FILE_5:
            entry = _file_5(cursor, octets[data - min(extra, size) : data], data, packed)
            if entry is not None:
                entries.append(entry)
        position = data + packed
    else:
        findings.add("archive-too-large", f"over {MAX_BLOCKS} blocks")
    if len(entries) >= MAX_ENTRIES:
        findings.add("archive-too-large", f"over {MAX_ENTRIES} files")
    return ArchiveListing(entries)


def _file_5(cursor: _Cursor, extra: bytes, data: int, packed: int) -> ArchiveEntry | None:
    """Return a file by its header, None for a folder."""
    flags, size, _ = cursor.number(), cursor.number(), cursor.number()
    if flags & 2:
        cursor.position += 4  # time
    crc = cursor.fixed() if flags & 4 else -1
    method, _ = cursor.number(), cursor.number()
    name = cursor.octets(cursor.number())
    if flags & 1:
        return None
    encrypted = _encrypted_5(extra)
    return ArchiveEntry(
        name=name.decode("utf-8", "replace"),
        size=-1 if flags & 8 else size,
        crc=-1 if encrypted else crc,  # a keyed one
        encrypted=encrypted,
        method=StorageMethod.STORED
        if not method & _STORED_METHOD and not encrypted
        else StorageMethod.CLOSED,
        start=data,
        packed=packed,
    )


def _encrypted_5(extra: bytes) -> bool:
    cursor = _Cursor(extra, 0)
    while cursor.position < len(extra):
        size = cursor.number()
        following = cursor.position + size
        if not size:
            return False
        if cursor.number() == 1:
            return True
        cursor.position = following
    return False


class _Cursor:
    """Reads numbers of 7 bits an octet; beyond the end it raises IndexError."""

    __slots__ = ("_octets", "position")

    def __init__(self, octets: bytes, position: int) -> None:
        self._octets = octets
        self.position = position

    def number(self) -> int:
        value = 0
        for shift in range(0, 70, 7):  # at most 10 octets
            octet = self._octets[self.position]
            self.position += 1
            value |= (octet & 0x7F) << shift
            if octet < 0x80:
                return value
        raise IndexError(self.position)

    def fixed(self) -> int:
        self.position += 4
        return int.from_bytes(self._octets[self.position - 4 : self.position], "little")

    def octets(self, length: int) -> bytes:
        start, self.position = self.position, self.position + length
        return self._octets[start : start + min(length, MAX_NAME)]
