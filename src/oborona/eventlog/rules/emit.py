"""A checked expression to an expression of Ibis: the condition of one rule over the rows of a
table.

One walk over the tree that `policy.expression.check` has checked, with what it found of every node:
its kind, whether it may be none, and its value where that stands in the rule.  The function that
the same checker makes for one row is the definition; this yields the same of every row, on every
engine (`arithmetic`, `texts`, `clock`, `networks` say how).

    none      is NULL; every comparison of it is made false on the spot, so that no NULL reaches
              `and`, `or`, `not`
    sizes     what stands in a statement several times is written several times; an expression that
              becomes too long so is refused
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Final

import ibis
import ibis.expr.types as ir

from oborona.config.eventlog import TableEngine
from oborona.eventlog.rules import arithmetic, clock, networks, texts
from oborona.eventlog.rules.columns import (
    column_of,
    high_of,
    inside,
    low_of,
    read_column,
    whole_micros,
)
from oborona.eventlog.rules.cost import every
from oborona.eventlog.rules.java_patterns import java_pattern
from oborona.policy.event_columns import ColumnKind
from oborona.policy.expression.fault import ExpressionFault, PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import pattern_for
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.policy.expression.syntax import ExpressionSource
from oborona.policy.expression.typed_piece import TypedPiece

_SIGNS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TYPES: Final[Mapping[PieceKind, str]] = {
    PieceKind.NUMBER: "float64",
    PieceKind.CONDITION: "boolean",
    PieceKind.TEXT: "string",
    PieceKind.SET: "array<string>",
    PieceKind.NONE: "boolean",
}
_TEXTS: Final = (PieceKind.TEXT, PieceKind.SET, PieceKind.LIST)


class TableEmitter:
    """Emits the conditions of one rule.

    Args:
        table: the rows.
        schema: what rules may name.
        columns: the columns of the log.
        pieces: what the checker found of every node.
        source: of the expression.
        engine: for which the statement is.
        fired: the condition of another rule, by its name.
    """

    def __init__(
        self,
        table: ir.Table,
        schema: FactSchema,
        columns: Mapping[str, ColumnKind],
        pieces: Mapping[ast.expr, TypedPiece],
        source: ExpressionSource,
        engine: TableEngine,
        fired: Callable[[str], ir.BooleanValue],
    ) -> None:
        self._table = table
        self._schema = schema
        self._columns = columns
        self._pieces = pieces
        self._source = source
        self._engine = engine
        self._fired = fired

    def condition(self, node: ast.expr) -> ir.BooleanValue:
        """Return a condition, which is never NULL.

        Raises:
            Fault: the engine can't do it, with the character.
        """
        value = self.value(node)
        return arithmetic.known(value) if self._pieces[node].optional else value

    def number(self, node: ast.expr) -> ir.FloatingValue:
        """Return a number, NULL for none; a condition counts as 1 when it holds, else 0."""
        value = self.value(node)
        if self._pieces[node].kind is PieceKind.CONDITION:
            one = ibis.ifelse(value, arithmetic.double(1), arithmetic.double(0))
            return ibis.ifelse(value.isnull(), ibis.null("float64"), one)
        return value

    def value(self, node: ast.expr) -> ir.Value:
        """Return the value of a node, NULL for none."""
        piece = self._pieces[node]
        match node:
            case ast.Constant(value=bool() as value):
                return ibis.literal(value)
            case ast.Constant(value=int() | float() as value):
                return arithmetic.double(value)
            case ast.Constant(value=str() as value):
                return ibis.literal(value, type="string")
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._name(node, piece)
            case ast.BoolOp(op=op, values=values):
                conditions = [self.condition(value) for value in values]
                return reduce(or_, conditions) if isinstance(op, ast.Or) else every(conditions)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.condition(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.UnaryOp(operand=operand):
                return self.number(operand)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node, piece)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
        raise ExpressionFault("can't be said for tables", piece.index)

    def _name(self, node: ast.expr, piece: TypedPiece) -> ir.Value:
        if piece.kind is PieceKind.NONE:
            return ibis.null(_TYPES[PieceKind.NONE])
        if isinstance(piece.literal, bool):
            return ibis.literal(piece.literal)
        label = _label(node)
        return read_column(
            self._table,
            column_of(label),
            piece.kind,
            optional=piece.optional,
            time=label == "time.now" or self._columns.get(label) == ColumnKind.TIME,
            engine=self._engine,
        )

    def _arithmetic(self, node: ast.BinOp) -> ir.Value:
        left, right = self.number(node.left), self.number(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
        literal = self._pieces[node.right].literal
        constant = float(literal) if isinstance(literal, int | float) else None
        match node.op:
            case ast.Div():
                return arithmetic.divided(left, right, constant)
            case ast.FloorDiv():
                return arithmetic.whole_division(left, right, constant)
        return arithmetic.remainder(left, right, constant)

    def _comparison(self, node: ast.Compare) -> ir.Value:
        nodes = [node.left, *node.comparators]
        if any(self._pieces[one].kind is PieceKind.NONE for one in nodes):
            of = nodes[0] if self._pieces[nodes[0]].kind is not PieceKind.NONE else nodes[1]
            value = self.value(of)
            none = arithmetic.is_none(value)
            return none if isinstance(node.ops[0], ast.Eq) else ~none
        form = self._common_form(nodes)
        return reduce(
            and_,
            [
                arithmetic.known(self._pair(left, op, right, form))
                for left, op, right in zip(nodes, node.ops, nodes[1:], strict=False)
            ],
        )

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr, form: TextForm) -> ir.Value:
        if isinstance(op, ast.In | ast.NotIn):
            inside = self._inside(left, right, form)
            return inside if isinstance(op, ast.In) else ~inside
        sign = _SIGNS[type(op)]
        kind = self._pieces[left].kind
        if kind is PieceKind.NUMBER:
            return arithmetic.compared(
                self.value(left),
                sign,
                self.value(right),
                of_nan=(self._may_be_nan(left), self._may_be_nan(right)),
            )
        one, other = (
            (self.value(left), self.value(right))
            if kind is PieceKind.CONDITION
            else (self._text(left, form), self._text(right, form))
        )
        return one == other if sign == "==" else one != other

    def _inside(self, left: ast.expr, right: ast.expr, form: TextForm) -> ir.Value:
        of = self._pieces[right]
        if of.kind is PieceKind.TEXT:
            return self._text(right, form).contains(self._text(left, form))
        if of.kind is PieceKind.SET:
            text = self._text(left, form)
            inside = self.value(right).contains(text)
            return ibis.ifelse(text.isnull(), ibis.null("boolean"), inside)
        members = of.literal if isinstance(of.literal, tuple) else ()
        if self._pieces[left].kind is PieceKind.NUMBER:
            return self.value(left).isin([float(member) for member in members])
        value = self._text(left, form)
        several = [form.whole(str(member)) for member in members]
        # of an empty list engines say false even of NULL, whose `not in` is false
        return value.isin(several) if several else value != value  # noqa: PLR0124

    def _choice(self, node: ast.IfExp, piece: TypedPiece) -> ir.Value:
        form = self._common_form([node.body, node.orelse])
        sides = []
        for side in (node.body, node.orelse):
            of = self._pieces[side]
            if of.kind is PieceKind.NONE:
                sides.append(ibis.null(_TYPES[piece.kind]))
            else:
                sides.append(
                    self._text(side, form) if of.kind is PieceKind.TEXT else self.value(side)
                )
        return ibis.ifelse(self.condition(node.test), *sides)

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> ir.Value:
        first = arguments[0] if arguments else None
        match name, first:
            case "fired", ast.Name(id=rule):
                return self._fired(rule)
            case "hour" | "weekday", _:
                zone = self._pieces[first].literal if first is not None else "UTC"
                of_zone = clock.hour if name == "hour" else clock.weekday
                now = self._table[column_of("time.now")]
                told = of_zone(whole_micros(now, self._engine), str(zone))
                return ibis.ifelse(inside(now, self._engine), told, ibis.null("float64"))
            case "min" | "max", _:
                of = arithmetic.smallest if name == "min" else arithmetic.largest
                return of([self.number(argument) for argument in arguments])
            case "share", _:
                return arithmetic.share(*map(self.number, arguments))
            case "log_odds", ast.expr():
                return arithmetic.log_odds(self.number(first))
            case "abs", ast.expr():
                return self.number(first).abs()
            case "round", ast.expr():
                digits = self._pieces[arguments[1]].literal if len(arguments) > 1 else 0
                assert isinstance(digits, int), "the checker took it"
                return arithmetic.rounded(self.number(first), digits)
            case "len", ast.expr():
                if self._pieces[first].kind is PieceKind.SET:
                    return texts.size(self.value(first), self._engine).cast("float64")
                return self.value(first).length().cast("float64")
            case "lower", ast.expr():
                return texts.lower(self.value(first), self._engine)
            case "matches", ast.expr():
                return arithmetic.known(self._matches(first, arguments[1]))
            case "in_networks", ast.expr():
                return arithmetic.known(self._in_networks(first, arguments[1]))
            case "contains" | "startswith" | "endswith", ast.expr():
                return arithmetic.known(self._part(name, first, arguments[1]))
        raise ExpressionFault(f"{name}() can't be said for tables", self._index(first))

    def _part(self, name: str, of: ast.expr, part: ast.expr) -> ir.Value:
        form = self._common_form([of, part])
        piece = self._pieces[part]
        literals = piece.literal if isinstance(piece.literal, tuple) else (piece.literal,)
        plain = [form.piece(str(text)) for text in literals if isinstance(text, str)]
        if self._pieces[of].kind is PieceKind.SET:
            value = self.value(of)
            if name == "contains":
                return texts.any_contains(value, plain[0])
            return (texts.any_starts if name == "startswith" else texts.any_ends)(value, plain)
        text = self._text(of, form)
        parts = plain if piece.kind is PieceKind.LIST else [self._text(part, form)]
        if name == "contains":
            return text.contains(parts[0])
        found = (texts.starts_with if name == "startswith" else texts.ends_with)(text, parts)
        return found & text.notnull()

    def _matches(self, of: ast.expr, pattern: ast.expr) -> ir.Value:
        literal = self._pieces[pattern].literal
        assert isinstance(literal, str), "the checker took it"
        asked = pattern_for(literal, self._pieces[of].form).text
        if self._engine is TableEngine.PYSPARK:
            try:
                asked = java_pattern(asked)
            except PatternError as fault:
                raise ExpressionFault(f"pattern: {fault}", self._index(pattern)) from None
        return self.value(of).re_search(asked)

    def _in_networks(self, of: ast.expr, several: ast.expr) -> ir.Value:
        literal = self._pieces[several].literal
        written = literal if isinstance(literal, tuple) else (literal,)
        column = column_of(_label(of))
        return networks.in_networks(
            self._table[high_of(column)], self._table[low_of(column)], list(map(str, written))
        )

    def _text(self, node: ast.expr, form: TextForm) -> ir.Value:
        """Return a text in a form that all have with which it is compared."""
        piece = self._pieces[node]
        if isinstance(piece.literal, str):
            return ibis.literal(form.whole(piece.literal), type="string")
        value = self.value(node)
        return value if piece.form is form else texts.lower(value, self._engine)

    def _common_form(self, nodes: Sequence[ast.expr]) -> TextForm:
        form = TextForm.SENT
        for node in nodes:
            if self._pieces[node].kind in _TEXTS:
                form = form.common(self._pieces[node].form)
        return form

    def _may_be_nan(self, node: ast.expr) -> bool:
        """Whether a number may be NaN: all but what stands in the rule, times and counts."""
        if isinstance(self._pieces[node].literal, int | float):
            return False
        label = _label(node)
        if label in self._schema.by_name:
            whole = self._schema.by_name[label].type is int
            return not (whole or label == "time.now" or self._columns.get(label) == ColumnKind.TIME)
        family = self._schema.by_family.get(label.partition("[")[0])
        return family is None or family.type is not int

    def _index(self, node: ast.expr | None) -> int:
        return 0 if node is None else self._source.index(node)


def _label(node: ast.expr) -> str:
    """Return a fact as rules write it; empty for what is none."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_label(value)}.{name}"
        case ast.Subscript(value=value, slice=ast.Name(id=member)):
            return f"{_label(value)}[{member}]"
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as member)):
            return f"{_label(value)}[{member}]"
    return ""
