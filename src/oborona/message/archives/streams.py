"""The one file in a gzip, bzip2 or xz stream (RFC 1952)."""

from __future__ import annotations

from typing import Final

from oborona.message.archives.entry import MAX_NAME, ArchiveEntry, ArchiveListing, StorageMethod

_METHODS: Final = {"gz": StorageMethod.GZIP, "bz2": StorageMethod.BZIP2, "xz": StorageMethod.XZ}
_ENDINGS: Final = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar"}


def listing(octets: bytes, kind: str, name: str) -> ArchiveListing:
    """Return the file that a stream holds; never raises.

    Args:
        octets: of the stream.
        kind: gz, bz2 or xz.
        name: of the stream's own file; without its last extension it names what is inside, unless
            the stream does.

    """
    inside = _gzip_name(octets) if kind == "gz" else ""
    if not inside:
        stem, _, ending = name.rpartition(".")
        inside = stem + _ENDINGS.get("." + ending.lower(), "") if stem else name
    size = crc = -1
    if (
        kind == "gz" and len(octets) >= 18
    ):  # of the last member; a second one is rare, and makes it a number like any other
        crc, size = int.from_bytes(octets[-8:-4], "little"), int.from_bytes(octets[-4:], "little")
    return ArchiveListing(
        [
            ArchiveEntry(
                name=inside, size=size, crc=crc, method=_METHODS[kind], start=0, packed=len(octets)
            )
        ]
    )


def _gzip_name(octets: bytes) -> str:
    """Return the name in a gzip header, empty when there is none. Source: RFC 1952 s2.3.1."""
    flags = octets[3:4] or b"\0"
    position = 10
    if flags[0] & 4:  # an extra field
        position += 2 + int.from_bytes(octets[10:12], "little")
    if not flags[0] & 8:
        return ""
    return octets[position : position + MAX_NAME].partition(b"\0")[0].decode("latin-1")
