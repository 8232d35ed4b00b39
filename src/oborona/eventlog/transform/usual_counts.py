"""How many events of a name a person has in a day, of those persons whom no rule marked."""

from __future__ import annotations

import ibis
from ibis.expr import types as ir

from oborona.eventlog.rule_names import DUPLICATE


def usual_counts(rows: ir.Table, quiet: ir.Table, people: int, most: int) -> ir.Table:
    """Return the middle and the spread of the events that a person has.

    Args:
        rows: of checked tables: `person`, `event`, `rules`.
        quiet: `person` of those for whom rules are suppressed.
        people: events that fewer persons had are left out.
        most: events at most, those that most persons had.

    Returns:
        `event`; `people`, who had any; `middle`, the median of their events; `distance`, the
        median distance from it; `most` of any of them. In order of `event`. Persons with a row that
        fired a rule other than DUPLICATE are left out, and those for whom rules are suppressed:
        robots must not raise their own line.
    """
    known = rows.filter(rows.person.notnull())
    told_twice = ibis.ifelse(known.rules.contains(DUPLICATE), 1, 0)
    marked = known.filter(known.rules.length() > told_twice).select("person").distinct()
    plain = known.anti_join(marked, "person").anti_join(quiet, "person")
    counts = plain.group_by("event", "person").agg(n=plain.count().cast("float64"))
    middles = counts.group_by("event").agg(
        people=counts.count(), middle=counts.n.median(), most=counts.n.max()
    )
    middles = middles.filter(middles.people >= people)
    middles = middles.order_by([middles.people.desc(), middles.event]).limit(most)
    apart = counts.join(middles, "event")
    distances = apart.group_by("event").agg(distance=(apart.n - apart.middle).abs().median())
    return middles.join(distances, "event").order_by("event")
