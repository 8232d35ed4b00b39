"""Which rules each event of a batch fired.

The rules of the system come first:

    DUPLICATE  the same was told before: another event of the day has the same key, and an earlier
               moment; of equal moments the one that was delivered first is the original
    ABNORMAL   its person had more events of one name in the day than the threshold of that name

The day is what was remembered of earlier tables (`histories`), and the batch itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import ibis
from ibis.expr import types as ir

DUPLICATE: Final = "DUPLICATE"
ABNORMAL: Final = "ABNORMAL"
SEPARATOR: Final = ","

EventCondition: TypeAlias = ibis.Deferred | Callable[[ir.Table], ir.BooleanValue]
"""A condition over the columns of a table of events."""


def fired_rules(
    events: ir.Table,
    keys: ir.Table,
    counts: ir.Table,
    thresholds: Mapping[str, float],
    threshold: float,
    rules: Mapping[str, EventCondition],
) -> ir.Table:
    """Return the names of the rules that each event fired.

    Args:
        events: rows of the batch: the columns of its log, and `place`, the row's number from 0 on
            in the order of delivery, and `moment`, microseconds since the epoch, never null.
        keys: `key`, `moment` of earlier tables.
        counts: `person`, `event`, `n` of earlier tables.
        thresholds: by name of an event.
        threshold: of all other names.
        rules: the policy's, by name, in the order in which they are told.

    Returns:
        `place`, `rules` (names with a comma before each; empty = none fired), in order of place.
    """
    facts = _facts(
        events,
        _repeated_places(events, keys),
        _abnormal_persons(events, counts, thresholds, threshold),
    )
    # The one place where rules become flags: those of the policy stand behind the system's.
    flags = {DUPLICATE: facts.duplicate, ABNORMAL: facts.abnormal} | {
        name: facts.bind(condition)[0] for name, condition in rules.items()
    }
    names = ibis.literal("")
    for name, flag in flags.items():
        names += ibis.ifelse(flag, SEPARATOR + name, "")
    return facts.select("place", rules=names).order_by("place")


def _facts(events: ir.Table, repeated: ir.Table, abnormal: ir.Table) -> ir.Table:
    """Return the events with what is known of each: `duplicate`, `abnormal`."""
    known = events.left_join(repeated, "place").select(events, "duplicate")
    known = known.left_join(abnormal, "person").select(known, "abnormal")
    return known.mutate(
        duplicate=known.duplicate.fill_null(False),
        abnormal=known.abnormal.fill_null(False),
    )


def _repeated_places(events: ir.Table, keys: ir.Table) -> ir.Table:
    """Return the `place` of each event that was told before."""
    told = events.filter(events.key.notnull()).select("place", "key", "moment")
    turn = ibis.row_number().over(
        ibis.window(group_by=told.key, order_by=[told.moment, told.place])
    )
    earlier = keys.semi_join(told, "key")
    earlier = earlier.group_by("key").agg(before=earlier.moment.min())
    told = told.mutate(turn=turn).left_join(earlier, "key")
    repeated = told.filter((told.turn > 0) | (told.before <= told.moment))
    return repeated.select("place", duplicate=ibis.literal(value=True))


def _abnormal_persons(
    events: ir.Table, counts: ir.Table, thresholds: Mapping[str, float], threshold: float
) -> ir.Table:
    """Return the `person`s of the batch who had more of an event in the day than its threshold."""
    own = events.filter(events.person.notnull())
    own = own.group_by("person", "event").agg(n=own.count())
    day = ibis.union(counts.semi_join(own, "person"), own)
    day = day.group_by("person", "event").agg(n=day.n.sum())
    line = (
        ibis.cases(
            *((day.event == name, most) for name, most in thresholds.items()), else_=threshold
        )
        if thresholds
        else threshold
    )
    over = day.filter(day.n > line)
    return over.select("person").distinct().mutate(abnormal=ibis.literal(value=True))
