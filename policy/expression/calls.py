"""The functions that name facts, other rules, or a condition on each member of a set."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeVar

from oborona.policy.expression.clock import zone
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.flow import HOURS
from oborona.policy.expression.functions import FUNCTIONS
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.name_resolver import MEMBER, NameResolver, as_written, short
from oborona.policy.expression.schema import METRICS, WINDOWS, CountedType, PieceKind
from oborona.policy.expression.syntax import ExpressionSource
from oborona.policy.expression.typed_piece import TypedPiece, guarded, require_kind, unless_none
from oborona.toml import did_you_mean
from oborona.types import Metric, RuleWindow, Stage


class CallChecker(Protocol):
    """The checker of the expression that contains the call."""

    names: NameResolver
    loads: RuleLoads
    source: ExpressionSource

    def piece(self, node: ast.expr) -> TypedPiece:
        """Return the code of a node."""
        ...

    def condition(self, node: ast.expr) -> str:
        """Return the code of a node that is true or false."""
        ...


Word = TypeVar("Word")
Emit = Callable[[CallChecker, list[ast.expr], int], TypedPiece]


class CallableFunction(NamedTuple):
    """One function of the language."""

    signature: str
    doc: str
    emit: Emit


def _found(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    name, at = _text(
        caller, nodes[0], 'found() takes the name of one finding in quotes: found("hidden-text")'
    )
    findings = caller.names.schema.findings
    if findings is not None and name not in findings:
        raise ExpressionFault(f'unknown finding "{short(name)}"{did_you_mean(name, findings)}', at)
    stage = Stage.CONTENT if findings is None else findings[name]
    return caller.names.load(
        f"f.found({name!a})", f"found({name})", stage, PieceKind.CONDITION, index
    )


def _fired(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    node = nodes[0]
    if not isinstance(node, ast.Name):
        raise ExpressionFault("fired() takes a name, without quotes: fired(MASS_TEXT)", index)
    at = caller.source.index(node)
    as_written(node, node.id, at, caller.source)
    return caller.names.fired(node.id, at)


def _members(runtime: str, kind: PieceKind) -> Emit:
    def emit(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
        names, outside = caller.names, caller.loads.locals
        if names.member:
            raise ExpressionFault(f"{runtime}() inside another of its kind", index)
        members = caller.piece(nodes[0])
        if members.kind is PieceKind.LIST and isinstance(members.literal, tuple):
            texts = all(isinstance(text, str) for text in members.literal)
            require_kind(members, (PieceKind.LIST,) if texts else (PieceKind.SET,), f"{runtime}()")
        else:
            require_kind(members, (PieceKind.SET,), f"{runtime}()")
        names.member = TypedPiece(
            code=MEMBER,
            kind=PieceKind.TEXT,
            index=index,
            words=members.words,
            form=members.form,
            longest=members.longest,
        )
        caller.loads.locals = {}
        try:
            code = caller.condition(nodes[1])
        finally:
            names.member, inside, caller.loads.locals = None, caller.loads.locals, outside
        outside |= inside
        function = caller.loads.function([MEMBER, *inside], code)
        tests, (member,) = guarded([members], caller.loads.local)
        call = TypedPiece(
            code=f"{runtime}({', '.join([function, member.code, *inside])})", kind=kind, index=index
        )
        return unless_none(tests, call)

    return emit


def _rate(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    counted = _counted(caller, "rate", nodes[0])
    window = _word(caller, nodes[1], WINDOWS, "window")
    metric = _word(caller, nodes[2], METRICS, "metric") if len(nodes) > 2 else Metric.SEEN
    return _of(
        caller,
        [caller.names.total(counted, window, metric, index)],
        "per_hour",
        f", {HOURS[window]!r}",
    )


def _trend(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    counted = _counted(caller, "trend", nodes[0])
    totals = [
        caller.names.total(counted, window, Metric.SEEN, index)
        for window in (RuleWindow.HOUR, RuleWindow.DAY)
    ]
    return _of(caller, totals, "trend")


def _robotic(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    return caller.names.robotic(_counted(caller, "robotic", nodes[0]), index)


def _distinct(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
    pairs = caller.names.schema.by_pair
    words, at = _text(
        caller, nodes[0], 'distinct() takes what it counts in quotes: "recipients per sender"'
    )
    if words not in pairs:
        raise ExpressionFault(f'unknown "{short(words)}"{did_you_mean(words, pairs)}', at)
    window = _word(caller, nodes[1], WINDOWS, "window") if len(nodes) > 1 else RuleWindow.DAY
    return caller.names.total(pairs[words], window, Metric.SEEN, index)


def _time(runtime: str) -> Emit:
    def emit(caller: CallChecker, nodes: list[ast.expr], index: int) -> TypedPiece:
        name, at = ("UTC", index)
        if nodes:
            name, at = _text(
                caller, nodes[0], f'{runtime}() takes a time zone in quotes: "Europe/Moscow"'
            )
        try:
            where = caller.loads.constant(("zone", name), lambda: zone(name))
        except ValueError as fault:
            raise ExpressionFault(str(fault), at) from None
        now = caller.names.fact("time.now", index)
        if now is None:
            raise ExpressionFault(f"{runtime}() is not known here", index)
        tests, (known,) = guarded([now], caller.loads.local)
        piece = TypedPiece(
            code=f"{runtime}({where}, {known.code})",
            kind=PieceKind.NUMBER,
            index=index,
            optional=True,
        )
        return unless_none(tests, piece)

    return emit


def _of(
    caller: CallChecker, totals: Sequence[TypedPiece], runtime: str, more: str = ""
) -> TypedPiece:
    tests, locals_ = guarded(totals, caller.loads.local)
    code = f"{runtime}({', '.join(one.code for one in locals_)}{more})"
    return unless_none(tests, TypedPiece(code=code, kind=PieceKind.NUMBER, index=totals[0].index))


def _counted(caller: CallChecker, function: str, node: ast.expr) -> CountedType:
    try:
        return caller.names.counted(node, caller.source)
    except ExpressionFault as fault:
        words = (
            f"{function}() {fault.problem}" if fault.problem.startswith("takes") else fault.problem
        )
        raise ExpressionFault(words, fault.index) from None


def _text(caller: CallChecker, node: ast.expr, otherwise: str) -> tuple[str, int]:
    piece = caller.piece(node)
    if not isinstance(piece.literal, str):
        raise ExpressionFault(otherwise, piece.index)
    return piece.literal, piece.index


def _word(caller: CallChecker, node: ast.expr, vocabulary: Mapping[str, Word], role: str) -> Word:
    words, at = _text(caller, node, f'a {role} in quotes, such as "{next(iter(vocabulary))}"')
    if words not in vocabulary:
        raise ExpressionFault(f"unknown {role} {short(words)}{did_you_mean(words, vocabulary)}", at)
    return vocabulary[words]


CALLS: Final[Mapping[str, CallableFunction]] = MappingProxyType(
    {
        "found": CallableFunction('found("name")', "There is a finding of this name.", _found),
        "fired": CallableFunction(
            "fired(NAME)",
            (
                "The rule, DNS list, local list or signature of this name was hit; of a live "
                "rule, by what is live."
            ),
            _fired,
        ),
        "any_of": CallableFunction(
            "any_of(set, condition)",
            (
                f"The condition holds for any member, which it calls `{MEMBER}`; 200 members "
                f"are looked at."
            ),
            _members("any_of", PieceKind.CONDITION),
        ),
        "all_of": CallableFunction(
            "all_of(set, condition)",
            f"The condition holds for every member `{MEMBER}`; of an empty set, too.",
            _members("all_of", PieceKind.CONDITION),
        ),
        "count_of": CallableFunction(
            "count_of(set, condition)",
            f"For how many members `{MEMBER}` the condition holds.",
            _members("count_of", PieceKind.NUMBER),
        ),
        "rate": CallableFunction(
            'rate(count[TYPE], "window"[, "metric"])',
            "What is counted in the window, `seen` by default, as so many an hour.",
            _rate,
        ),
        "trend": CallableFunction(
            "trend(count[TYPE])",
            (
                "Messages of the last hour over those of an average hour of the 23 before it, "
                "each with one more: 1 is steady."
            ),
            _trend,
        ),
        "robotic": CallableFunction(
            "robotic(count[TYPE])",
            "How regular the day's messages came, by their gaps in ten-minute buckets: 1 like a "
            "clock, 0 at random or in bursts (Goh and Barabási 2008,"
            " Kim and Jo 2016); none for fewer than eight.",
            _robotic,
        ),
        "distinct": CallableFunction(
            'distinct("what"[, "window"])',
            "Distinct things of one sort for another, in a day by default; see below.",
            _distinct,
        ),
        "hour": CallableFunction(
            'hour(["zone"])', "The hour, 0 to 23, in a time zone; UTC by default.", _time("hour")
        ),
        "weekday": CallableFunction(
            'weekday(["zone"])',
            "The day of the week, 1 for Monday to 7 for Sunday.",
            _time("weekday"),
        ),
    }
)


class FunctionHelp(NamedTuple):
    """The documentation of a function."""

    signature: str
    doc: str


REFERENCE: Final[Mapping[str, FunctionHelp]] = MappingProxyType(
    {name: FunctionHelp(function.signature, function.doc) for name, function in FUNCTIONS.items()}
    | {name: FunctionHelp(call.signature, call.doc) for name, call in CALLS.items()}
)
"""All functions of the language."""
