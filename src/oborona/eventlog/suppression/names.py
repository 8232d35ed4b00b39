"""The names that fired on a row, told apart: those that stand on it, and those that are suppressed.

`DUPLICATE` says nothing of a person, but that a source told an event twice: it always stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from oborona.eventlog.rule_names import DUPLICATE
from oborona.eventlog.rules.compile import BETWEEN
from oborona.eventlog.suppression.quiet_rule import EVERY, QuietRule, quiet_names
from oborona.eventlog.transform.check import QUIET

SUPPRESSED: Final = " (suppressed)"  # behind the name of a rule that is not held against a person
_MOST_TEXTS: Final = 10_000


@lru_cache(_MOST_TEXTS)
def told_apart(names: str, quiet: str) -> tuple[str, str]:
    """Return the names that stand, and those that are suppressed, each with a comma before it.

    Args:
        names: that fired, with a comma before each.
        quiet: names that are not held against the person, as `quiet_names` gives them.
    """
    stand, gone = "", ""
    for name in names.split(BETWEEN)[1:]:
        if is_quiet(name, quiet):
            gone += BETWEEN + name
        else:
            stand += BETWEEN + name
    return stand, gone


def is_quiet(name: str, quiet: str) -> bool:
    """Tell whether a rule is not held against a person; arguments as of `told_apart`."""
    return name != DUPLICATE and (quiet == EVERY or name in quiet.split())


def quiet_table(rules: Iterable[QuietRule], spans: Iterable[tuple[float, float]]) -> pa.Table:
    """Return what `check.fired_rules` takes: the names that are not held against persons.

    Args:
        rules: of any time.
        spans: of each table, in their order: Unix seconds, the second not in it.
    """
    kept = tuple(rules)
    rows = [
        {"table": table, "person": person, QUIET: names}
        for table, (start, end) in enumerate(spans)
        for person, names in quiet_names(kept, start, end).items()
    ]
    return pa.Table.from_pylist(
        rows, pa.schema([("table", pa.int64()), ("person", pa.int64()), (QUIET, pa.string())])
    )


def without_suppressed(fired: pa.Table) -> pa.Table:
    """Return what fired on rows with what is suppressed in a column of its own.

    Args:
        fired: `place`, `rules`, `shadow`, and the names that are not held against the person, as
            `check.fired_rules` gives them.

    Returns:
        `place`, `rules`, `shadow`, `suppressed`: names as texts.
    """
    quiet = fired.column(QUIET)
    touched = pc.not_equal(quiet, "").combine_chunks()
    some = fired.filter(touched).select(["rules", "shadow", QUIET]).to_pylist()
    empty = pa.chunked_array([pa.repeat(pa.scalar("", pa.string()), fired.num_rows)])
    if not some:
        return fired.drop_columns([QUIET]).append_column("suppressed", empty)
    rules = [told_apart(row["rules"], row[QUIET]) for row in some]
    shadow = [told_apart(row["shadow"], row[QUIET]) for row in some]
    gone = [one + other for (_, one), (_, other) in zip(rules, shadow, strict=True)]

    def laid(column: pa.ChunkedArray, texts: list[str]) -> pa.ChunkedArray:
        return pc.replace_with_mask(column, touched, pa.array(texts, pa.string()))

    return pa.table(
        {
            "place": fired.column("place"),
            "rules": laid(fired.column("rules"), [stand for stand, _ in rules]),
            "shadow": laid(fired.column("shadow"), [stand for stand, _ in shadow]),
            "suppressed": laid(empty, gone),
        }
    )
