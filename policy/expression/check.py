"""Syntax tree to code: what is allowed, what fits together, from which stage on it is known.

One walk over the tree. Every node type that the language has is a case below and yields a `Typed`: a piece of Python
text with its kind; all other nodes are refused by name. The code is put together from three things only: operators
written here, `repr` of checked literals, and names that the schema or `Loads` gave. Nothing of the rule's own text
reaches it in another way.

Known limits: kinds are coarse (whole numbers and fractions are one kind); texts are compared for equality only.
"""

from __future__ import annotations

import ast
import math
from typing import Final

from oborona.policy.expression.fault import Fault
from oborona.policy.expression.functions import ARITHMETIC, FUNCTIONS, Typed, arguments, want
from oborona.policy.expression.loads import Loads
from oborona.policy.expression.schema import DERIVED_METRICS, KEYWORD_FACT, METRICS, WINDOWS, Kind, Schema
from oborona.policy.expression.syntax import STAND_IN, Source, parse
from oborona.toml import did_you_mean
from oborona.types import Stage

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
_REFUSED: Final[dict[type[ast.AST], str]] = {
    ast.Pow: "** is not part of the language",
    ast.MatMult: "@ is not part of the language",
    ast.Is: "write == instead of is",
    ast.IsNot: "write != instead of is not",
    ast.Lambda: "lambda is not part of the language",
    ast.NamedExpr: ":= is not part of the language; write == to compare",
    ast.JoinedStr: 'f"..." is not part of the language',
    ast.Dict: "{...} is not part of the language; write a list: (a, b)",
    ast.Set: "{...} is not part of the language; write a list: (a, b)",
    ast.Starred: "* before a list is not part of the language",
    ast.ListComp: "loops are not part of the language",
    ast.SetComp: "loops are not part of the language",
    ast.DictComp: "loops are not part of the language",
    ast.GeneratorExp: "loops are not part of the language",
    ast.Slice: "slices are not part of the language",
    ast.Await: "await is not part of the language",
    ast.Yield: "yield is not part of the language",
    ast.YieldFrom: "yield is not part of the language",
    ast.BitAnd: "write and instead of &",
    ast.BitOr: "write or instead of |",
    ast.Invert: "write not instead of ~",
}
_WORDS: Final = {"true": True, "false": False}


