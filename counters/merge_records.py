"""Many packed records at once, as the writer grows them: `record.merge`, a whole batch at a time.

    the last cells of all records beside the one cell that each gains → where both are of one bucket
    and level and no digit carries, the sum takes the place of the last cell; the others go one by
    one

Hot keys, of which a batch may have tens of thousands, are nearly all of the first kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from oborona.counters import record
from oborona.counters.batch import Cells
from oborona.counters.record import CELL_BYTES

LEVEL_SHIFT: Final = np.uint64(record.LEVEL_SHIFT)
COUNTS: Final = np.uint64(record.COUNTS)
TOP_BITS: Final = np.uint64(record.TOP_BITS)


def merge_records(
    records: Sequence[bytes],
    cells: Cells,
    starts: npt.NDArray[np.intp],
    ends: npt.NDArray[np.intp],
    reference: int | None,
) -> list[bytes]:
    """Return each record with its cells added, tidied now and then.

    Args:
        records: none empty.
        cells: what they gain, and maybe other cells.
        starts: where in `cells` those of each record begin.
        ends: where they end.
        reference: as in `record.merge`.
    """
    lasts = np.frombuffer(b"".join([octets[-CELL_BYTES:] for octets in records]), "<u8")
    gains = cells[starts]
    have, more = lasts & COUNTS, gains & COUNTS
    merged = have + more
    carries = (have & more | (have | more) & ~merged) & TOP_BITS != 0
    alike = (ends - starts == 1) & (lasts >> LEVEL_SHIFT == gains >> LEVEL_SHIFT) & ~carries
    tails = (lasts + more).tobytes()
    values = [
        octets[:-CELL_BYTES] + tails[at : at + CELL_BYTES]
        for octets, at in zip(records, range(0, len(tails), CELL_BYTES), strict=True)
    ]
    for place in np.flatnonzero(~alike).tolist():
        delta = cells[starts[place] : ends[place]].tobytes()
        values[place] = record.merge(records[place], delta, reference)
    return values
