"""A record of the journal's spool: one row as bytes, and back; without files.

    header    magic "OBJS", version, kind, length of what follows the header, CRC-32 of kind and
              what follows; little-endian
    payload   MessagePack of the row, as `journal.rows` packs it

Records are independent, so a damaged one costs no other.  A truncated end, as a kill in the middle
of a write leaves it, is told from damage.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from oborona.journal.rows import CopyDeliveryRow, EntryRow, LateRow, asks_json, widen

MAGIC: Final = b"OBJS"
VERSION: Final = 1
HEADER: Final = struct.Struct("<4sBBII")
LENGTH_LIMIT: Final = 64 << 20  # an entry takes a hundredth at most; more is a damaged length

_ENCODE: Final = msgspec.msgpack.Encoder().encode


class PolicyRow(NamedTuple):
    """What the rules of a policy ask, ready to be written."""

    version: str
    asks: bytes  # JSON, for `journal.rows.unpack_asks`


Waiting = EntryRow | LateRow | CopyDeliveryRow
Spooled = Waiting | PolicyRow

_KINDS: Final[dict[type[Spooled], int]] = {
    EntryRow: 1,
    LateRow: 2,
    CopyDeliveryRow: 3,
    PolicyRow: 4,
}
_DECODERS: Final[dict[int, msgspec.msgpack.Decoder[Any]]] = {
    # texts that are no Unicode, and blobs, are bytes in MessagePack, too
    1: msgspec.msgpack.Decoder(
        tuple[tuple[Any, ...], tuple[Any, ...], int | None, tuple[str, ...], int]
    ),
    2: msgspec.msgpack.Decoder(tuple[tuple[Any, ...], int]),
    3: msgspec.msgpack.Decoder(tuple[tuple[Any, ...], int]),
    4: msgspec.msgpack.Decoder(tuple[str, bytes]),
}
_TYPES: Final = {kind: type_ for type_, kind in _KINDS.items()}


class UnreadableBytes(NamedTuple):
    """Bytes of a spool that are no record."""

    offset: int
    size: int
    torn: bool  # the last record, of which the end never came
    why: str


def pack_policy(version: str, asks: Mapping[str, str]) -> PolicyRow:
    """Return what the rules of a policy ask as a row."""
    text = asks_json(asks)
    return PolicyRow(version, text if isinstance(text, bytes) else text.encode())


def encode(row: Spooled) -> bytes:
    """Return the record of a row.

    Raises:
        Exception: the row is not what its types say: our own bug.
    """
    kind, payload = _KINDS[type(row)], _ENCODE(row)
    return HEADER.pack(MAGIC, VERSION, kind, len(payload), zlib.crc32(payload, kind)) + payload


def decode_all(data: bytes) -> tuple[list[Spooled], list[UnreadableBytes]]:
    """Return the rows of a whole file, in order, and what of it is none.

    What is damaged is skipped to the next whole record.
    """
    records: list[Spooled] = []
    unread: list[UnreadableBytes] = []
    at = 0
    while at < len(data):
        record, why = _record(data, at)
        if record is not None:
            row, at = record
            records.append(row)
            continue
        following = _next_whole(data, at)
        torn = why == _SHORT and following == len(data)
        unread.append(UnreadableBytes(at, following - at, torn, why))
        at = following
    return records, unread


_SHORT: Final = "it is cut short"


def _record(data: bytes, at: int) -> tuple[tuple[Spooled, int] | None, str]:
    """Return the row that begins at a place and where it ends; or None, and why."""
    if len(data) - at < HEADER.size:
        return None, _SHORT if MAGIC.startswith(
            data[at : at + len(MAGIC)]
        ) else "no record begins here"
    magic, version, kind, length, checksum = HEADER.unpack_from(data, at)
    if magic != MAGIC or length > LENGTH_LIMIT:
        return None, "no record begins here"
    if version != VERSION or kind not in _TYPES:
        return None, f"its version {version} and kind {kind} are not known"
    begin, end = at + HEADER.size, at + HEADER.size + length
    if end > len(data):
        return None, _SHORT
    payload = data[begin:end]
    if zlib.crc32(payload, kind) != checksum:
        return None, "its check value is wrong"
    try:
        values = _DECODERS[kind].decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return None, f"it holds no row: {error}"
    row = _TYPES[kind](*values)
    return (row._replace(verdict=widen(row.verdict)) if isinstance(row, EntryRow) else row, end), ""


def _next_whole(data: bytes, at: int) -> int:
    """Return where the next whole record begins behind a place; the end if there is none."""
    place = data.find(MAGIC, at + 1)
    while place >= 0:
        if _record(data, place)[0] is not None:
            return place
        place = data.find(MAGIC, place + 1)
    return len(data)