class Checker:
    """Checks one expression against a schema.

    Args:
        schema: what may be named.
        loads: collects the facts and patterns of all rules of a set.
    """

    def __init__(self, schema: Schema, loads: Loads) -> None:
        self._schema = schema
        self._loads = loads
        self._source = Source("")
        self._products = 0
        self.stage = Stage.CONNECT  # the latest stage of all facts named so far
        self.named: set[str] = set()  # facts, as rules write them

    def check(self, text: str) -> Typed:
        """Return the code of an expression.

        Raises:
            Fault: with the character; never anything else.
        """
        tree, self._source = parse(text)
        self._products = 0
        return self._piece(tree)

    def _piece(self, node: ast.expr) -> Typed:
        index = self._source.index(node)
        match node:
            case ast.Constant():
                return self._constant(node, index)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._named(node, index)
            case ast.BoolOp(values=values):
                word = " and " if isinstance(node.op, ast.And) else " or "
                return self._typed("(" + word.join(self._condition(value) for value in values) + ")", index)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._typed(f"(not {self._condition(operand)})", index)
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
                raise Fault(_refusal(op), index)
        raise Fault(_refusal(node), index)

    @staticmethod
    def _typed(code: str, index: int, kind: Kind = Kind.CONDITION) -> Typed:
        return Typed(code=code, kind=kind, index=index)

    def _condition(self, node: ast.expr) -> str:
        piece = self._piece(node)
        require_condition(piece, self._source.text[piece.index : self._source.end(node)])
        return piece.code

    def _constant(self, node: ast.Constant, index: int) -> Typed:
        value = node.value
        match value:
            case bool():
                return Typed(code=repr(value), kind=Kind.CONDITION, index=index, literal=value)
            case int() | float():
                if (
                    not (math.isfinite(value) if isinstance(value, float) else True)
                    or abs(value) > MAX_NUMBER
                ):
                    raise Fault(f"a number may be at most {MAX_NUMBER}", index)
                return Typed(code=repr(value), kind=Kind.NUMBER, index=index, literal=value)
            case str():
                if len(value) > MAX_TEXT:
                    raise Fault(
                        f"a text is {len(value)} characters long; at most {MAX_TEXT} are allowed", index
                    )
                return Typed(code=ascii(value), kind=Kind.TEXT, index=index, literal=value)
        raise Fault("only numbers, texts, true and false may stand here", index)

    def _list(self, nodes: list[ast.expr], index: int) -> Typed:
        values: list[str | int | float] = []
        for node in nodes:
            item = self._piece(node)
            value = item.literal
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise Fault("a list holds plain numbers and texts only", item.index)
            values.append(value)
        if len({isinstance(value, str) for value in values}) > 1:
            raise Fault("a list holds either numbers or texts", index)
        # A set literal of constants is made once, when the code is compiled.
        code = "{" + ", ".join(ascii(value) for value in values) + "}" if values else "()"
        return Typed(code=code, kind=Kind.LIST, index=index, literal=tuple(values))

    def _signed(self, op: ast.unaryop, operand: ast.expr, index: int) -> Typed:
        piece = self._piece(operand)
        sign = "-" if isinstance(op, ast.USub) else "+"
        want(piece, ARITHMETIC, sign)
        literal = piece.literal
        value = -literal if isinstance(literal, int | float) and sign == "-" else literal
        return Typed(code=f"({sign}{piece.code})", kind=Kind.NUMBER, index=index, literal=value)

    def _arithmetic(self, node: ast.BinOp, index: int) -> Typed:
        kind = type(node.op)
        if kind not in _OPERATORS and kind not in _DIVISIONS:
            raise Fault(_refusal(node.op), index)
        left, right = self._piece(node.left), self._piece(node.right)
        if kind in _OPERATORS:
            sign = _OPERATORS[kind]
            code = f"({left.code} {sign} {right.code})"
        else:
            sign, function = _DIVISIONS[kind]
            plain = isinstance(right.literal, int | float) and right.literal
            code = f"({left.code} {sign} {right.code})" if plain else f"{function}({left.code}, {right.code})"
        want(left, ARITHMETIC, sign)
        want(right, ARITHMETIC, sign)
        self._products += sign == "*"
        if self._products > MAX_PRODUCTS:
            raise Fault(f"more than {MAX_PRODUCTS} multiplications in one expression", index)
        return self._typed(code, index, Kind.NUMBER)

    def _comparison(self, node: ast.Compare, index: int) -> Typed:
        left = self._piece(node.left)
        code = left.code
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self._piece(operand)
            if type(op) not in _COMPARISONS:
                raise Fault(_refusal(op), index)
            sign = _COMPARISONS[type(op)]
            _comparable(left, sign, right)
            code += f" {sign} {right.code}"
            left = right
        return self._typed(f"({code})", index)

    def _choice(self, node: ast.IfExp, index: int) -> Typed:
        test = self._condition(node.test)
        yes, no = self._piece(node.body), self._piece(node.orelse)
        if yes.kind is not no.kind:
            raise Fault(f"one side is {yes.kind}, the other {no.kind}", index)
        if yes.kind is Kind.LIST:
            raise Fault("a list may not be chosen", index)
        return self._typed(f"({yes.code} if {test} else {no.code})", index, yes.kind)

    def _call(self, node: ast.Call, index: int) -> Typed:
        if not isinstance(node.func, ast.Name):
            raise Fault("only functions may be called, by their name", index)
        name = node.func.id
        if node.keywords:
            raise Fault(f"{name}() takes no named arguments", index)
        if name == "found":
            return self._found(node.args, index)
        function = FUNCTIONS.get(name)
        if function is None:
            raise Fault(f"unknown function {_short(name)}{did_you_mean(name, [*FUNCTIONS, 'found'])}", index)
        fewest, most = arguments(function.signature)
        if not fewest <= len(node.args) <= most:
            raise Fault(f"{name}() has {len(node.args)} arguments; it is {function.signature}", index)
        done = function.emit([self._piece(argument) for argument in node.args], self._loads)
        return self._typed(done.code, index, done.kind)

    def _found(self, nodes: list[ast.expr], index: int) -> Typed:
        pieces = [self._piece(node) for node in nodes]
        if len(pieces) != 1 or not isinstance(pieces[0].literal, str):
            raise Fault('found() takes the name of one finding in quotes: found("hidden-text")', index)
        name = pieces[0].literal
        known = self._schema.findings
        if known is not None and name not in known:
            raise Fault(f'unknown finding "{_short(name)}"{did_you_mean(name, known)}', pieces[0].index)
        stage = Stage.CONTENT if known is None else known[name]
        return self._fact(f"f.found({name!a})", f"found({name})", stage, Kind.CONDITION, index)

    def _named(self, node: ast.Name | ast.Attribute | ast.Subscript, index: int) -> Typed:
        """Check `true`, `text.words`, or `count[From].day.seen`."""
        names: list[str] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            self._as_written(at, at.attr, self._source.end(at) - len(at.attr))
            names.insert(0, at.attr)
            at = at.value
        if isinstance(at, ast.Name):
            name = KEYWORD_FACT if at.id == STAND_IN else at.id
            self._as_written(at, name, self._source.index(at))
            return self._plain([name, *names], index)
        if isinstance(at, ast.Subscript) and isinstance(at.value, ast.Name) and at.value.id == "count":
            return self._count(at, names, index)
        raise Fault("only facts have attributes, and only count has an index: count[From].day.seen", index)

    def _as_written(self, node: ast.expr, name: str, index: int) -> None:
        """Refuse what Python would read as another name: identifiers are NFKC-folded by its parser."""
        if not name.isascii() or self._source.text[index : index + len(name)] != name:
            raise Fault("names are written in plain ASCII letters", self._source.index(node))

    def _plain(self, names: list[str], index: int) -> Typed:
        name = ".".join(names)
        if name in _WORDS:
            return Typed(code=repr(_WORDS[name]), kind=Kind.CONDITION, index=index, literal=_WORDS[name])
        fact = self._schema.by_name.get(name)
        if fact is not None:
            return self._fact(f"f.{fact.attribute}", name, fact.stage, fact.kind, index)
        if names[0] == "count":
            raise Fault("count is written count[TYPE].WINDOW.METRIC, such as count[From].day.seen", index)
        if name in FUNCTIONS or name == "found":
            raise Fault(f"{name} is a function; write {name}(...)", index)
        raise Fault(f"unknown fact {_short(name)}{did_you_mean(name, self._schema.by_name)}", index)

    def _count(self, node: ast.Subscript, names: list[str], index: int) -> Typed:
        kind = node.slice
        if not isinstance(kind, ast.Name):
            raise Fault("count takes the name of a shingle type, without quotes: count[From]", index)
        self._as_written(kind, kind.id, self._source.index(kind))
        counted = self._schema.by_type.get(kind.id)
        if counted is None:
            guess = did_you_mean(kind.id, self._schema.by_type)
            raise Fault(f"unknown shingle type {_short(kind.id)}{guess}", self._source.index(kind))
        if len(names) != 2:
            raise Fault(f"count[{counted.name}] needs a window and a metric, such as .day.seen", index)
        window, metric = names
        if window not in WINDOWS:
            raise Fault(f"unknown window {_short(window)}{did_you_mean(window, WINDOWS)}", index)
        label = f"count[{counted.name}].{window}.{metric}"
        arguments = f"{counted.number}, {int(WINDOWS[window])}"
        if metric in METRICS:
            code = f"f.count({arguments}, {int(METRICS[metric])})"
        elif metric in DERIVED_METRICS:
            code = f"f.{metric}({arguments})"
        else:
            guess = did_you_mean(metric, [*METRICS, *DERIVED_METRICS])
            raise Fault(f"unknown metric {_short(metric)}{guess}", index)
        return self._fact(code, label, counted.stage, Kind.NUMBER, index)

    def _fact(self, code: str, label: str, stage: Stage, kind: Kind, index: int) -> Typed:
        load = self._loads.fact(code, label, stage)
        self.named.add(label)
        self.stage = max(self.stage, stage, key=lambda known: known.order)
        return self._typed(load.local, index, kind)


