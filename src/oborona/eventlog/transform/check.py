"""Which rules each event of a batch fired.

The rules of the system come first:

    DUPLICATE  the same was told before: another event of the day has the same key, and an earlier
               moment; of equal moments the one that was delivered first is the original
    ABNORMAL   its person had more events of one name in the day than the threshold of that name

The day of a table is 24 hours of tables, by their slots, up to it or to the newest that was checked
before. A table sees those that were checked before it, the earlier ones of its batch and itself: so
the same comes of tables in whatever batches they are checked.

Those of the policy follow (`eventlog.policy_rules`). What they ask of persons is read from the
earlier tables themselves; a batch has one table then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import ibis
from ibis.expr import types as ir

from oborona.eventlog.policy_rules import EventRules
from oborona.eventlog.rule_names import ABNORMAL, DUPLICATE
from oborona.eventlog.rules.compile import fired_names

QUIET: Final = "names_quiet"
"""The column of names that are not held against the person of a row."""
EARLIER: Final = ibis.literal(-1, type="int64")
"""The number of all tables that were checked before the batch."""


def fired_rules(
    events: ir.Table,
    keys: ir.Table,
    counts: ir.Table,
    thresholds: Mapping[str, float],
    threshold: float,
    rules: EventRules,
    day: ir.Table,
    suppressed: ir.Table | None = None,
) -> ir.Table:
    """Return the names of the rules that each event fired.

    Args:
        events: rows of the batch: the columns of its log, and `place`, the row's number from 0 on
            in the order of delivery, `table`, the number of its table from 0 on, `slot`, of that
            table in Unix seconds, `day`, after which its day begins, and `moment`, microseconds
            since the epoch, never null.
        keys: `slot`, `key`, `moment` of tables that were checked before.
        counts: `slot`, `person`, `event`, `n` of the same.
        thresholds: by name of an event.
        threshold: of all other names.
        rules: of the policy.
        day: the rows of earlier tables, with the columns of the log.
        suppressed: `table`, `person` and `names_quiet`, each pair once: what is not held against a
            person (`suppression.names.quiet_table`); None = all is held against everybody.

    Returns:
        `place`, `rules` (names with a comma before each; empty = none fired), `shadow` (the same of
        rules in shadow mode), `names_quiet` of the person (empty = none), in order of place. Names
        that fired are all there, those that are suppressed, too.
    """
    facts = known_facts(events, keys, counts, thresholds, threshold, rules, day)
    columns = {name: f"fired_{number}" for number, name in enumerate(rules.columns)}
    conditions = {columns[name]: condition for name, condition in rules.columns.items()}
    quiet: ir.StringValue = ibis.literal("")
    if suppressed is not None:
        joined = facts.left_join(suppressed, ["table", "person"])
        facts = joined.select(facts, QUIET)
        quiet = facts[QUIET].fill_null("")
    conditions[QUIET] = lambda _: quiet
    flagged = facts.select("place", "duplicate", "abnormal", **conditions).view()
    system = {DUPLICATE: flagged.duplicate, ABNORMAL: flagged.abnormal}
    return flagged.select(
        "place",
        rules=fired_names(system | {name: flagged[columns[name]] for name in rules.live}),
        shadow=fired_names({name: flagged[columns[name]] for name in rules.shadow}),
        **{QUIET: flagged[QUIET]},
    ).order_by("place")


def known_facts(
    events: ir.Table,
    keys: ir.Table,
    counts: ir.Table,
    thresholds: Mapping[str, float],
    threshold: float,
    rules: EventRules,
    day: ir.Table,
) -> ir.Table:
    """Return the events with all facts that rules ask for; arguments as of `fired_rules`."""
    facts = _facts(
        events,
        _repeated_places(events, keys),
        _abnormal_persons(events, counts, thresholds, threshold),
    )
    return rules.with_day(facts, day, thresholds, threshold) if rules.needed else facts


def _facts(events: ir.Table, repeated: ir.Table, abnormal: ir.Table) -> ir.Table:
    """Return the events with what is known of each: `duplicate`, `abnormal`."""
    known = events.left_join(repeated, "place").select(events, "duplicate")
    known = known.left_join(abnormal, ["table", "person"]).select(known, "abnormal")
    return known.mutate(
        duplicate=known.duplicate.fill_null(False),
        abnormal=known.abnormal.fill_null(False),
    )


def _repeated_places(events: ir.Table, keys: ir.Table) -> ir.Table:
    """Return the `place` of each event that was told before."""
    told = events.filter(events.key.notnull()).select(
        "place", "table", "slot", "day", "key", "moment"
    )
    own = told.group_by("table", "slot", "day", "key").agg(moment=told.moment.min())
    before = keys.semi_join(own, "key").select("slot", "key", "moment", table=EARLIER)
    known = ibis.union(before, own.select("slot", "key", "moment", table=own.table)).view()
    seen = own.join(
        known, [own.key == known.key, known.table < own.table, known.slot > own.day]
    ).select(own.table, own.key, seen=known.moment)
    first = seen.group_by("table", "key").agg(first=seen.seen.min())
    turn = ibis.row_number().over(
        ibis.window(group_by=[told.table, told.key], order_by=[told.moment, told.place])
    )
    told = told.mutate(turn=turn)
    told = told.left_join(first, ["table", "key"]).select(told, "first")
    repeated = told.filter((told.turn > 0) | (told.first <= told.moment))
    return repeated.select("place", duplicate=ibis.literal(value=True))


def _abnormal_persons(
    events: ir.Table, counts: ir.Table, thresholds: Mapping[str, float], threshold: float
) -> ir.Table:
    """Return `table` and `person` of those who had more of an event than its threshold."""
    own = events.filter(events.person.notnull())
    own = own.group_by("table", "slot", "day", "person", "event").agg(n=own.count())
    asked = own.select("table", "day", "person").distinct()
    before = counts.semi_join(asked, "person")
    before = before.select("slot", "person", "event", "n", table=EARLIER)
    known = ibis.union(before, own.select("slot", "person", "event", "n", table=own.table)).view()
    seen = asked.join(
        known, [asked.person == known.person, known.table <= asked.table, known.slot > asked.day]
    ).select(asked.table, asked.person, event=known.event, n=known.n)
    day = seen.group_by("table", "person", "event").agg(n=seen.n.sum())
    line = (
        ibis.cases(
            *((day.event == name, most) for name, most in thresholds.items()), else_=threshold
        )
        if thresholds
        else threshold
    )
    over = day.filter(day.n > line)
    return over.select("table", "person").distinct().mutate(abnormal=ibis.literal(value=True))
