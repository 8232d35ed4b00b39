"""The functions of numbers, texts and sets: what each takes, and the code it becomes.

Their arguments are known when the code runs: the caller has seen to `none`. Functions that name
facts stand in `calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from oborona.policy.expression.alike import Part, alike
from oborona.policy.expression.fault import Fault, PatternError
from oborona.policy.expression.forms import Form
from oborona.policy.expression.loads import Loads
from oborona.policy.expression.places import Domains, Networks
from oborona.policy.expression.schema import Kind
from oborona.policy.expression.typed import ARITHMETIC, TEXTS, Typed, want

MAX_DECIMALS: Final = 9  # of round(): more are noise in a double


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function of the language."""

    signature: str
    doc: str
    emit: Callable[[Sequence[Typed], Loads], Typed]


def _result(code: str, kind: Kind) -> Typed:
    return Typed(code=code, kind=kind, index=0)


def _len(pieces: Sequence[Typed], _: Loads) -> Typed:
    want(pieces[0], TEXTS, "len()")
    return _result(f"len({pieces[0].code})", Kind.NUMBER)


def _least(name: str) -> Callable[[Sequence[Typed], Loads], Typed]:
    def emit(pieces: Sequence[Typed], _: Loads) -> Typed:
        for piece in pieces:
            want(piece, ARITHMETIC, f"{name}()")
        return _result(f"{name}({', '.join(piece.code for piece in pieces)})", Kind.NUMBER)

    return emit


def _abs(pieces: Sequence[Typed], _: Loads) -> Typed:
    want(pieces[0], ARITHMETIC, "abs()")
    return _result(f"abs({pieces[0].code})", Kind.NUMBER)


def _round(pieces: Sequence[Typed], _: Loads) -> Typed:
    want(pieces[0], ARITHMETIC, "round()")
    digits = pieces[1].literal if len(pieces) > 1 else 0
    if type(digits) is not int or not 0 <= digits <= MAX_DECIMALS:
        raise Fault(
            f"round() takes its decimals as a plain number, 0 to {MAX_DECIMALS}", pieces[1].index
        )
    return _result(f"rounded({pieces[0].code}, {digits})", Kind.NUMBER)


def _lower(pieces: Sequence[Typed], _: Loads) -> Typed:
    want(pieces[0], (Kind.TEXT,), "lower()")
    made = _result(f"{pieces[0].code}.lower()", Kind.TEXT)
    return replace(made, form=pieces[0].form if pieces[0].form is Form.FOLDED else Form.SMALL)


def _contains(pieces: Sequence[Typed], loads: Loads) -> Typed:
    want(pieces[0], TEXTS, "contains()")
    want(pieces[1], (Kind.TEXT,), "contains()")
    of, piece = alike(pieces, Part.PIECE, loads)
    if of.kind is Kind.TEXT:
        return _result(f"({piece.code} in {of.code})", Kind.CONDITION)
    return _result(f"contains({of.code}, {piece.code})", Kind.CONDITION)


def _edge(name: str, code: str, part: Part) -> Callable[[Sequence[Typed], Loads], Typed]:
    def emit(pieces: Sequence[Typed], loads: Loads) -> Typed:
        want(pieces[0], TEXTS, f"{name}()")
        want(pieces[1], (Kind.TEXT, Kind.LIST), f"{name}()")
        first, second = alike(pieces, part, loads)
        piece = second.code
        if second.kind is Kind.LIST:
            given = second.literal if isinstance(second.literal, tuple) else ()
            if not all(isinstance(text, str) for text in given):
                raise Fault(f"{name}() takes a list of texts", second.index)
            piece = ascii(given)
        if first.kind is Kind.TEXT:
            return _result(f"{first.code}.{name}({piece})", Kind.CONDITION)
        return _result(f"{code}({first.code}, {piece})", Kind.CONDITION)

    return emit


