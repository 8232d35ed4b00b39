"""Events that came before: who sends them by HTTP sends them again where no answer came."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oborona.eventlog.tables.parquet import read_column
from oborona.eventlog.tables.table_file import TableDamaged


def without_repeated(table: pa.Table, earlier: Iterable[Path]) -> pa.Table:
    """Return the rows of a table whose id is in no earlier one; of several in it the first.

    Args:
        table: of events.
        earlier: files of tables of the log; one that can't be read is told by whoever checks it.

    Raises:
        StoreError: one can't be read now.
    """
    places = pa.array(np.arange(table.num_rows))
    firsts = (
        pa.table({"id": table.column("id"), "place": places})
        .group_by("id")
        .aggregate([("place", "min")])
        .column("place_min")
    )
    table = table.take(firsts.take(pc.sort_indices(firsts)))
    for path in earlier:
        if not table.num_rows:
            break
        try:
            known = read_column(path, "id")
        except TableDamaged:
            continue
        ids = table.column("id")
        if known.type == ids.type:  # it was declared otherwise then
            table = table.filter(pc.invert(pc.is_in(ids, value_set=known)))
    return table
