"""What of the language rules over tables may use: that which engines of tables calculate as the
compiled function of one row does.

Whatever is refused here is refused when a policy is loaded, with its place; so no rule that was
accepted fails for the default engine. What one other engine alone can't do, its emitter refuses.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.schema import PieceKind, TableDialect
from oborona.policy.expression.syntax import ExpressionSource
from oborona.policy.expression.typed_piece import TypedPiece

MEMBER_END: Final = "\x1f"  # no member of a set has it: engines look into sets as one text

_OF_MEMBERS: Final = "asks each member of a set, which engines of tables can't do alike"
_OF_COUNTERS: Final = "asks the counters of mail, which rows of a table have not"
REFUSED: Final = MappingProxyType(
    {
        "any_of": _OF_MEMBERS,
        "all_of": _OF_MEMBERS,
        "count_of": _OF_MEMBERS,
        "rate": _OF_COUNTERS,
        "trend": _OF_COUNTERS,
        "robotic": _OF_COUNTERS,
        "distinct": f"{_OF_COUNTERS}; write person.distinct[COLUMN]",
        "found": "asks what was found in a message",
        "in_domains": "needs the letters of the DNS, which engines of tables don't know; write "
        'endswith(lower(text), (".example.org", "@example.org"))',
    }
)
_EDGES: Final = ("contains", "startswith", "endswith")


def require_known_to_tables(name: str, index: int) -> None:
    """Raise where a function is none of rules over tables.

    Raises:
        Fault: with what to write instead, where there is something.
    """
    if name in REFUSED:
        raise ExpressionFault(f"{name}() is not for rules over tables: it {REFUSED[name]}", index)


def require_tabular(
    name: str,
    pieces: Sequence[TypedPiece],
    nodes: Sequence[ast.expr],
    source: ExpressionSource,
    tables: TableDialect,
) -> None:
    """Raise where a function is asked for something that engines of tables can't do alike.

    Args:
        name: of the function.
        pieces: its arguments.
        nodes: the same, in the tree.
        source: of the expression.
        tables: of the schema.

    Raises:
        Fault: with what can be asked for.
    """
    first = pieces[0]
    if name == "in_networks":
        fact = source.text[source.index(nodes[0]) : source.end(nodes[0])]
        if fact not in tables.addresses:
            raise ExpressionFault(
                "in_networks() takes a column that the log declares as an address", first.index
            )
    if first.kind is not PieceKind.SET:
        return
    if name == "matches":
        raise ExpressionFault(
            "a pattern is not looked for in a set by rules over tables; write contains(), "
            "startswith() or endswith()",
            first.index,
        )
    if name in _EDGES:
        second = pieces[1]
        texts = second.literal if isinstance(second.literal, tuple) else (second.literal,)
        if not all(isinstance(text, str) for text in texts):
            raise ExpressionFault(
                f"{name}() of a set takes a plain text in quotes, in rules over tables",
                second.index,
            )
        if any(MEMBER_END in str(text) for text in texts):
            raise ExpressionFault("no member of a set holds U+001F", second.index)


def refuse_turned_sets(pieces: Sequence[TypedPiece]) -> None:
    """Raise where members of a set would have to be turned into lower case.

    Raises:
        Fault: with the place of the set.
    """
    for piece in pieces:
        if piece.kind is PieceKind.SET and piece.form is not TextForm.SENT:
            raise ExpressionFault(
                "a set is compared as it was written, in rules over tables: without lower()",
                piece.index,
            )


def in_tables(name: str, piece: TypedPiece, arguments: Sequence[TypedPiece]) -> TypedPiece:
    """Return what a function gives as engines of tables have it.

    Numbers are doubles; lower case is made letter by letter.

    Args:
        name: of the function.
        piece: that it gives elsewhere.
        arguments: what it is given, none of them none.
    """
    if name == "lower":
        return replace(piece, code=f"letters({arguments[0].code})", form=TextForm.LETTERS)
    if piece.kind is not PieceKind.NUMBER or piece.optional:
        return piece
    return replace(piece, code=f"float({piece.code})")
