"""What must hold of what lies in the state folder or comes back as a name of an entry, whatever
octets it is: damage is told, and is never read as something.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from typing import Final

from oborona import ident
from oborona.counters import batch, decode, record
from oborona.counters.window import BUCKETS_A_DAY, METRICS, SATURATED, bucket_of
from oborona.errors import StoreVersion
from oborona.types import Window
from tests.fuzz.common import text_of

NOW: Final = 1_795_170_000.0
KEY: Final = b"f" * 32


def counter_record(octets: bytes) -> None:
    """The key and the cells of a record are sound or told.

    Of any whole cells the sums are counts, and tidying them changes no count of today.
    """
    key, cells = octets[: record.KEY_BYTES], octets[record.KEY_BYTES :]
    record.problem(key, cells)
    cells = cells[: len(cells) // record.CELL_BYTES * record.CELL_BYTES]
    bucket = bucket_of(NOW)
    (before,) = decode.totals([cells], NOW)
    assert len(before) == len(Window)
    assert all(0 <= count <= SATURATED for window in before for count in window)
    assert all(len(window) == METRICS for window in before)
    decode.timeline(cells, NOW)
    tidied = record.tidy(cells, bucket)
    assert record.tidy(tidied, bucket) == tidied
    if not record.takes(cells):
        assert decode.totals([tidied], NOW)[0][Window.RECENT] == before[Window.RECENT]
    record.seen_in_day(cells, bucket // BUCKETS_A_DAY)
    assert not len(record.merge(cells, cells[: record.CELL_BYTES], bucket)) % record.CELL_BYTES


def spool_record(octets: bytes) -> None:
    """Octets are a batch, torn or damaged.

    Under a right checksum too, and the next one is looked for behind it.
    """
    start = batch.START.size
    sealed = octets
    if len(octets) >= batch.HEADER_BYTES:
        magic, version, segments, _, _ = batch.START.unpack_from(octets)
        covered = octets[start:]
        sealed = (
            batch.START.pack(
                magic, version, segments, len(covered) - batch.REST.size, zlib.crc32(covered)
            )
            + covered
        )
    for data in (octets, sealed):
        with contextlib.suppress(batch.TornRecord, batch.DamagedRecord, StoreVersion):
            found = batch.decode(data)
            assert batch.HEADER_BYTES <= found.end <= len(data)
            assert all(len(segment.keys) == len(segment.cells) for segment in found.segments)
            assert all(len(key) == record.KEY_BYTES for key in found.forgotten)
        assert 0 < batch.resume(data, 0) <= max(len(data), 1) or not data


def entry_name(octets: bytes) -> None:
    """A name is an id that has the same name, or none.

    Nobody without the key signs one, and what is signed is read back.
    """
    text = text_of(octets)
    assert ident.verify(text, KEY) is None
    found = ident.from_text(text)
    if found is not None:
        assert ident.from_text(ident.to_text(found)) == found
        assert ident.verify(ident.sign(found, KEY), KEY) == found
        assert ident.first_id_at(ident.time_of_id(found)) <= found | (1 << ident.TIME_SHIFT) - 1
    if len(octets) >= 8:
        (number,) = struct.unpack_from(">Q", octets)
        assert ident.from_text(ident.to_text(number & ident.HIGHEST)) == number & ident.HIGHEST
