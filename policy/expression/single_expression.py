"""One expression to one function of a facts object, for tables that are no rules.

    most = compile_single("max(200, 5 * usual)", schema, PieceKind.NUMBER)
    most.value(facts)

It names facts and calls functions; other rules, conditions and counts are beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.compile import code_of
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.runtime import NAMES
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.policy.expression.typed_piece import ARITHMETIC, require_kind

_NAME: Final = "single"


class SingleExpression(NamedTuple):
    """An expression that is ready for use."""

    value: Callable[[Any], Any]  # of a facts object; None where the expression is none
    named: frozenset[str]  # the facts that it names


def compile_single(text: str, schema: FactSchema, kind: PieceKind) -> SingleExpression:
    """Return an expression as a function of a facts object.

    Args:
        text: the expression.
        schema: the facts that it may name.
        kind: what it has to yield: a number or a condition; a condition counts as a number, too.

    Raises:
        ExpressionFault: with the character.
    """
    loads = RuleLoads()
    checker = ExpressionChecker(schema, loads)
    if kind is PieceKind.CONDITION:
        piece = checker.check_condition(text)
    else:
        piece = checker.check(text)
        require_kind(piece, ARITHMETIC, "the expression")
    lines = [f" {load.local} = {load.code}" for load in loads.facts.values()]
    source = "\n".join([*loads.inner.values(), f"def {_NAME}(f):", *lines, f" return {piece.code}"])
    names: dict[str, Any] = {"__builtins__": {}, **NAMES, **loads.constants}
    exec(code_of(source), names)  # noqa: S102 - the code was put together by `check`
    return SingleExpression(names[_NAME], frozenset(checker.names.named))
