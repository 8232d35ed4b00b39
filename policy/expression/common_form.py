"""Texts of an expression in one form before they are compared: those that stand in the rule when it
is compiled, facts when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.typed_piece import TypedPiece

_SHOWN: Final = 60  # characters of a text in an error
_TEXTS: Final = (PieceKind.TEXT, PieceKind.SET, PieceKind.LIST)


class ComparedPart(Enum):
    """Which part of a fact a text is compared with."""

    WHOLE = "whole"
    START = "start"
    END = "end"
    PIECE = "piece"


def in_common_form(
    pieces: Sequence[TypedPiece], part: ComparedPart, loads: RuleLoads
) -> list[TypedPiece]:
    """Return pieces of an expression with their texts in the form that all can have.

    Args:
        pieces: that are compared with one another.
        part: what of the facts among them the others are compared with.
        loads: of the rule.

    Raises:
        Fault: a text that a fact never is.
    """
    texts = [piece for piece in pieces if _is_text(piece)]
    form = TextForm.SENT
    for piece in texts:
        form = form.common(piece.form)
    longest = max((piece.longest for piece in texts), default=0)
    return [
        _brought(piece, form, part, longest, loads) if _is_text(piece) else piece
        for piece in pieces
    ]


def _is_text(piece: TypedPiece) -> bool:
    if piece.kind is PieceKind.LIST:
        return isinstance(piece.literal, tuple) and any(
            isinstance(text, str) for text in piece.literal
        )
    return piece.kind in _TEXTS


def _brought(
    piece: TypedPiece, form: TextForm, part: ComparedPart, longest: int, loads: RuleLoads
) -> TypedPiece:
    literal = piece.literal
    if isinstance(literal, str):
        text = _literal(literal, form, part, longest, piece.index, loads)
        return replace(piece, code=ascii(text), literal=text, form=form)
    if isinstance(literal, tuple):
        several = tuple(
            _literal(str(text), form, part, longest, piece.index, loads) for text in literal
        )
        code = "{" + ", ".join(map(ascii, several)) + "}" if several else "()"
        return replace(piece, code=code, literal=several, form=form)
    if piece.form is form:
        return piece
    return replace(piece, code=loads.in_form(piece.code, form), form=form)


def _literal(
    text: str, form: TextForm, part: ComparedPart, longest: int, index: int, loads: RuleLoads
) -> str:
    turned = form.whole(text) if part is ComparedPart.WHOLE else form.piece(text)
    if form is TextForm.FOLDED:
        turned = (
            turned.lstrip(" ")
            if part is ComparedPart.START
            else turned.rstrip(" ")
            if part is ComparedPart.END
            else turned
        )
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if text and not turned:
        raise ExpressionFault(
            (
                f'nothing is left of "{ascii(shown)[1:-1]}" in a text that is {form.value}; '
                f'write "" for an empty one'
            ),
            index,
        )
    if longest and len(turned) > longest:
        raise ExpressionFault(
            (
                f'this is never "{shown}": it has at most {longest} characters, and that is '
                f"{len(turned)}"
            ),
            index,
        )
    loads.note_turned(text, turned)
    return turned
