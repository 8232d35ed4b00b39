"""The listing of an ISO 9660 disk image, by its Joliet tree where it has one, as Windows shows it
(ECMA-119 s6.8, s8, s9.1).

A reader of our own: pycdlib builds the whole image in memory, at 6 MB to load. Extents are numbers
in the image: each folder is walked once, and the number of records is limited, so that an image
whose folders hold one another costs no more than an honest one.

Names come without their folders.  Limits: UDF without an ISO 9660 bridge is not listed; Rock Ridge
names are not read.
"""

from __future__ import annotations

from typing import Final

from oborona.message.archives.entry import MAX_ENTRIES, ArchiveEntry, ArchiveListing, StorageMethod
from oborona.message.findings import Findings

_SECTOR: Final = 2048
_FIRST_DESCRIPTOR: Final = 16
MAX_DESCRIPTORS: Final = 32  # volume descriptors: real images have three
MAX_FOLDERS: Final = 200
MAX_FOLDER: Final = 256 << 10  # octets of one folder: 4,000 records
_FOLDER: Final = 2  # a flag of a directory record
_JOLIET: Final = frozenset({b"%/@", b"%/C", b"%/E"})


def listing(octets: bytes, findings: Findings) -> ArchiveListing:
    """Return what a disk image holds; never raises.

    Args:
        octets: of the image.
        findings: gets archive-broken, archive-too-large.

    """
    root, joliet = _root(octets)
    if not root:
        findings.add("archive-broken", "iso")
        return ArchiveListing([])
    entries: list[ArchiveEntry] = []
    visited = {root[0]}
    folders = [root]
    records = 0
    while folders:
        extent, length = folders.pop()
        folder = octets[extent * _SECTOR : extent * _SECTOR + min(length, MAX_FOLDER)]
        position = 0
        while position < len(folder):
            size = folder[position]
            if not size:  # records do not cross sectors
                position = (position // _SECTOR + 1) * _SECTOR
                continue
            record = folder[position : position + size]
            position += size
            if len(record) < 34:
                findings.add("archive-broken", "iso")
                break
            records += 1
            if records > 4 * MAX_ENTRIES or len(entries) >= MAX_ENTRIES:
                findings.add("archive-too-large", f"over {MAX_ENTRIES} files")
                return ArchiveListing(entries)
            raw = record[33 : 33 + record[32]]
            if raw in {b"\0", b"\1", b""}:  # the folder itself, and the one above
                continue
            where = (int.from_bytes(record[2:6], "little"), int.from_bytes(record[10:14], "little"))
            if record[25] & _FOLDER:
                if where[0] not in visited and len(visited) < MAX_FOLDERS:
                    visited.add(where[0])
                    folders.append(where)
                continue
            start = where[0] * _SECTOR
            entries.append(
                ArchiveEntry(
                    name=_name(raw, joliet=joliet),
                    size=where[1],
                    method=StorageMethod.STORED,
                    start=start,
                    packed=max(0, min(where[1], len(octets) - start)),
                )
            )
    return ArchiveListing(entries)


def _root(octets: bytes) -> tuple[tuple[int, int] | None, bool]:
    """Return extent and length of the tree's first folder, and whether its names are Joliet's."""
    primary: tuple[int, int] | None = None
    for number in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + MAX_DESCRIPTORS):
        descriptor = octets[number * _SECTOR : (number + 1) * _SECTOR]
        if descriptor[1:6] != b"CD001" or len(descriptor) < 190 or descriptor[0] == 255:
            break
        record = descriptor[156:190]
        where = (int.from_bytes(record[2:6], "little"), int.from_bytes(record[10:14], "little"))
        if descriptor[0] == 2 and descriptor[88:91] in _JOLIET:
            return where, True
        if descriptor[0] == 1 and primary is None:
            primary = where
    return primary, False


def _name(raw: bytes, *, joliet: bool) -> str:
    name = raw.decode("utf-16-be" if joliet else "latin-1", "replace")
    # the version number, and the dot of a name without extension
    return name.partition(";")[0].rstrip(".")
