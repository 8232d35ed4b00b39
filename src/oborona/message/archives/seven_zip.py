"""The listing of a 7z archive (7-Zip source, DOC/7zFormat.txt): its header, unpacked where it is
packed, up to a limit.

A reader of our own, as py7zr 1.1 brings seven packages and 17 MB to unpack what is not unpacked
here.  Of the files nothing is taken out but what is stored; the header, when packed (it nearly
always is), is unpacked by the standard library's lzma.
"""

from __future__ import annotations

import lzma
from struct import Struct
from typing import Any, Final

from oborona.message.archives.entry import (
    MAX_ENTRIES,
    MAX_NAME,
    ArchiveEntry,
    ArchiveListing,
    StorageMethod,
)
from oborona.message.archives.seven_zip_cursor import SevenZipCursor
from oborona.message.archives.seven_zip_streams import (
    COPY,
    START,
    SevenZipFolder,
    SevenZipStreams,
    streams,
)
from oborona.message.findings import Findings

_START: Final = Struct("<6s2sLQQL")
MAX_HEADER: Final = 1 << 20  # octets of a header, unpacked: 10,000 files
MAX_ROUNDS: Final = 3  # a packed header may hold a packed header; 7-Zip writes one

_END, _HEADER, _PROPERTIES, _ADDITIONAL, _MAIN, _FILES = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05
_EMPTY, _EMPTY_FILES, _NAMES, _ENCODED = 0x0E, 0x0F, 0x11, 0x17
_LZMA: Final = b"\3\1\1"
_LZMA2: Final = b"\x21"


def listing(octets: bytes, findings: Findings) -> ArchiveListing:
    """Return what a 7z archive holds; never raises.

    Args:
        octets: of the archive.
        findings: gets archive-broken, archive-too-large.

    """
    try:
        return _read(octets, findings)
    except (IndexError, lzma.LZMAError, EOFError):  # IndexError: beyond the end, or beyond a limit
        findings.add("archive-broken", "7z")
        return ArchiveListing([])


def _read(octets: bytes, findings: Findings) -> ArchiveListing:
    if len(octets) < START:
        raise IndexError(len(octets))
    _, _, _, offset, size, _ = _START.unpack_from(octets)
    if not size:
        return ArchiveListing([])
    header = octets[START + offset : START + offset + min(size, MAX_HEADER)]
    for _ in range(MAX_ROUNDS):
        cursor = SevenZipCursor(header)
        kind = cursor.number()
        if kind == _HEADER:
            return _header(cursor, findings)
        if kind != _ENCODED:
            break
        packed = streams(cursor)
        if not packed.folders:
            break
        folder = packed.folders[0]
        if folder.encrypted:
            return ArchiveListing([], locked=True)
        header = _unpacked(octets, folder)
    raise IndexError(0)


def _unpacked(octets: bytes, folder: SevenZipFolder) -> bytes:
    packed = octets[folder.start : folder.start + folder.packed]
    if len(folder.coders) != 1 or folder.size > MAX_HEADER:
        raise IndexError(folder.size)
    method, properties = folder.coders[0]
    if method == COPY:
        return packed
    filters: dict[str, Any]
    # no distance is longer than the output: the dictionary that is asked for is not what is needed
    if method == _LZMA and len(properties) == 5 and properties[0] < 9 * 5 * 5:
        rest, lc = divmod(properties[0], 9)
        pb, lp = divmod(rest, 5)
        filters = {"id": lzma.FILTER_LZMA1, "dict_size": MAX_HEADER, "lc": lc, "lp": lp, "pb": pb}
    elif method == _LZMA2:
        filters = {"id": lzma.FILTER_LZMA2, "dict_size": MAX_HEADER}
    else:
        raise IndexError(0)
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[filters]).decompress(packed, folder.size)


def _header(cursor: SevenZipCursor, findings: Findings) -> ArchiveListing:
    header = SevenZipStreams()
    kind = cursor.number()
    if kind == _PROPERTIES:
        while cursor.number() != _END:
            cursor.octets(cursor.number())
        kind = cursor.number()
    if kind == _ADDITIONAL:
        streams(cursor)
        kind = cursor.number()
    if kind == _MAIN:
        header = streams(cursor)
        kind = cursor.number()
    if kind != _FILES:
        return ArchiveListing([])
    count = cursor.count()
    names: list[str] = []
    empty = [False] * count
    empty_files: list[bool] = []
    while (kind := cursor.number()) != _END:
        piece = cursor.piece(cursor.number())
        if kind == _NAMES and not piece.octet():
            names = piece.rest().decode("utf-16-le", "replace").split("\0", count)[:count]
        elif kind == _EMPTY:
            empty = piece.bits(count)
        elif kind == _EMPTY_FILES:
            empty_files = piece.bits(sum(empty))
    entries: list[ArchiveEntry] = []
    contents = iter(header.contents)
    files = iter(empty_files)
    for name, without in zip(names, empty, strict=False):
        if len(entries) >= MAX_ENTRIES:
            findings.add("archive-too-large", f"over {MAX_ENTRIES} files")
            break
        if without:
            if next(files, False):  # an empty file; else a folder
                entries.append(ArchiveEntry(name=name[:MAX_NAME], size=0))
            continue
        size, crc, folder = next(contents, (-1, -1, None))
        stored = (
            folder is not None and folder.size == size and [m for m, _ in folder.coders] == [COPY]
        )
        entries.append(
            ArchiveEntry(
                name=name[:MAX_NAME],
                size=size,
                crc=crc,
                encrypted=folder is not None and folder.encrypted,
                method=StorageMethod.STORED if stored else StorageMethod.CLOSED,
                start=folder.start if folder is not None and stored else 0,
                packed=folder.packed if folder is not None and stored else 0,
            )
        )
    return ArchiveListing(entries)
