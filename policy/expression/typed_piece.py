"""A checked piece of an expression, and how one that may be `none` is kept from the code that can't
take it.

`none` stands for what is not known. Compared with anything it gives false, `!=` and `not in`
included; calculated with it gives `none`; a function of it is `none`, or false where the function
is a condition. `x == none` asks for it. So every piece knows whether it may be `none`, and code for
it is guarded where it is used, and only there: pieces that are always known cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.schema import PieceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedPiece:
    """A checked piece of an expression."""

    code: str  # Python, safe to paste: an atom or in parentheses
    kind: PieceKind
    index: int  # where it begins in the text
    # its value, where known
    literal: str | int | float | bool | tuple[str | int | float, ...] | None = None
    optional: bool = False  # it may be none
    constant: bool = False  # it names no fact
    words: tuple[str, ...] = ()  # the only texts that it may be, or hold; none given: any
    form: TextForm = TextForm.SENT  # how its texts are written
    longest: int = 0  # characters of its longest text; 0: as many as there are


ARITHMETIC: Final = (
    PieceKind.NUMBER,
    PieceKind.CONDITION,
)  # a condition counts as 1 when it holds, else 0
TEXTS: Final = (PieceKind.TEXT, PieceKind.SET)


def require_kind(piece: TypedPiece, kinds: Sequence[PieceKind], role: str) -> None:
    """Raise unless a piece is of one of these kinds.

    Raises:
        Fault: it is not.
    """
    if piece.kind not in kinds:
        raise ExpressionFault(
            f"{role} takes {' or '.join(dict.fromkeys(kinds))}, not {piece.kind}", piece.index
        )


def guarded(
    pieces: Sequence[TypedPiece], local: Callable[[], str]
) -> tuple[list[str], list[TypedPiece]]:
    """Return the tests that all pieces are known, and pieces to be used after them.

    Args:
        pieces: in the order in which they are written.
        local: gives a new local variable.
    """
    tests: list[str] = []
    present: list[TypedPiece] = []
    for piece in pieces:
        if not piece.optional:
            present.append(piece)
            continue
        if piece.code.isidentifier():
            tests.append(f"{piece.code} is not None")
            present.append(replace(piece, optional=False))
            continue
        name = local()
        tests.append(f"({name} := {piece.code}) is not None")
        present.append(replace(piece, code=name, optional=False))
    return tests, present


def unless_none(tests: Sequence[str], piece: TypedPiece) -> TypedPiece:
    """Return a piece that is false, or none where it is no condition, unless all tests hold."""
    if not tests:
        return piece
    if piece.kind is PieceKind.CONDITION:
        return replace(piece, code=f"({' and '.join([*tests, piece.code])})")
    return replace(piece, code=f"({piece.code} if {' and '.join(tests)} else None)", optional=True)
