"""What rows would get under other rules."""

from __future__ import annotations

from typing import Any, Final

import ibis

from oborona.eventlog.rules.columns import table_schema
from oborona.eventlog.rules.compare import ComparedRow, ComparedRule, compare_rules
from oborona.eventlog.rules.compile import compile_rules
from oborona.policy.event_rules import LogRules
from oborona.policy.rules import Rule
from tests.eventlog.made_rows import source
from tests.eventlog.random_expressions import LISTS, LOG, SCHEMA, ExpressionMaker, rows_of, rules_of


def rules(**conditions: str) -> LogRules:
    return LogRules(
        LOG, [Rule(name=name, when=when, score=0.0) for name, when in conditions.items()], LISTS
    )


ROWS: Final[list[dict[str, Any]]] = [
    {"person": 1, "event": "click", "price": 10.0},
    {"person": 1, "event": "show", "price": 1.0},
    {"person": 2, "event": "click", "price": 5.0},
    {"person": 3, "event": "show", "price": 20.0},
    {"person": None, "event": "show", "price": 30.0},
]


def test_rows_persons_and_examples_are_told() -> None:
    before = compile_rules(rules(CLICK="event == 'click'", OLD="price > 8"), LOG)
    after = compile_rules(rules(CLICK="event == 'click' and price > 8", NEW="price > 15"), LOG)
    found = compare_rules(ibis.memtable(source(ROWS)), before, after)
    assert (found.rows, found.changed) == (5, 4)
    assert found.rules == (
        ComparedRule("CLICK", 2, 1, 0, 1),
        ComparedRule("NEW", 0, 2, 2, 0),
        ComparedRule("OLD", 3, 0, 0, 3),
    )
    assert (found.persons_new, found.persons_lost) == ((), (2,))
    assert found.examples[0] == ComparedRow(0, 1, "click", ("CLICK", "OLD"), ("CLICK",))
    assert [row.id for row in found.examples] == [0, 2, 3, 4]
    turned = compare_rules(ibis.memtable(source(ROWS)), after, before, examples=1)
    assert (turned.persons_new, turned.persons_lost) == ((2,), ())
    assert len(turned.examples) == 1
    assert turned.changed == 4


def test_the_same_rules_change_nothing() -> None:
    maker = ExpressionMaker(3)
    same = compile_rules(rules_of([maker.condition() for _ in range(12)]), LOG)
    found = compare_rules(ibis.memtable(rows_of(3, 100)), same, same)
    assert (found.changed, found.persons_new, found.persons_lost, found.examples) == (0, (), (), ())
    assert all(rule.before == rule.after for rule in found.rules)


def test_no_rows_and_no_rules_are_no_fault() -> None:
    some = compile_rules(rules(CLICK="event == 'click'"), LOG)
    empty = ibis.memtable(
        source([]),
        schema=ibis.schema(
            {
                name: kind
                for name, kind in table_schema(LOG, SCHEMA).items()
                if name in source([]).column_names
            }
        ),
    )
    assert compare_rules(empty, some, {}).rules == (ComparedRule("CLICK", 0, 0, 0, 0),)
    assert compare_rules(ibis.memtable(source(ROWS)), {}, {}).rows == 5
