"""Syntax tree to code: what is allowed, what fits together, from which stage on it is known.

One walk over the tree. Every node type that the language has is a case below and yields a
`TypedPiece`: a piece of Python text with its kind; all other nodes are refused by name. The code is
put together from three things only: operators written here, `repr` of checked literals, and names
that the schema or `RuleLoads` gave. Nothing of the rule's own text reaches it in another way.

What may be `none` is guarded where it is used (`typed`).

Known limits: kinds are coarse (whole numbers and fractions are one kind); texts are compared for
equality only.
"""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Final

from oborona.policy.expression.calls import CALLS
from oborona.policy.expression.common_form import ComparedPart, in_common_form
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.functions import FUNCTIONS, arguments
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.name_resolver import NameResolver, short
from oborona.policy.expression.references import NoRuleReferences, RuleReferences
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.policy.expression.syntax import ExpressionSource, parse
from oborona.policy.expression.table_dialect import (
    in_tables,
    refuse_turned_sets,
    require_known_to_tables,
    require_tabular,
)
from oborona.policy.expression.type_rules import (
    certain,
    comparable,
    none_comparison,
    refusal,
    require_condition,
    require_known_word,
)
from oborona.policy.expression.typed_piece import (
    ARITHMETIC,
    TypedPiece,
    guarded,
    require_kind,
    unless_none,
)
from oborona.toml import did_you_mean

MAX_NUMBER: Final = 10**15  # of a literal: larger ones lose digits as a float
MAX_PRODUCTS: Final = 8  # of `*` in one expression: the product of nine counters still fits a float
MAX_TEXT: Final = 500  # characters of a literal

