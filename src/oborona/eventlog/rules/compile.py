"""The rules of a log to columns of a table.

    rules = policy.events.by_log["FEEDBACK"]
    columns = compile_rules(rules, rules.log)
    checked = with_rules(table, columns, live_names(rules))

`columns` maps the name of each rule that is on, those in shadow mode included, to a function of a
table: its condition, true or false for every row, never NULL.  `table.mutate(**columns)` takes it
as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import add, or_
from typing import Final

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules.columns import RULES, LogColumns, table_schema
from oborona.eventlog.rules.cost import MAX_SIZE, written_size
from oborona.eventlog.rules.emit import TableEmitter
from oborona.policy.event_logs import RuledLog
from oborona.policy.event_rules import LogRules
from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.references import RuleReference
from oborona.policy.expression.rule_set import refused
from oborona.policy.expression.schema import FactSchema
from oborona.policy.expression.syntax import ExpressionSource
from oborona.policy.expression.typed_piece import TypedPiece
from oborona.policy.faults import PolicyFaults
from oborona.policy.rules import Rule
from oborona.types import RuleMode, Stage

RuleColumn = Callable[[ir.Table], ir.BooleanValue]
"""The condition of a rule over the rows of a table; never NULL."""

GROUP: Final = 10  # rules whose names are put together where one of them fires
BETWEEN: Final = ","  # names in one text, until it is cut into a list; no name has it


class CheckedTree:
    """An expression, and what the checker found of every node.

    Args:
        text: the expression.
        schema: what it may name.
        others: names of rules that it may name by fired().

    Raises:
        Fault: it can't be used, with the character.
    """

    def __init__(self, text: str, schema: FactSchema, others: Iterable[str] = ()) -> None:
        checker = ExpressionChecker(schema, RuleLoads(), _NamedRules(others))
        checker.check_condition(text)
        self.pieces: Mapping[ast.expr, TypedPiece] = checker.pieces
        # a piece is noted once all that it is made of are: the last is the whole
        self.root: ast.expr = next(reversed(checker.pieces))
        self.source = ExpressionSource(text)

    def condition(
        self,
        table: ir.Table,
        schema: FactSchema,
        log: LogColumns,
        engine: TableEngine,
        fired: Callable[[str], ir.BooleanValue],
    ) -> ir.BooleanValue:
        """Return it as a condition over the rows of a table.

        Args:
            table: has the columns of `columns.table_schema` that the expression names.
            schema: what it may name.
            log: the columns of the log.
            engine: for which the statement is.
            fired: the condition of another rule.

        Raises:
            Fault: the engine can't do it, or it becomes too long.
        """
        emitter = TableEmitter(table, schema, log.columns, self.pieces, self.source, engine, fired)
        condition = emitter.condition(self.root)
        size = written_size(condition)
        if size > MAX_SIZE:
            raise ExpressionFault(
                f"is too long once it is written out for tables: {size:,} operations, at most "
                f"{MAX_SIZE:,}; split it, or nest fewer //, %, min(), max(), round() and share()"
            )
        return condition


def compile_rules(
    rules: LogRules, log: LogColumns, engine: TableEngine = TableEngine.DUCKDB
) -> Mapping[str, RuleColumn]:
    """Return the rules of a log that are on, each as a column of a table, by name.

    Args:
        rules: as a policy has them.
        log: their log's columns and kinds of events.
        engine: for which statements are made.

    Raises:
        PolicyError: rules that this engine can't calculate, each with its place in the file.
    """
    trees = _trees(rules)
    nothing = ibis.table(table_schema(log, rules.schema), name="rows")
    emission = _Emission(trees, rules, log, engine, nothing)
    faults = PolicyFaults()
    for name in trees:
        with faults:
            emission.condition(name)
    faults.end()

    def column(name: str) -> RuleColumn:
        return lambda table: _Emission(trees, rules, log, engine, table).condition(name)

    return {name: column(name) for name in trees}


def live_names(rules: LogRules) -> tuple[str, ...]:
    """Return the names of the rules whose hits a checked row shows, in their order."""
    return tuple(rule.name for rule in rules.rules if rule.enabled and rule.mode is RuleMode.LIVE)


def needed_facts(rules: LogRules) -> frozenset[str]:
    """Return the facts that the rules that are on name, as rules write them."""
    return rules.compiled.named[Stage.CONNECT]


def columns_named(columns: Mapping[str, RuleColumn], log: RuledLog) -> dict[str, frozenset[str]]:
    """Return which columns of a table each rule looks at, those of rules that it asks for, too.

    Args:
        columns: of `compile_rules`.
        log: their log.
    """
    rows = ibis.table(table_schema(log, log.schema()), name="rows")
    return {
        name: frozenset(field.name for field in column(rows).op().find(ops.Field))
        for name, column in columns.items()
    }


def with_rules(
    table: ir.Table, columns: Mapping[str, RuleColumn], names: Sequence[str], into: str = RULES
) -> ir.Table:
    """Return a table with a column of the rules that fire on each row: their names, in order.

    Args:
        table: the rows.
        columns: of `compile_rules`.
        names: those that a row shall show.
        into: what the column is called.
    """
    nothing = ibis.literal([], type="array<string>")
    if not names:
        return table.mutate(**{into: nothing})
    flags = {f"{into}_{place}": columns[name] for place, name in enumerate(names)}
    # a view is not merged into what follows: each condition is calculated once
    flagged = table.mutate(**flags).view()
    together = fired_names({name: flagged[flag] for flag, name in zip(flags, names, strict=True)})
    shown = ibis.ifelse(together == "", nothing, together.substr(1).split(BETWEEN))
    return flagged.mutate(**{into: shown}).drop(*flags)


def fired_names(flags: Mapping[str, ir.BooleanValue]) -> ir.StringValue:
    """Return the names of flags that are set, in order, with `BETWEEN` before each.

    Args:
        flags: columns of a view, so that each is calculated once, by name.
    """
    fired = [(flag, name) for name, flag in flags.items()]
    groups = [_group_fired(fired[at : at + GROUP]) for at in range(0, len(fired), GROUP)]
    return reduce(add, groups, ibis.literal(""))


def _group_fired(fired: Sequence[tuple[ir.BooleanValue, str]]) -> ir.StringValue:
    """Return the names of the rules of a group that fire, one after the other.

    Texts are put together where one fires, which is seldom: for all rows that would cost more than
    the rules do.
    """
    names = [ibis.ifelse(flag, BETWEEN + name, "") for flag, name in fired]
    return ibis.ifelse(reduce(or_, [flag for flag, _ in fired]), reduce(add, names), "")


def _trees(rules: LogRules) -> dict[str, tuple[Rule, CheckedTree]]:
    names = [rule.name for rule in rules.rules]
    return {
        rule.name: (rule, CheckedTree(rule.when, rules.schema, names))
        for rule in rules.rules
        if rule.enabled
    }


class _Emission:
    """Emits rules over the rows of one table, each once, whoever names it by fired()."""

    def __init__(
        self,
        trees: Mapping[str, tuple[Rule, CheckedTree]],
        rules: LogRules,
        log: LogColumns,
        engine: TableEngine,
        table: ir.Table,
    ) -> None:
        self._trees = trees
        self._rules = rules
        self._log = log
        self._engine = engine
        self._table = table
        self._done: dict[str, ir.BooleanValue] = {}

    def condition(self, name: str) -> ir.BooleanValue:
        """Return the condition of a rule.

        Raises:
            PolicyError: the engine can't calculate it, with its place in the file.
        """
        if name not in self._done:
            rule, tree = self._trees[name]
            try:
                self._done[name] = tree.condition(
                    self._table,
                    self._rules.schema,
                    self._log,
                    self._engine,
                    lambda other: self._fired(rule, other),
                )
            except ExpressionFault as fault:
                raise refused(rule, "when", rule.when, fault) from None
        return self._done[name]

    def _fired(self, asking: Rule, name: str) -> ir.BooleanValue:
        """As `RuleSet.fired`: a live rule sees what live rules did; what is off never fires."""
        if name not in self._trees:
            return ibis.literal(False)
        if asking.mode is RuleMode.LIVE and self._trees[name][0].mode is not RuleMode.LIVE:
            return ibis.literal(False)
        return self.condition(name)


class _NamedRules:
    """The other rules of a set, which are known to be right."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def condition(self, name: str) -> RuleReference | None:
        """Know none: rules over tables have no named conditions."""
        return None

    def conditions(self) -> Sequence[str]:
        """Know none."""
        return ()

    def fired(self, name: str) -> RuleReference | None:
        """Return that there is such a rule."""
        return RuleReference("True", Stage.CONNECT) if name in self._names else None

    def names(self) -> Iterable[str]:
        """Return all names."""
        return self._names
