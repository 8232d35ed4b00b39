"""Expressions in tables that are no rules, with the place of what is wrong in them."""

from __future__ import annotations

from typing import Any

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.schema import FactSchema, PieceKind
from oborona.policy.expression.single_expression import SingleExpression, compile_single
from oborona.policy.named_tables import Fields, refuse


def table_expression(
    fields: Fields, key: str, kind: PieceKind, schema: FactSchema, word: str
) -> SingleExpression:
    """Return a field's expression, ready for use.

    Args:
        fields: of the table.
        key: of the field.
        kind: what it has to yield.
        schema: the facts that it may name.
        word: what errors call the table.

    Raises:
        PolicyError: it can't be used, with the place of its fault.
    """
    field = fields[key]
    try:
        return compile_single(field.value, schema, kind)
    except ExpressionFault as fault:
        problem = f"{word} {fields['name'].value}: {key}: {fault.problem}"
        raise refuse(problem, field.place.inside(fault.index)) from None


def limit_formula(
    fields: Fields, schema: FactSchema, nobody: Any, word: str, example: str
) -> SingleExpression:
    """Return the formula of a limit.

    Args:
        fields: of the table.
        schema: the facts that it may name.
        nobody: the facts of whom nothing is known.
        word: what errors call the table.
        example: of a formula that leaves something to him.

    Raises:
        PolicyError: it can't be used, or leaves nothing to him.
    """
    most = table_expression(fields, "limit", PieceKind.NUMBER, schema, word)
    first = most.value(nobody)
    if first is None or not first >= 1:
        raise refuse(
            f"{word} {fields['name'].value}: limit: who has no past, or is not known, could send "
            f'nothing; write a floor, such as "{example}"',
            fields["limit"].place,
        )
    return most
