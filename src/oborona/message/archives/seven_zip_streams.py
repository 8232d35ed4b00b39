"""Where the packed octets of a 7z archive are, and what they unpack to (7zFormat.txt, "Streams
Info", "Folder", "SubStreams Info").
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.message.archives.seven_zip_cursor import MAX_COUNT, SevenZipCursor

START: Final = 32  # octets of the signature header: packed streams are counted from there
COPY: Final = b"\0"
_AES: Final = b"\6\xf1\7\1"
_END, _PACKED, _FOLDERS, _SUBSTREAMS, _SIZES, _DIGESTS, _FOLDER = (
    0x00,
    0x06,
    0x07,
    0x08,
    0x09,
    0x0A,
    0x0B,
)
_UNPACKED_SIZES, _COUNTS = 0x0C, 0x0D


class SevenZipFolder(msgspec.Struct):
    """A folder of 7z: what several coders make of some packed streams."""

    coders: list[tuple[bytes, bytes]]  # number of the method, its properties
    streams: int  # packed streams that it takes
    outputs: int
    size: int = 0
    crc: int = -1
    start: int = 0  # of its first packed stream
    packed: int = 0

    @property
    def encrypted(self) -> bool:
        """Whether a password is needed."""
        return any(method == _AES for method, _ in self.coders)


class SevenZipStreams(msgspec.Struct):
    """Where the packed octets are, and the unpacked streams in order: size, CRC, folder."""

    folders: list[SevenZipFolder] = []
    contents: list[tuple[int, int, SevenZipFolder]] = []


def streams(cursor: SevenZipCursor) -> SevenZipStreams:
    """Return what a header says of streams.

    Raises:
        IndexError: it is broken, or beyond a limit.

    """
    result = SevenZipStreams()
    sizes: list[int] = []
    start = START
    kind = cursor.number()
    if kind == _PACKED:
        start += cursor.number()
        count = cursor.count()
        while (kind := cursor.number()) != _END:
            if kind == _SIZES:
                sizes = [cursor.number() for _ in range(count)]
            else:
                cursor.digests(count)
        kind = cursor.number()
    if kind == _FOLDERS:
        result.folders = _folders(cursor)
        kind = cursor.number()
    used = 0
    for folder in result.folders:
        own = sizes[used : used + folder.streams]
        folder.start = start
        folder.packed = own[0] if own else 0
        start += sum(own)
        used += folder.streams
    result.contents = [(folder.size, folder.crc, folder) for folder in result.folders]
    if kind == _SUBSTREAMS:
        result.contents = _substreams(cursor, result.folders)
        kind = cursor.number()
    return result


def _folders(cursor: SevenZipCursor) -> list[SevenZipFolder]:
    if cursor.number() != _FOLDER:
        raise IndexError(0)
    count = cursor.count()
    if cursor.octet():  # written elsewhere: nobody does
        raise IndexError(0)
    folders = [_folder(cursor) for _ in range(count)]
    while (kind := cursor.number()) != _END:
        if kind == _UNPACKED_SIZES:
            for folder in folders:
                # the last coder's output is the folder's, as every writer orders them
                folder.size = [cursor.number() for _ in range(folder.outputs)][-1]
        elif kind == _DIGESTS:
            for folder, crc in zip(folders, cursor.digests(count), strict=True):
                folder.crc = crc
        else:
            raise IndexError(kind)
    return folders


def _folder(cursor: SevenZipCursor) -> SevenZipFolder:
    coders: list[tuple[bytes, bytes]] = []
    inputs = outputs = 0
    for _ in range(cursor.count(1, 32)):
        flags = cursor.octet()
        method = cursor.octets(flags & 0x0F)
        if flags & 0x10:
            inputs += cursor.count(0, 32)
            outputs += cursor.count(0, 32)
        else:
            inputs += 1
            outputs += 1
        coders.append((method, cursor.octets(cursor.number()) if flags & 0x20 else b""))
    if not outputs:
        raise IndexError(0)
    for _ in range(outputs - 1):
        cursor.number()
        cursor.number()
    streams = inputs - (outputs - 1)
    if streams > 1:
        for _ in range(streams):
            cursor.number()
    return SevenZipFolder(coders=coders, streams=max(0, streams), outputs=outputs)


def _substreams(
    cursor: SevenZipCursor, folders: list[SevenZipFolder]
) -> list[tuple[int, int, SevenZipFolder]]:
    counts = [1] * len(folders)
    kind = cursor.number()
    if kind == _COUNTS:
        counts = [cursor.count() for _ in folders]
        if sum(counts) > MAX_COUNT:
            raise IndexError(sum(counts))
        kind = cursor.number()
    sizes: list[int] = []
    for folder, count in zip(folders, counts, strict=True):
        left = folder.size
        for number in range(count):
            size = left
            if number < count - 1:
                size = cursor.number() if kind == _SIZES else -1
            left -= size
            sizes.append(size)
    if kind == _SIZES:
        kind = cursor.number()
    owners = [folder for folder, count in zip(folders, counts, strict=True) for _ in range(count)]
    checksums = [
        folder.crc if count == 1 else -1
        for folder, count in zip(folders, counts, strict=True)
        for _ in range(count)
    ]
    while kind != _END:
        if kind == _DIGESTS:
            digests = iter(cursor.digests(sum(crc < 0 for crc in checksums)))
            checksums = [next(digests) if crc < 0 else crc for crc in checksums]
        else:
            cursor.octets(cursor.number())
        kind = cursor.number()
    return list(zip(sizes, checksums, owners, strict=True))
