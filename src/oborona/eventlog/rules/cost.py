"""How long an expression is once it is written out, and in which order conditions are asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Final

import ibis
import ibis.expr.types as ir
from ibis.expr.operations import Node, RegexSearch

MAX_SIZE: Final = 50_000  # nodes of an expression written out: a statement of a megabyte
COSTLY: Final = 25  # operations of a condition that is worth a question before it
PATTERN_COST: Final = 30  # operations in the time of a search for a pattern


def every(conditions: Sequence[ir.BooleanValue]) -> ir.BooleanValue:
    """Return whether all of some conditions hold.

    Where one is costly, the cheap ones are asked first, and it only of rows that are left: of
    `AND` engines calculate both sides of all rows. None fails or is NULL, so the order is free.
    """
    costs = [_cost(condition) for condition in conditions]
    if max(costs) < COSTLY:
        return reduce(and_, conditions)
    ordered = [conditions[place] for place in sorted(range(len(costs)), key=costs.__getitem__)]
    left = ordered.pop()
    while ordered:
        left = ibis.ifelse(ordered.pop(), left, False)
    return left


def _cost(condition: ir.BooleanValue) -> int:
    """Return about how many operations a condition is."""
    patterns = len(condition.op().find(RegexSearch))
    return written_size(condition) + PATTERN_COST * patterns


def written_size(value: ir.Value) -> int:
    """Return how many nodes an expression has once it is written out, without its table."""
    known: dict[Node, int] = {}

    def size(node: Node) -> int:
        if node not in known:
            known[node] = 1 + sum(
                size(child) for child in node.__children__ if not _is_table(child)
            )
        return known[node]

    return size(value.op())


def _is_table(node: Node) -> bool:
    return hasattr(node, "schema")
