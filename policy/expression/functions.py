"""The functions of numbers, texts and sets: what each takes, and the code it becomes.

Their arguments are known when the code runs: the caller has seen to `none`. Functions that name
facts stand in `calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from oborona.policy.expression.common_form import ComparedPart, in_common_form
from oborona.policy.expression.fault import ExpressionFault, PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.loads import RuleLoads
from oborona.policy.expression.network_lists import DomainList, NetworkList
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.typed_piece import ARITHMETIC, TEXTS, TypedPiece, require_kind

MAX_DECIMALS: Final = 9  # of round(): more are noise in a double


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionFunction:
    """One function of the language."""

    signature: str
    doc: str
    emit: Callable[[Sequence[TypedPiece], RuleLoads], TypedPiece]


def _result(code: str, kind: PieceKind) -> TypedPiece:
    return TypedPiece(code=code, kind=kind, index=0)


def _len(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], TEXTS, "len()")
    return _result(f"len({pieces[0].code})", PieceKind.NUMBER)


def _least(name: str) -> Callable[[Sequence[TypedPiece], RuleLoads], TypedPiece]:
    def emit(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
        for piece in pieces:
            require_kind(piece, ARITHMETIC, f"{name}()")
        return _result(f"{name}({', '.join(piece.code for piece in pieces)})", PieceKind.NUMBER)

    return emit


def _abs(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], ARITHMETIC, "abs()")
    return _result(f"abs({pieces[0].code})", PieceKind.NUMBER)


def _round(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], ARITHMETIC, "round()")
    digits = pieces[1].literal if len(pieces) > 1 else 0
    if type(digits) is not int or not 0 <= digits <= MAX_DECIMALS:
        raise ExpressionFault(
            f"round() takes its decimals as a plain number, 0 to {MAX_DECIMALS}", pieces[1].index
        )
    return _result(f"rounded({pieces[0].code}, {digits})", PieceKind.NUMBER)


def _lower(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], (PieceKind.TEXT,), "lower()")
    piece = _result(f"{pieces[0].code}.lower()", PieceKind.TEXT)
    return replace(
        piece, form=pieces[0].form if pieces[0].form is TextForm.FOLDED else TextForm.SMALL
    )


def _contains(pieces: Sequence[TypedPiece], loads: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], TEXTS, "contains()")
    require_kind(pieces[1], (PieceKind.TEXT,), "contains()")
    of, piece = in_common_form(pieces, ComparedPart.PIECE, loads)
    if of.kind is PieceKind.TEXT:
        return _result(f"({piece.code} in {of.code})", PieceKind.CONDITION)
    return _result(f"contains({of.code}, {piece.code})", PieceKind.CONDITION)


def _edge(
    name: str, code: str, part: ComparedPart
) -> Callable[[Sequence[TypedPiece], RuleLoads], TypedPiece]:
    def emit(pieces: Sequence[TypedPiece], loads: RuleLoads) -> TypedPiece:
        require_kind(pieces[0], TEXTS, f"{name}()")
        require_kind(pieces[1], (PieceKind.TEXT, PieceKind.LIST), f"{name}()")
        first, second = in_common_form(pieces, part, loads)
        piece = second.code
        if second.kind is PieceKind.LIST:
            texts = second.literal if isinstance(second.literal, tuple) else ()
            if not all(isinstance(text, str) for text in texts):
                raise ExpressionFault(f"{name}() takes a list of texts", second.index)
            piece = ascii(texts)
        if first.kind is PieceKind.TEXT:
            return _result(f"{first.code}.{name}({piece})", PieceKind.CONDITION)
        return _result(f"{code}({first.code}, {piece})", PieceKind.CONDITION)

    return emit


def _matches(pieces: Sequence[TypedPiece], loads: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], TEXTS, "matches()")
    pattern = pieces[1].literal
    if not isinstance(pattern, str):
        raise ExpressionFault(
            "matches() takes its pattern as a plain text in quotes", pieces[1].index
        )
    try:
        name = loads.pattern(pattern, pieces[0].form)
    except PatternError as fault:
        raise ExpressionFault(f"pattern: {fault}", pieces[1].index) from None
    if pieces[0].kind is PieceKind.TEXT:
        return _result(f"({name}({loads.octets(pieces[0].code)}) is not None)", PieceKind.CONDITION)
    return _result(f"matches({name}, {pieces[0].code})", PieceKind.CONDITION)


def _share(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    for piece in pieces:
        require_kind(piece, ARITHMETIC, "share()")
    return _result(f"share({pieces[0].code}, {pieces[1].code})", PieceKind.NUMBER)


def _log_odds(pieces: Sequence[TypedPiece], _: RuleLoads) -> TypedPiece:
    require_kind(pieces[0], ARITHMETIC, "log_odds()")
    return _result(f"log_odds({pieces[0].code})", PieceKind.NUMBER)


def _listed(
    name: str, make: Callable[[Sequence[str]], NetworkList | DomainList]
) -> Callable[[Sequence[TypedPiece], RuleLoads], TypedPiece]:
    def emit(pieces: Sequence[TypedPiece], loads: RuleLoads) -> TypedPiece:
        require_kind(pieces[0], TEXTS, f"{name}()")
        texts = pieces[1].literal
        texts = (texts,) if isinstance(texts, str) else texts
        if (
            not isinstance(texts, tuple)
            or not texts
            or not all(isinstance(text, str) for text in texts)
        ):
            raise ExpressionFault(f"{name}() takes a list of texts, or one", pieces[1].index)
        try:
            constant = loads.constant(
                (name, texts), lambda: make([str(text) for text in texts]).has
            )
        except ValueError as fault:
            raise ExpressionFault(f"{name}(): {fault}", pieces[1].index) from None
        if pieces[0].kind is PieceKind.TEXT:
            return _result(f"{constant}({pieces[0].code})", PieceKind.CONDITION)
        return _result(f"within({constant}, {pieces[0].code})", PieceKind.CONDITION)

    return emit


FUNCTIONS: Final[Mapping[str, ExpressionFunction]] = MappingProxyType(
    {
        "len": ExpressionFunction(
            signature="len(text)", doc="Characters of a text, or members of a set.", emit=_len
        ),
        "min": ExpressionFunction(signature="min(a, b, ...)", doc="The smallest of two or more numbers.", emit=_least("min")),
        "max": ExpressionFunction(signature="max(a, b, ...)", doc="The largest of two or more numbers.", emit=_least("max")),
        "abs": ExpressionFunction(signature="abs(number)", doc="The number without its sign.", emit=_abs),
        "round": ExpressionFunction(
            signature="round(number[, decimals])", doc="The number to so many decimals, none by default.", emit=_round
        ),
        "lower": ExpressionFunction(signature="lower(text)", doc="The text in lower case.", emit=_lower),
        "contains": ExpressionFunction(
            signature="contains(text, piece)", doc="The text, or any of a set, holds the piece.", emit=_contains
        ),
        "startswith": ExpressionFunction(
            signature="startswith(text, start)",
            doc="The text, or any of a set, starts so; the start may be a list of texts.",
            emit=_edge("startswith", "starts", ComparedPart.START),
        ),
        "endswith": ExpressionFunction(
            signature="endswith(text, end)",
            doc="The text, or any of a set, ends so; the end may be a list of texts.",
            emit=_edge("endswith", "ends", ComparedPart.END),
        ),
        "matches": ExpressionFunction(
            signature='matches(text, r"pattern")',
            doc=("The pattern (RE2 syntax) is found in the text, or in any of a set. (?i) "
                "before it ignores case."),
            emit=_matches,
        ),
        "share": ExpressionFunction(
            signature="share(part, whole)", doc="part / whole, 0 to 1; 0 where whole is 0 or less.", emit=_share
        ),
        "log_odds": ExpressionFunction(
            signature="log_odds(share)",
            doc=("ln(share / (1 - share)), held to -10 to 10: 0 at 0.5, 2.2 at 0.9, 4.6 at "
                "0.99; as far below 0 at 0.1 and 0.01."),
            emit=_log_odds,
        ),
        "in_networks": ExpressionFunction(
            signature='in_networks(text, ("192.0.2.0/24", ...))',
            doc="The text, or any of a set, is an address in one of these networks.",
            emit=_listed("in_networks", NetworkList),
        ),
        "in_domains": ExpressionFunction(
            signature='in_domains(text, ("example.org", ...))',
            doc=("The text, or any of a set, is one of these domains or a name below it; of an "
                "address what stands after its @."),
            emit=_listed("in_domains", DomainList),
        ),
    }
)  # fmt: skip


def arguments(signature: str) -> tuple[int, int]:
    """Return how few and how many arguments a signature allows."""
    inside = signature[signature.index("(") + 1 : -1]
    if inside.endswith(", ...)"):  # a list is one argument
        inside = inside[: inside.index("(")]
    if inside.endswith("..."):
        return inside.count(","), 20
    optional = inside.count("[")
    most = inside.count(",") + 1
    return most - optional, most
