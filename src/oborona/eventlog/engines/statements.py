"""Statements that are made once: to build an expression and write it as SQL takes as long as to
compute a small batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

import pyarrow as pa
from ibis.expr import types as ir

MOST: Final = 200  # thresholds change each day, and rules when somebody edits them


class Statement(NamedTuple):
    """What is asked of an engine, in its own words."""

    sql: str
    columns: pa.Schema  # of its answer


class StatementCache:
    """The statements of one engine that were asked last, by their keys.

    Args:
        compile_rows: writes an expression as the engine's SQL.
    """

    def __init__(self, compile_rows: Callable[[ir.Table], str]) -> None:
        self._compile = compile_rows
        self._known: OrderedDict[Hashable, Statement] = OrderedDict()

    def of(self, key: Hashable, build: Callable[[], ir.Table]) -> Statement:
        """Return the statement that is known under a key; it is made where none is."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.made(build())
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return found

    def made(self, rows: ir.Table) -> Statement:
        """Return the statement of an expression."""
        return Statement(self._compile(rows), rows.schema().to_pyarrow())
