"""Rows of a batch: its tables one behind the other, and the rules laid back onto each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oborona.eventlog.batch.store import SHADOW
from oborona.eventlog.periods import moments
from oborona.eventlog.rules.compile import BETWEEN
from oborona.eventlog.schema import RULES
from oborona.eventlog.slots import DAY_S, delivered_at
from oborona.eventlog.suppression.names import SUPPRESSED


def batch_rows(tables: Mapping[str, pa.Table], newest: int = 0) -> pa.Table:
    """Return the rows of tables with `moment`, `place`, the `table` and `slot` they are of, and
    `day`, after which the day of that table begins.

    Args:
        tables: by name, in the order of delivery.
        newest: the latest slot of tables that were checked before, Unix seconds; 0 = none were.
    """
    rows = pa.concat_tables(
        table.append_column("moment", moments(table, name)) for name, table in tables.items()
    )
    rows = rows.append_column("place", pa.array(np.arange(rows.num_rows, dtype=np.int64)))
    counts = [table.num_rows for table in tables.values()]
    numbers = np.repeat(np.arange(len(tables)), counts)
    slots = np.repeat([delivered_at(name) for name in tables], counts)
    rows = rows.append_column("table", pa.array(numbers, pa.int64()))
    rows = rows.append_column("slot", pa.array(slots, pa.int64()))
    return rows.append_column("day", pa.array(np.maximum(slots, newest) - DAY_S, pa.int64()))


def by_table(tables: Iterable[str], rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield what was computed of each table, without the column `table`.

    Args:
        tables: names, as `batch_rows` was given them.
        rows: in order of `table`.
    """
    numbers = rows.column("table").to_numpy()
    rows = rows.drop_columns(["table"])
    for number, name in enumerate(tables):
        begin, end = np.searchsorted(numbers, [number, number + 1])
        yield name, rows.slice(int(begin), int(end - begin))


def with_rules(tables: Mapping[str, pa.Table], fired: pa.Table) -> dict[str, pa.Table]:
    """Return tables with the column of rules.

    Args:
        tables: as `batch_rows` was given them.
        fired: `place` and `rules` of all of them, as `without_suppressed` gives them.
    """
    texts = fired.column("rules")
    checked, begin = {}, 0
    for name, table in tables.items():
        checked[name] = table.append_column(
            pa.field(RULES, pa.list_(pa.string()), nullable=False),
            rule_lists(texts.slice(begin, table.num_rows)),
        )
        begin += table.num_rows
    return checked


def rule_counts(rules: pa.ChunkedArray | pa.Array) -> tuple[int, dict[str, int]]:
    """Return how many rows fired any rule, and how many each of them."""
    marked = pc.sum(pc.greater(pc.list_value_length(rules), 0)).as_py() or 0
    counts = Counter[str](pc.list_flatten(rules).to_pylist())
    return marked, dict(sorted(counts.items()))


def unshown_counts(tables: Mapping[str, pa.Table], fired: pa.Table) -> dict[str, dict[str, int]]:
    """Return how many rows of each table each rule would have marked that is in shadow mode, or
    suppressed for their person, by the names that `status` shows.

    Args:
        tables: as `batch_rows` was given them.
        fired: `shadow` and `suppressed` of all of them, as `without_suppressed` gives them.
    """
    counts, begin = {}, 0
    for name, table in tables.items():
        counts[name] = {
            f"{rule}{behind}": number
            for column, behind in (("shadow", SHADOW), ("suppressed", SUPPRESSED))
            for rule, number in rule_counts(
                rule_lists(fired.column(column).slice(begin, table.num_rows))
            )[1].items()
        }
        begin += table.num_rows
    return counts


def rule_lists(texts: pa.ChunkedArray) -> pa.Array:
    """Return lists of names of texts with a comma before each name."""
    encoded = pc.dictionary_encode(texts).combine_chunks()
    kinds: Sequence[str] = encoded.dictionary.to_pylist() if len(texts) else ()
    lists = pa.array([text.split(BETWEEN)[1:] for text in kinds], pa.list_(pa.string()))
    return lists.take(encoded.indices) if kinds else lists
