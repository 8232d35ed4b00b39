"""What is remembered of tables for a day: which events there were, and how many of each person."""

from __future__ import annotations

from ibis.expr import types as ir


def event_keys(events: ir.Table) -> ir.Table:
    """Return each key of each table with the first moment at which it is told.

    Args:
        events: rows of a batch: `table`, `slot`, `key` and `moment` of each.

    Returns:
        `table`, `slot`, `key`, `moment`: a row for each table and key, in their order.
    """
    told = events.filter(events.key.notnull())
    firsts = told.group_by("table", "slot", "key").agg(moment=told.moment.min())
    return firsts.order_by("table", "key")


def event_counts(events: ir.Table) -> ir.Table:
    """Return how many events of each name a person had in each table.

    Args:
        events: rows of a batch: `table`, `slot`, `person` and `event` of each.

    Returns:
        `table`, `slot`, `person`, `event`, `n`: a row for each table, person and name, in their
        order.
    """
    told = events.filter(events.person.notnull())
    counts = told.group_by("table", "slot", "person", "event").agg(n=told.count())
    return counts.order_by("table", "person", "event")
