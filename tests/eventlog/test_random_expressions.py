"""What an engine calculates of a table is what the function of one row says of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.types as ir
import pytest

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules import arithmetic
from oborona.eventlog.rules.compile import compile_rules
from oborona.eventlog.rules.emit import TableEmitter
from oborona.eventlog.rules.row import RowFacts, RowRules, readers
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.single_expression import compile_single
from oborona.policy.expression.syntax import ExpressionSource
from tests.eventlog.random_expressions import LOG, SCHEMA, ExpressionMaker, rows_of, rules_of

EXPRESSIONS = int(os.environ.get("OBORONA_EXPRESSIONS", "300"))  # 20,000 in a long run
AT_ONCE = 50  # expressions of one statement
ROWS = 200


def differences(
    seed: int,
    count: int,
    run: Callable[[ir.Table], Any],
    engine: TableEngine,
    table: Callable[[Any], ir.Table],
) -> list[str]:
    """Return the expressions of a seed whose rows an engine sees otherwise, with one such row."""
    maker = ExpressionMaker(seed)
    rules = rules_of([maker.condition() for _ in range(count)])
    rows = rows_of(seed, ROWS)
    by_row = RowRules(rules, LOG)
    fired: list[set[str]] = []
    for row in rows.to_pylist():
        hits, failed = by_row.fired(row)
        assert failed == []
        fired.append({hit.name for hit in hits})
    made = table(rows)
    columns = {name: column(made) for name, column in compile_rules(rules, LOG, engine).items()}
    found = run(made.select("id", **columns).order_by("id")).to_pydict()
    assert found.pop("id") == list(range(ROWS))
    return [
        f"seed {seed}: {rule.when} of row {place}: {value}"
        for rule in rules.rules
        for place, value in enumerate(found[rule.name])
        if value is not (rule.name in fired[place])
    ]


@pytest.fixture(scope="module")
def duckdb() -> ibis.BaseBackend:
    return ibis.duckdb.connect(threads=1)


class NumberTree:
    """A number of the language, for a table and for one row."""

    def __init__(self, text: str) -> None:
        self._checker = ExpressionChecker(SCHEMA, RuleLoads())
        self._checker.check(text)
        self._root = next(reversed(self._checker.pieces))
        self.of_facts = compile_single(text, SCHEMA, PieceKind.NUMBER).value
        self._source = ExpressionSource(text)

    def of_table(self, table: ir.Table) -> ir.FloatingValue:
        emitter = TableEmitter(
            table,
            SCHEMA,
            LOG.columns,
            self._checker.pieces,
            self._source,
            TableEngine.DUCKDB,
            lambda _: ibis.literal(False),
        )
        return emitter.number(self._root)


def of_duckdb(duckdb: ibis.BaseBackend, seed: int, count: int = AT_ONCE) -> list[str]:
    return differences(seed, count, duckdb.to_pyarrow, TableEngine.DUCKDB, ibis.memtable)


@pytest.mark.timeout(0)
def test_duckdb_says_of_each_row_what_its_function_says(duckdb: ibis.BaseBackend) -> None:
    for seed in range(EXPRESSIONS // AT_ONCE):
        assert of_duckdb(duckdb, seed) == []


def test_an_emitter_that_leaves_null_is_found_out(
    duckdb: ibis.BaseBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arithmetic, "known", lambda condition: condition)
    assert any(of_duckdb(duckdb, seed) for seed in range(2))


@pytest.mark.parametrize(
    ("what", "mutant"),
    [
        ("compared", lambda left, sign, right, **_: {"==": left == right, "!=": left != right, "<": left < right,
                                                       "<=": left <= right, ">": left > right, ">=": left >= right}[sign]),
        ("divided", lambda x, y, *_: x / y),
        ("smallest", lambda numbers: ibis.least(*numbers)),
    ],
)  # fmt: skip
def test_an_emitter_that_trusts_the_engine_is_found_out(
    duckdb: ibis.BaseBackend, monkeypatch: pytest.MonkeyPatch, what: str, mutant: Any
) -> None:
    monkeypatch.setattr(arithmetic, what, mutant)
    assert any(of_duckdb(duckdb, seed) for seed in range(6))


def test_numbers_are_equal_to_the_last_bit(duckdb: ibis.BaseBackend) -> None:
    """All but logarithms, whose last digit is the engine's own."""
    maker = ExpressionMaker(7)
    texts = [text for text in (maker.number() for _ in range(150)) if "log_odds" not in text][:100]
    rows = rows_of(7, ROWS)
    made = ibis.memtable(rows)
    trees = [NumberTree(text) for text in texts]
    found = duckdb.to_pyarrow(
        made.select(**{f"N{place}": tree.of_table(made) for place, tree in enumerate(trees)})
    ).to_pydict()
    read = readers(LOG, SCHEMA)
    for place, row in enumerate(rows.to_pylist()):
        for number, tree in enumerate(trees):
            mine, theirs = tree.of_facts(RowFacts(row, read)), found[f"N{number}"][place]
            same = mine == theirs or (mine is not None and mine != mine and theirs != theirs)  # noqa: PLR0124
            assert same, (texts[number], mine, theirs)
