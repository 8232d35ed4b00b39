"""Compound files and VBA containers, written plainly enough that a reader of the tests sees what is
in them.
"""

from __future__ import annotations

from struct import pack

SECTOR = 512
_FREE, _END, _TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound_file(streams: dict[str, bytes], storages: tuple[str, ...] = ()) -> bytes:
    """Return a compound file with one sector of allocation table.

    Each stream gets sectors of its own (MS-CFB 2.2, 2.6).
    """
    entries = [_entry("Root Entry", 5, _END, 0), *(_entry(name, 1, 0, 0) for name in storages)]
    directory_sectors = -(-(len(entries) + len(streams)) // 4)
    table = [_TABLE, *range(2, 1 + directory_sectors), _END]
    body = bytearray()
    for name, given in streams.items():
        content = given.ljust(4096, b"\0")  # the smallest that does not go into the mini stream
        start, count = len(table), -(-len(content) // SECTOR)
        table += [*range(start + 1, start + count), _END]
        entries.append(_entry(name, 2, start, len(content)))
        body += content.ljust(count * SECTOR, b"\0")
    assert len(table) <= SECTOR // 4
    directory = b"".join(entries).ljust(directory_sectors * SECTOR, b"\0")
    header = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(16)
        + pack("<HHHHH6xLLL4xLLLLL", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 4096, _END, 0, _END, 0)
    )
    header = header.ljust(76, b"\0") + pack("<109L", 0, *[_FREE] * 108)
    return header + pack("<128L", *table, *[_FREE] * (128 - len(table))) + directory + bytes(body)


def _entry(name: str, kind: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le")
    return (
        encoded.ljust(64, b"\0")
        + pack("<HBB", len(encoded) + 2, kind, 1)
        + pack("<LLL", _FREE, _FREE, _FREE)
        + bytes(36)
        + pack("<LLL", start, size, 0)
    )


def container(source: bytes) -> bytes:
    """Return VBA source in its compressed container, every octet a literal (MS-OVBA 2.4.1.1)."""
    out = bytearray(b"\1")
    for at in range(0, len(source), 3000):
        chunk = source[at : at + 3000]
        tokens = b"".join(b"\0" + chunk[group : group + 8] for group in range(0, len(chunk), 8))
        out += pack("<H", 0xB000 | len(tokens) - 1) + tokens
    return bytes(out)


def macro_project(source: bytes) -> dict[str, bytes]:
    """Return the streams of a VBA project with one module."""
    text = b'Attribute VB_Name = "ThisDocument"\r\n' + source
    return {
        "_VBA_PROJECT": b"\xcc\x61",
        "dir": b"\1",
        "ThisDocument": b"\1\2\3compiled" + container(text),
    }
