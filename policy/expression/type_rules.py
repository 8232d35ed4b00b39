"""Which pieces of an expression fit together, and the words for those that do not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.name_resolver import short
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.typed_piece import TypedPiece
from oborona.toml import did_you_mean

MAX_WORDS: Final = 10  # that an error lists

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


def certain(piece: TypedPiece) -> TypedPiece:
    """Return a condition that is false where it was none."""
    return (
        replace(piece, code=f"({piece.code} is True)", optional=False) if piece.optional else piece
    )


def none_comparison(pieces: Sequence[TypedPiece], signs: Sequence[str], index: int) -> TypedPiece:
    """Return the code of `x == none` and `x != none`.

    Raises:
        Fault: none stands elsewhere, or is asked of what is never none.
    """
    present = [piece for piece in pieces if piece.kind is not PieceKind.NONE]
    if len(pieces) != 2 or len(present) != 1 or signs[0] not in ("==", "!="):
        raise ExpressionFault(
            "none is asked for with == none and != none, and is nothing else", index
        )
    if not present[0].optional:
        raise ExpressionFault("this is never none", present[0].index)
    word = "is" if signs[0] == "==" else "is not"
    return TypedPiece(
        code=f"({present[0].code} {word} None)", kind=PieceKind.CONDITION, index=index
    )


def require_condition(piece: TypedPiece, text: str) -> None:
    """Raise unless a piece is true or false by itself.

    Raises:
        Fault: with the comparison that was probably meant.
    """
    if piece.kind is PieceKind.CONDITION:
        return
    text = short(" ".join(text.split()))
    meant = {
        PieceKind.NUMBER: f"; write {text} > 0",
        PieceKind.TEXT: f'; write {text} != ""',
        PieceKind.SET: f"; write len({text}) > 0",
    }
    raise ExpressionFault(
        f"{text} is {piece.kind}, not a condition{meant.get(piece.kind, '')}", piece.index
    )


def comparable(left: TypedPiece, sign: str, right: TypedPiece) -> None:
    """Raise unless two pieces can be compared.

    Raises:
        Fault: with what each is.
    """
    if sign in ("in", "not in"):
        if right.kind is PieceKind.LIST and isinstance(right.literal, tuple):
            of = (
                PieceKind.TEXT
                if any(isinstance(value, str) for value in right.literal)
                else PieceKind.NUMBER
            )
            fits = not right.literal or left.kind is of
        else:
            fits = left.kind is PieceKind.TEXT and right.kind in (PieceKind.TEXT, PieceKind.SET)
        if not fits:
            raise ExpressionFault(f"{left.kind} is never in {right.kind} of this sort", left.index)
        return
    if left.kind is not right.kind:
        raise ExpressionFault(f"{left.kind} is never {sign} {right.kind}", left.index)
    if left.kind in (PieceKind.SET, PieceKind.LIST):
        raise ExpressionFault(f"{left.kind} is asked with in, not with {sign}", left.index)
    if left.kind is not PieceKind.NUMBER and sign not in ("==", "!="):
        raise ExpressionFault(
            f"{left.kind} is compared with == and !=, not with {sign}", left.index
        )


def require_known_word(piece: TypedPiece, other: TypedPiece, *, part: bool) -> None:
    """Raise where a fact that has words of its own is held to a text that is none of them.

    Args:
        piece: may be such a fact.
        other: may be a text, or a list of them.
        part: a part of a word will do, too.
    """
    vocabulary = piece.words
    for text in other.literal if isinstance(other.literal, tuple) else (other.literal,):
        if not vocabulary or not isinstance(text, str) or text in vocabulary:
            continue
        if not (part and any(text in word for word in vocabulary)):
            words = (
                did_you_mean(text, vocabulary)
                if len(vocabulary) > MAX_WORDS
                else f"; it is one of {', '.join(vocabulary)}"
            )
            raise ExpressionFault(f'this is never "{short(text)}"{words}', other.index)


def refusal(node: ast.AST) -> str:
    """Return the words for what is no part of the language."""
    return _REFUSED.get(type(node), f"{type(node).__name__} is not part of the language")
