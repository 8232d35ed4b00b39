"""What every reader of a listing returns, and how the octets of one file are taken out, never more
than was asked for.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

import msgspec

MAX_ENTRIES: Final = 500  # files listed of one archive: mail carries tens; 500 cost some 5 ms
MAX_NAME: Final = 1024  # octets of a name that are read: four times what file systems take
XZ_MEMORY: Final = 32 << 20  # octets a stream may make xz take: presets up to -8 ask for no more
_SLICE: Final = 64 << 10  # octets given to a decompressor at a time


class StorageMethod(Enum):
    """How the octets of a file lie in its archive."""

    STORED = "stored"
    DEFLATED = "deflated"  # RFC 1951
    GZIP = "gzip"  # RFC 1952, one member
    BZIP2 = "bzip2"
    XZ = "xz"
    CLOSED = "closed"  # encrypted, or packed in a way that is not undone here


class ArchiveEntry(msgspec.Struct, frozen=True):
    """One file in an archive, by its listing."""

    name: str
    size: int = -1  # octets, unpacked, as the listing says; -1 = it does not
    crc: int = -1  # CRC-32 of them, as the listing says; -1 = it does not
    encrypted: bool = False
    method: StorageMethod = StorageMethod.CLOSED
    start: int = 0  # of its packed octets in the archive
    packed: int = 0  # how many


class ArchiveListing(msgspec.Struct, frozen=True):
    """What an archive says it holds."""

    entries: list[ArchiveEntry]
    locked: bool = False  # the names are encrypted, too


def take(archive: bytes, entry: ArchiveEntry, limit: int) -> bytes:
    """Return the first `limit` octets of a file, or all.

    What cannot be unpacked ends where it breaks. Never raises.

    Work is of the order of what is returned.
    """
    end = min(entry.start + entry.packed, len(archive))
    if entry.method is StorageMethod.STORED:
        return archive[entry.start : min(end, entry.start + limit)]
    if entry.method is StorageMethod.CLOSED or limit <= 0:
        return b""
    out = bytearray()
    try:
        if entry.method in _BLOCKS:
            _blocks(archive, entry.start, end, limit, _BLOCKS[entry.method](), out)
        else:
            window = (
                -zlib.MAX_WBITS if entry.method is StorageMethod.DEFLATED else 16 + zlib.MAX_WBITS
            )
            _inflate(archive, entry.start, end, limit, window, out)
    except (zlib.error, OSError, lzma.LZMAError, EOFError, ValueError):
        pass  # what came before the break is what every unpacker would have written
    return bytes(out)


def _inflate(archive: bytes, start: int, end: int, limit: int, window: int, out: bytearray) -> None:
    undo = zlib.decompressobj(window)
    data = b""
    while len(out) < limit and not undo.eof:
        data = undo.unconsumed_tail
        if not data:
            data = archive[start : min(start + _SLICE, start + limit + 64, end)]
            start += len(data)
            if not data:
                break
        out += undo.decompress(data, limit - len(out))


def _blocks(
    archive: bytes,
    start: int,
    end: int,
    limit: int,
    undo: bz2.BZ2Decompressor | lzma.LZMADecompressor,
    out: bytearray,
) -> None:
    while len(out) < limit and not undo.eof:
        data = b""
        if undo.needs_input:
            data = archive[start : min(start + _SLICE, end)]
            start += len(data)
            if not data:
                break
        out += undo.decompress(data, limit - len(out))


_BLOCKS: Final[dict[StorageMethod, Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]]] = {
    StorageMethod.BZIP2: bz2.BZ2Decompressor,
    StorageMethod.XZ: partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY),
}