def require_condition(piece: Typed, text: str) -> None:
    """Raise unless a piece is true or false by itself.

    Raises:
        Fault: with the comparison that was probably meant.
    """
    if piece.kind is Kind.CONDITION:
        return
    text = _short(" ".join(text.split()))
    meant = {
        Kind.NUMBER: f"; write {text} > 0",
        Kind.TEXT: f'; write {text} != ""',
        Kind.SET: f"; write len({text}) > 0",
    }
    raise Fault(f"{text} is {piece.kind}, not a condition{meant.get(piece.kind, '')}", piece.index)


def _comparable(left: Typed, sign: str, right: Typed) -> None:
    if sign in ("in", "not in"):
        if right.kind is Kind.LIST and isinstance(right.literal, tuple):
            of = Kind.TEXT if any(isinstance(value, str) for value in right.literal) else Kind.NUMBER
            fits = not right.literal or left.kind is of
        else:
            fits = left.kind is Kind.TEXT and right.kind in (Kind.TEXT, Kind.SET)
        if not fits:
            raise Fault(f"{left.kind} is never in {right.kind} of this sort", left.index)
        return
    if left.kind is not right.kind:
        raise Fault(f"{left.kind} is never {sign} {right.kind}", left.index)
    if left.kind in (Kind.SET, Kind.LIST):
        raise Fault(f"{left.kind} is asked with in, not with {sign}", left.index)
    if left.kind is not Kind.NUMBER and sign not in ("==", "!="):
        raise Fault(f"{left.kind} is compared with == and !=, not with {sign}", left.index)


def _refusal(node: ast.AST) -> str:
    return _REFUSED.get(type(node), f"{type(node).__name__} is not part of the language")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."