_OPERATORS: Final[dict[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_DIVISIONS: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Div: ("/", "divide"),
    ast.FloorDiv: ("//", "whole"),
    ast.Mod: ("%", "remainder"),
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_KNOWN: Final = (*FUNCTIONS, *CALLS)
_NOBODY: Final = NoRuleReferences()


class ExpressionChecker:
    """Checks expressions of one rule against a schema.

    Args:
        schema: what may be named.
        loads: collects the facts and patterns of all rules of a set.
        others: the rest of the set.

    Attributes:
        pieces: what every node of the trees checked so far is.
    """

    def __init__(
        self, schema: FactSchema, loads: RuleLoads, others: RuleReferences = _NOBODY
    ) -> None:
        self.loads = loads
        self.names = NameResolver(schema, loads, others)
        self.source = ExpressionSource("")
        self.pieces: dict[ast.expr, TypedPiece] = {}
        self._products = 0

    def check(self, text: str) -> TypedPiece:
        """Return the code of an expression.

        Raises:
            Fault: with the character; never anything else.
        """
        tree, source = parse(text)
        before = self.source, self._products
        self.source, self._products = source, 0
        try:
            return self.piece(tree)
        finally:
            self.source, self._products = before

    def check_condition(self, text: str) -> TypedPiece:
        """Return the code of an expression that is true or false.

        Raises:
            Fault: with the character; never anything else.
        """
        piece = self.check(text)
        require_condition(piece, text)
        return certain(piece)

    def piece(self, node: ast.expr) -> TypedPiece:
        """Return the code of a node.

        Raises:
            Fault: with the character.
        """
        piece = self.pieces[node] = self._checked(node)
        return piece

    def _checked(self, node: ast.expr) -> TypedPiece:
        index = self.source.index(node)
        match node:
            case ast.Constant():
                return self._constant(node, index)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.names.piece(node, self.source, _KNOWN)
            case ast.BoolOp(values=values):
                return self._both("and" if isinstance(node.op, ast.And) else "or", values, index)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return TypedPiece(
                    code=f"(not {self.condition(operand)})", kind=PieceKind.CONDITION, index=index
                )
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._signed(node.op, operand, index)
            case ast.BinOp():
                return self._arithmetic(node, index)
            case ast.Compare():
                return self._comparison(node, index)
            case ast.IfExp():
                return self._choice(node, index)
            case ast.Call():
                return self._call(node, index)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._list(items, index)
            case ast.UnaryOp(op=op):
                raise ExpressionFault(refusal(op), index)
        raise ExpressionFault(refusal(node), index)

    def condition(self, node: ast.expr) -> str:
        """Return the code of a node that is true or false.

        Raises:
            Fault: with the character.
        """
        piece = self.piece(node)
        require_condition(piece, self.source.text[piece.index : self.source.end(node)])
        return certain(piece).code

    def _both(self, word: str, values: list[ast.expr], index: int) -> TypedPiece:
        code = f" {word} ".join(self.condition(value) for value in values)
        return TypedPiece(code=f"({code})", kind=PieceKind.CONDITION, index=index)

    def _constant(self, node: ast.Constant, index: int) -> TypedPiece:
        value = node.value
        match value:
            case bool():
                return TypedPiece(
                    code=repr(value),
                    kind=PieceKind.CONDITION,
                    index=index,
                    literal=value,
                    constant=True,
                )
            case int() | float():
                if (
                    not (math.isfinite(value) if isinstance(value, float) else True)
                    or abs(value) > MAX_NUMBER
                ):
                    raise ExpressionFault(f"a number may be at most {MAX_NUMBER}", index)
                return TypedPiece(
                    code=repr(value if self.names.schema.tables is None else float(value)),
                    kind=PieceKind.NUMBER,
                    index=index,
                    literal=value,
                    constant=True,
                )
            case str():
                if len(value) > MAX_TEXT:
                    raise ExpressionFault(
                        (f"a text is {len(value)} characters long; at most {MAX_TEXT} are allowed"),
                        index,
                    )
                return TypedPiece(
                    code=ascii(value),
                    kind=PieceKind.TEXT,
                    index=index,
                    literal=value,
                    constant=True,
                )
        raise ExpressionFault("only numbers, texts, true and false may stand here", index)

    def _list(self, nodes: list[ast.expr], index: int) -> TypedPiece:
        values: list[str | int | float] = []
        for node in nodes:
            item = self.piece(node)
            value = item.literal
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ExpressionFault("a list holds plain numbers and texts only", item.index)
            values.append(value)
        if len({isinstance(value, str) for value in values}) > 1:
            raise ExpressionFault("a list holds either numbers or texts", index)
        # A set literal of constants is made once, when the code is compiled.
        code = "{" + ", ".join(ascii(value) for value in values) + "}" if values else "()"
        return TypedPiece(
            code=code, kind=PieceKind.LIST, index=index, literal=tuple(values), constant=True
        )

    def _signed(self, op: ast.unaryop, operand: ast.expr, index: int) -> TypedPiece:
        piece = self.piece(operand)
        sign = "-" if isinstance(op, ast.USub) else "+"
        require_kind(piece, ARITHMETIC, sign)
        literal = piece.literal
        value = -literal if isinstance(literal, int | float) and sign == "-" else literal
        tests, (number,) = guarded([piece], self.loads.local)
        product = TypedPiece(
            code=f"({sign}{number.code})",
            kind=PieceKind.NUMBER,
            index=index,
            literal=value,
            constant=piece.constant,
        )
        return unless_none(tests, product)

    def _arithmetic(self, node: ast.BinOp, index: int) -> TypedPiece:
        kind = type(node.op)
        if kind not in _OPERATORS and kind not in _DIVISIONS:
            raise ExpressionFault(refusal(node.op), index)
        pieces = [self.piece(node.left), self.piece(node.right)]
        tests, (left, right) = guarded(pieces, self.loads.local)
        if kind in _OPERATORS:
            sign = _OPERATORS[kind]
            code = f"({left.code} {sign} {right.code})"
        else:
            sign, function = _DIVISIONS[kind]
            plain = isinstance(right.literal, int | float) and right.literal
            code = (
                f"({left.code} {sign} {right.code})"
                if plain
                else f"{function}({left.code}, {right.code})"
            )
        for piece in pieces:
            require_kind(piece, ARITHMETIC, sign)
        self._products += sign == "*"
        if self._products > MAX_PRODUCTS:
            raise ExpressionFault(
                f"more than {MAX_PRODUCTS} multiplications in one expression", index
            )
        constant = left.constant and right.constant
        return unless_none(
            tests, TypedPiece(code=code, kind=PieceKind.NUMBER, index=index, constant=constant)
        )

    def _comparison(self, node: ast.Compare, index: int) -> TypedPiece:
        pieces = [self.piece(node.left), *map(self.piece, node.comparators)]
        signs: list[str] = []
        for op, left, right in zip(node.ops, pieces, pieces[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise ExpressionFault(refusal(op), index)
            signs.append(_COMPARISONS[type(op)])
            if PieceKind.NONE in (left.kind, right.kind):
                return none_comparison(pieces, signs, index)
            comparable(left, signs[-1], right)
            require_known_word(left, right, part=False)
            require_known_word(
                right, left, part=right.kind is PieceKind.TEXT and signs[-1] in ("in", "not in")
            )
        tests, codes = guarded(pieces, self.loads.local)
        inside = any(
            sign in ("in", "not in") and right.kind is PieceKind.TEXT
            for sign, right in zip(signs, pieces[1:], strict=True)
        )
        codes = in_common_form(
            codes, ComparedPart.PIECE if inside else ComparedPart.WHOLE, self.loads
        )
        if self.names.schema.tables is not None:
            refuse_turned_sets(codes)
        code = codes[0].code
        for sign, right in zip(signs, codes[1:], strict=True):
            code += f" {sign} {right.code}"
        constant = all(piece.constant for piece in pieces)
        return unless_none(
            tests,
            TypedPiece(code=f"({code})", kind=PieceKind.CONDITION, index=index, constant=constant),
        )

    def _choice(self, node: ast.IfExp, index: int) -> TypedPiece:
        test = self.condition(node.test)
        yes, no = self.piece(node.body), self.piece(node.orelse)
        kinds = {yes.kind, no.kind} - {PieceKind.NONE}
        if len(kinds) > 1:
            raise ExpressionFault(f"one side is {yes.kind}, the other {no.kind}", index)
        if PieceKind.LIST in kinds:
            raise ExpressionFault("a list may not be chosen", index)
        yes, no = in_common_form([yes, no], ComparedPart.WHOLE, self.loads)
        return TypedPiece(
            code=f"({yes.code} if {test} else {no.code})",
            kind=kinds.pop() if kinds else PieceKind.NONE,
            index=index,
            optional=yes.optional or no.optional,
            form=max(yes, no, key=lambda piece: piece.kind is not PieceKind.NONE).form,
        )

    def _call(self, node: ast.Call, index: int) -> TypedPiece:
        if not isinstance(node.func, ast.Name):
            raise ExpressionFault("only functions may be called, by their name", index)
        name = node.func.id
        if node.keywords:
            raise ExpressionFault(f"{name}() takes no named arguments", index)
        function = CALLS.get(name) or FUNCTIONS.get(name)
        if function is None:
            raise ExpressionFault(
                f"unknown function {short(name)}{did_you_mean(name, _KNOWN)}", index
            )
        fewest, most = arguments(function.signature)
        if not fewest <= len(node.args) <= most:
            raise ExpressionFault(
                f"{name}() has {len(node.args)} arguments; it is {function.signature}", index
            )
        tables = self.names.schema.tables
        if name in CALLS:
            if tables is not None:
                require_known_to_tables(name, index)
            return CALLS[name].emit(self, node.args, index)
        pieces = [self.piece(argument) for argument in node.args]
        tests, codes = guarded(pieces, self.loads.local)
        done = FUNCTIONS[name].emit(codes, self.loads)
        if tables is not None:
            require_known_to_tables(name, index)
            require_tabular(name, pieces, node.args, self.source, tables)
            done = in_tables(name, done, codes)
        constant = all(piece.constant for piece in pieces)
        return unless_none(tests, replace(done, index=index, constant=constant))