def _matches(pieces: Sequence[Typed], loads: Loads) -> Typed:
    want(pieces[0], TEXTS, "matches()")
    pattern = pieces[1].literal
    if not isinstance(pattern, str):
        raise Fault("matches() takes its pattern as a plain text in quotes", pieces[1].index)
    try:
        name = loads.pattern(pattern, pieces[0].form)
    except PatternError as fault:
        raise Fault(f"pattern: {fault}", pieces[1].index) from None
    if pieces[0].kind is Kind.TEXT:
        return _result(f"({name}({loads.octets(pieces[0].code)}) is not None)", Kind.CONDITION)
    return _result(f"matches({name}, {pieces[0].code})", Kind.CONDITION)


def _share(pieces: Sequence[Typed], _: Loads) -> Typed:
    for piece in pieces:
        want(piece, ARITHMETIC, "share()")
    return _result(f"share({pieces[0].code}, {pieces[1].code})", Kind.NUMBER)


def _log_odds(pieces: Sequence[Typed], _: Loads) -> Typed:
    want(pieces[0], ARITHMETIC, "log_odds()")
    return _result(f"log_odds({pieces[0].code})", Kind.NUMBER)


def _listed(
    name: str, made: Callable[[Sequence[str]], Networks | Domains]
) -> Callable[[Sequence[Typed], Loads], Typed]:
    def emit(pieces: Sequence[Typed], loads: Loads) -> Typed:
        want(pieces[0], TEXTS, f"{name}()")
        given = pieces[1].literal
        given = (given,) if isinstance(given, str) else given
        if (
            not isinstance(given, tuple)
            or not given
            or not all(isinstance(text, str) for text in given)
        ):
            raise Fault(f"{name}() takes a list of texts, or one", pieces[1].index)
        try:
            constant = loads.constant(
                (name, given), lambda: made([str(text) for text in given]).has
            )
        except ValueError as fault:
            raise Fault(f"{name}(): {fault}", pieces[1].index) from None
        if pieces[0].kind is Kind.TEXT:
            return _result(f"{constant}({pieces[0].code})", Kind.CONDITION)
        return _result(f"within({constant}, {pieces[0].code})", Kind.CONDITION)

    return emit


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "len": Function(
            signature="len(text)", doc="Characters of a text, or members of a set.", emit=_len
        ),
        "min": Function(signature="min(a, b, ...)", doc="The smallest of two or more numbers.", emit=_least("min")),
        "max": Function(signature="max(a, b, ...)", doc="The largest of two or more numbers.", emit=_least("max")),
        "abs": Function(signature="abs(number)", doc="The number without its sign.", emit=_abs),
        "round": Function(
            signature="round(number[, decimals])", doc="The number to so many decimals, none by default.", emit=_round
        ),
        "lower": Function(signature="lower(text)", doc="The text in lower case.", emit=_lower),
        "contains": Function(
            signature="contains(text, piece)", doc="The text, or any of a set, holds the piece.", emit=_contains
        ),
        "startswith": Function(
            signature="startswith(text, start)",
            doc="The text, or any of a set, starts so; the start may be a list of texts.",
            emit=_edge("startswith", "starts", Part.START),
        ),
        "endswith": Function(
            signature="endswith(text, end)",
            doc="The text, or any of a set, ends so; the end may be a list of texts.",
            emit=_edge("endswith", "ends", Part.END),
        ),
        "matches": Function(
            signature='matches(text, r"pattern")',
            doc=("The pattern (RE2 syntax) is found in the text, or in any of a set. (?i) "
                "before it ignores case."),
            emit=_matches,
        ),
        "share": Function(
            signature="share(part, whole)", doc="part / whole, 0 to 1; 0 where whole is 0 or less.", emit=_share
        ),
        "log_odds": Function(
            signature="log_odds(share)",
            doc=("ln(share / (1 - share)), held to -10 to 10: 0 at 0.5, 2.2 at 0.9, 4.6 at "
                "0.99; as far below 0 at 0.1 and 0.01."),
            emit=_log_odds,
        ),
        "in_networks": Function(
            signature='in_networks(text, ("192.0.2.0/24", ...))',
            doc="The text, or any of a set, is an address in one of these networks.",
            emit=_listed("in_networks", Networks),
        ),
        "in_domains": Function(
            signature='in_domains(text, ("example.org", ...))',
            doc=("The text, or any of a set, is one of these domains or a name below it; of an "
                "address what stands after its @."),
            emit=_listed("in_domains", Domains),
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
