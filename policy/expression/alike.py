"""Texts of an expression in one form before they are compared: those that stand in the rule when it
is compiled, facts when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from oborona.policy.expression.fault import Fault
from oborona.policy.expression.forms import Form
from oborona.policy.expression.loads import Loads
from oborona.policy.expression.schema import Kind
from oborona.policy.expression.typed import Typed

_SHOWN: Final = 60  # characters of a text in an error
_TEXTS: Final = (Kind.TEXT, Kind.SET, Kind.LIST)


class Part(Enum):
    """Which part of a fact a text is compared with."""

    WHOLE = "whole"
    START = "start"
    END = "end"
    PIECE = "piece"


def alike(pieces: Sequence[Typed], part: Part, loads: Loads) -> list[Typed]:
    """Return pieces of an expression with their texts in the form that all can have.

    Args:
        pieces: that are compared with one another.
        part: what of the facts among them the others are compared with.
        loads: of the rule.

    Raises:
        Fault: a text that a fact never is.
    """
    texts = [piece for piece in pieces if _is_text(piece)]
    form = Form.SENT
    for piece in texts:
        form = form.common(piece.form)
    longest = max((piece.longest for piece in texts), default=0)
    return [
        _brought(piece, form, part, longest, loads) if _is_text(piece) else piece
        for piece in pieces
    ]


def _is_text(piece: Typed) -> bool:
    if piece.kind is Kind.LIST:
        return isinstance(piece.literal, tuple) and any(
            isinstance(one, str) for one in piece.literal
        )
    return piece.kind in _TEXTS


def _brought(piece: Typed, form: Form, part: Part, longest: int, loads: Loads) -> Typed:
    literal = piece.literal
    if isinstance(literal, str):
        text = _literal(literal, form, part, longest, piece.index, loads)
        return replace(piece, code=ascii(text), literal=text, form=form)
    if isinstance(literal, tuple):
        several = tuple(
            _literal(str(one), form, part, longest, piece.index, loads) for one in literal
        )
        code = "{" + ", ".join(map(ascii, several)) + "}" if several else "()"
        return replace(piece, code=code, literal=several, form=form)
    if piece.form is form:
        return piece
    return replace(piece, code=loads.in_form(piece.code, form), form=form)


def _literal(text: str, form: Form, part: Part, longest: int, index: int, loads: Loads) -> str:
    turned = form.whole(text) if part is Part.WHOLE else form.piece(text)
    if form is Form.FOLDED:
        turned = (
            turned.lstrip(" ")
            if part is Part.START
            else turned.rstrip(" ")
            if part is Part.END
            else turned
        )
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if text and not turned:
        raise Fault(
            (
                f'nothing is left of "{ascii(shown)[1:-1]}" in a text that is {form.value}; '
                f'write "" for an empty one'
            ),
            index,
        )
    if longest and len(turned) > longest:
        raise Fault(
            (
                f'this is never "{shown}": it has at most {longest} characters, and that is '
                f"{len(turned)}"
            ),
            index,
        )
    loads.note_turned(text, turned)
    return turned
