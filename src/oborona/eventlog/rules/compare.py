"""What rows would get under other rules: counts by rule, persons that are new or lost, examples.

    found = compare_rules(rows, columns_in_force, columns_on_trial)

The rows have all facts that either rules name (`facts.with_facts`); nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import ibis
import ibis.expr.types as ir

from oborona.eventlog.rules.columns import EVENT, PERSON, ROW
from oborona.eventlog.rules.compile import BETWEEN, RuleColumn, with_rules

EXAMPLES: Final = 20
_BEFORE, _AFTER = "rules_before", "rules_after"
_WAS, _IS = "was_caught", "is_caught"


class ComparedRule(NamedTuple):
    """How many rows a rule has, and would have."""

    name: str
    before: int
    after: int
    gained: int  # rows that it would have, and has not
    lost: int  # rows that it has, and would not


class ComparedRow(NamedTuple):
    """A row whose rules would be others."""

    id: int | str
    person: int | str | None
    event: str | None
    before: tuple[str, ...]
    after: tuple[str, ...]


class RuleComparison(NamedTuple):
    """What rows would get under other rules."""

    rows: int
    changed: int  # rows whose rules would be others
    rules: tuple[ComparedRule, ...]  # by name
    persons_new: tuple[int | str, ...]  # some row of theirs would be caught, and none is
    persons_lost: tuple[int | str, ...]  # some row of theirs is caught, and none would be
    examples: tuple[ComparedRow, ...]  # by id


def compare_rules(
    rows: ir.Table,
    before: Mapping[str, RuleColumn],
    after: Mapping[str, RuleColumn],
    examples: int = EXAMPLES,
) -> RuleComparison:
    """Return what rows get by two sets of rules.

    Args:
        rows: with the facts that both name.
        before: the rules in force, by name.
        after: other rules.
        examples: how many rows are shown, those with the smallest ids.
    """
    names = sorted(before.keys() | after.keys())
    flags = {
        f"{of}_{name}": value
        for name in names
        for of, value in _changes(rows, before.get(name), after.get(name)).items()
    }
    flagged = rows.select(ROW, **flags)
    counts = flagged.aggregate(
        **{name: flagged[name].cast("int64").sum() for name in flags}, all_rows=flagged.count()
    )
    named = with_rules(rows, before, sorted(before), _BEFORE)
    named = with_rules(named, after, sorted(after), _AFTER)
    caught = {_WAS: _names(named[_BEFORE]) != "", _IS: _names(named[_AFTER]) != ""}
    both = named.select(ROW, PERSON, EVENT, _BEFORE, _AFTER, **caught)
    (counted,) = counts.to_pyarrow().to_pylist()
    # rules of both in one order, so that the same rules are the same list
    other = both.filter(_names(both[_BEFORE]) != _names(both[_AFTER]))
    in_order = other.order_by([other[ROW], _names(other[_BEFORE])])  # an id may be told twice
    shown = in_order.limit(examples).to_pyarrow().to_pylist()
    changed: int = other.count().to_pyarrow().as_py()
    persons = (
        both.filter(both[PERSON].notnull())
        .group_by(PERSON)
        .agg(**{_WAS: both[_WAS].any(), _IS: both[_IS].any()})
    )
    turned = persons.filter(persons[_WAS] != persons[_IS]).order_by(PERSON).to_pyarrow().to_pylist()
    return RuleComparison(
        rows=counted["all_rows"],
        changed=changed,
        rules=tuple(
            ComparedRule(
                name,
                *(counted[f"{of}_{name}"] or 0 for of in ("before", "after", "gained", "lost")),
            )
            for name in names
        ),
        persons_new=tuple(person[PERSON] for person in turned if person[_IS]),
        persons_lost=tuple(person[PERSON] for person in turned if person[_WAS]),
        examples=tuple(
            ComparedRow(row[ROW], row[PERSON], row[EVENT], tuple(row[_BEFORE]), tuple(row[_AFTER]))
            for row in shown
        ),
    )


def _names(fired: ir.ArrayValue) -> ir.StringValue:
    """Return names as one text: engines don't compare lists alike."""
    return ibis.coalesce(fired.join(BETWEEN), "")


def _changes(
    rows: ir.Table, before: RuleColumn | None, after: RuleColumn | None
) -> dict[str, ir.BooleanValue]:
    was = ibis.literal(False) if before is None else before(rows)
    is_ = ibis.literal(False) if after is None else after(rows)
    return {"before": was, "after": is_, "gained": is_ & ~was, "lost": was & ~is_}
