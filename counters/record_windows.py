"""The windows of many keys at once, from what the store has of them: their records, or for keys
without one their sighting at the doorkeeper.

Sums are as they are: a record that is taken from before it is added to gives windows below zero,
and who reads it adds what else it knows before it takes those for zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from oborona.counters import decode, doorkeeper
from oborona.counters.record import CELL_BYTES, takes
from oborona.counters.rows import Row
from oborona.counters.window import BUCKET_S


def window_totals(
    keys: Sequence[bytes],
    records: Sequence[bytes],
    slots: memoryview[int] | None,
    bucket: int,
    nothing: Row,
    /,
) -> tuple[list[Row], bool]:
    """Return [key][Window][Metric], and whether something in the records takes back.

    The twin of the native core's.

    Args:
        keys: of the store, 10 octets each.
        records: of the keys, in their order; one that is damaged counts as none.
        slots: of the doorkeeper, in a row; None = there is none.
        bucket: the current ten-minute bucket.
        nothing: stands for keys of which nothing is known.
    """
    sound = [record if not len(record) % CELL_BYTES else b"" for record in records]
    if slots is not None:
        absent = [place for place, record in enumerate(sound) if not record]
        absent_keys = [keys[place] for place in absent]
        for place, cell in doorkeeper.cells_seen_once(slots, absent_keys, absent, bucket):
            sound[place] = cell
    rows = decode.signed_totals(sound, bucket * BUCKET_S)
    return [row if record else nothing for row, record in zip(rows, sound, strict=True)], any(
        map(takes, sound)
    )
