"""`say`: a rule's own words with facts filled in.

    "{count[From].day.spam_share:.0%} of {count[From].day.seen:,} from {from.domain:.40s}"

In braces stands an expression of the rules' language, then optionally a colon and a format:
`[,][.N][d f % g s]`. `{{` and `}}` are braces. Everything is checked when the policy is loaded;
filling in never fails, and its result is one line of printable characters of a stated length,
because it goes into a header and facts hold text from strangers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from oborona.policy.expression.check import ExpressionChecker
from oborona.policy.expression.fault import ExpressionFault
from oborona.policy.expression.schema import PieceKind
from oborona.policy.expression.typed_piece import TypedPiece

MAX_SAID: Final = 200  # characters of the result: several of them share one header line of 998
MAX_TEMPLATE: Final = 1_000
MAX_SHOWN: Final = 10  # members of a set that are listed
UNKNOWN: Final = "?"  # stands for what could not be worked out

_FORMAT: Final = re.compile(r"(?P<comma>,)?(?:\.(?P<digits>[0-9]{1,3}))?(?P<letter>[df%gs])?")
_MAX_DECIMALS: Final = 9
_CUT: Final = 400  # characters of a text looked at: enough for MAX_SAID whatever is dropped

Formatter = Callable[[Any], str]


class SayTemplate:
    """A checked `say`.

    Attributes:
        codes: one code per pair of braces; their values, in a tuple, are what `fill` takes.
    """

    def __init__(self, text: str, checker: ExpressionChecker) -> None:
        """Check a template.

        Raises:
            Fault: with the character; never anything else.
        """
        if len(text) > MAX_TEMPLATE:
            raise ExpressionFault(
                f"say is {len(text)} characters long; at most {MAX_TEMPLATE} are allowed",
                MAX_TEMPLATE,
            )
        self.codes: list[str] = []
        self._formatters: list[Formatter] = []
        self._words: list[str] = [""]  # one more than formatters: they alternate
        at = 0
        while at < len(text):
            letter = text[at]
            if text.startswith(("{{", "}}"), at):
                self._words[-1] += letter
                at += 2
            elif letter == "}":
                raise ExpressionFault("a single } in say; write }} for a brace", at)
            elif letter == "{":
                at = self._braces(text, at, checker)
            else:
                self._words[-1] += letter
                at += 1
        if not self.codes:
            self._words = [printable(self._words[0])]

    def _braces(self, text: str, start: int, checker: ExpressionChecker) -> int:
        """Take one `{expression:format}`; return where the text goes on."""
        end, colon = _limits(text, start)
        stop = end if colon is None else colon
        try:
            piece = checker.check(text[start + 1 : stop])
        except ExpressionFault as fault:
            raise ExpressionFault(fault.problem, start + 1 + fault.index) from None
        if piece.kind is PieceKind.LIST:
            raise ExpressionFault("a list cannot be shown", start + 1)
        self.codes.append(piece.code)
        self._formatters.append(_formatter(piece, text[stop + 1 : end], stop + 1))
        self._words.append("")
        return end + 1

    def fill(self, values: Sequence[Any]) -> str:
        """Return the words with the values of `codes`; an empty sequence shows each as "?".

        Never raises; printable, at most `MAX_SAID` characters.
        """
        if not self.codes:
            return self._words[0]
        text = self._words[0]
        for number, (formatter, words) in enumerate(
            zip(self._formatters, self._words[1:], strict=True)
        ):
            try:
                value = values[number]
                text += "none" if value is None else formatter(value)
            except Exception:  # noqa: BLE001 - a value that cannot be shown must not cost the rule its hit
                text += UNKNOWN
            text += words
        return printable(text)


def printable(text: str) -> str:
    """Return one line of at most `MAX_SAID` characters: controls, line ends, bidi marks and
    surrogates as spaces.
    """
    text = text[:_CUT]
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= MAX_SAID else text[: MAX_SAID - 3] + "..."


def _limits(text: str, start: int) -> tuple[int, int | None]:
    """Return where the braces opened at `start` end, and the last colon outside quotes."""
    quote = ""
    colon: int | None = None
    at = start + 1
    while at < len(text):
        letter = text[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == ":":
            colon = at
        elif letter == "{":
            raise ExpressionFault("braces inside braces", at)
        elif letter == "}":
            return at, colon
        at += 1
    raise ExpressionFault("{ is never closed; write {{ for a brace", start)


def _formatter(piece: TypedPiece, text: str, index: int) -> Formatter:
    match = _FORMAT.fullmatch(text)
    if match is None:
        raise ExpressionFault(
            "a format is [,][.N] and one of d f % g s, such as {x:,} {x:.1f} {x:.0%} {x:.40s}",
            index,
        )
    comma, digits, letter = match["comma"] or "", match["digits"], match["letter"] or ""
    places = int(digits) if digits is not None else None
    if piece.kind is not PieceKind.NUMBER:
        if comma or letter not in ("", "s"):
            raise ExpressionFault(f"{piece.kind} has the format s or .Ns only", index)
        return _texts(places)
    if letter == "s":
        raise ExpressionFault("a number has no format s", index)
    if places is not None and (letter == "d" or places > _MAX_DECIMALS):
        raise ExpressionFault(f"d has no decimals, the others at most {_MAX_DECIMALS}", index)
    return _numbers(comma, places, letter)


def _texts(places: int | None) -> Formatter:
    def shown(value: Any) -> str:
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, str):
            text = value
        else:
            text = _members(value)
        return text[: min(places if places is not None else _CUT, _CUT)]

    return shown


def _members(values: Iterable[str]) -> str:
    members = sorted(values)
    more = ", ..." if len(members) > MAX_SHOWN else ""
    return ", ".join(member[:_CUT] for member in members[:MAX_SHOWN]) + more


def _numbers(comma: str, places: int | None, letter: str) -> Formatter:
    spec = f"{comma}{'' if places is None else f'.{places}'}{letter}"

    def shown(value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return UNKNOWN
        if letter == "d":
            return format(round(value), spec)
        if not letter and isinstance(value, float):
            return format(value, f"{comma}.{6 if places is None else places}g")
        if not letter and places is not None:
            return format(value, spec + "g")
        return format(value, spec)

    return shown
