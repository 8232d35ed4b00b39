"""Values that a Perl configuration assigns as they stand: texts, numbers, lists, hashes; pure.

What would have to be computed is none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oborona.desk.move_in.perl_tokens import PerlKind, PerlToken, tokens_of

MOST_DEPTH: Final = 30  # lists within one another
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_COMPUTED: Final = "is computed, and no Perl is run"


class PerlValue(NamedTuple):
    """A value.

    Args:
        kind: TEXT, NUMBER, PATTERN, VARIABLE or NAME of one word; else SIGN, and of many.
        text: of one word; of many `(`, `[`, `{`, or the name of what is called with them.
        members: of many; of a hash keys and values in turn.
        line: on which it begins.
    """

    kind: PerlKind
    text: str
    line: int
    members: tuple[PerlValue, ...] = ()


class PerlStatement(NamedTuple):
    """A statement, in words.

    Args:
        tokens: without the semicolon.
        line: on which it begins.
    """

    tokens: tuple[PerlToken, ...]
    line: int

    @property
    def text(self) -> str:
        """The statement for people."""
        return " ".join(token.text for token in self.tokens[:20])


def statements_of(text: str) -> Iterator[PerlStatement]:
    """Yield the statements of a program, each with the lines that it stands on.

    Raises:
        PerlWithoutEndError: it breaks off.
    """
    gathered, depth = list[PerlToken](), 0
    for token in tokens_of(text):
        if token.kind is PerlKind.SIGN:
            depth = max(0, depth + (token.text in _OPEN) - (token.text in _OPEN.values()))
            if token.text == ";" and not depth:
                if gathered:
                    yield PerlStatement(tuple(gathered), gathered[0].line)
                gathered = []
                continue
        gathered.append(token)
    if gathered:
        yield PerlStatement(tuple(gathered), gathered[0].line)


def value_of(tokens: Sequence[PerlToken]) -> PerlValue:
    """Return the value that words are.

    Raises:
        ValueError: they are none that stands there as it is.
    """
    value, index = _value(tokens, 0, 0)
    if index != len(tokens):
        raise ValueError(_COMPUTED)
    return value


def pairs_of(value: PerlValue) -> Iterator[tuple[PerlValue, PerlValue]]:
    """Yield keys and values of a hash, or of all hashes of a list."""
    if value.text == "{":
        yield from zip(value.members[::2], value.members[1::2], strict=False)
    else:
        for member in value.members:
            yield from pairs_of(member)


def _value(tokens: Sequence[PerlToken], index: int, depth: int) -> tuple[PerlValue, int]:
    if index >= len(tokens) or depth > MOST_DEPTH:
        raise ValueError(_COMPUTED)
    token = tokens[index]
    match token.kind:
        case PerlKind.WORDS:
            members = tuple(
                PerlValue(PerlKind.TEXT, word, token.line) for word in token.text.split()
            )
            return PerlValue(PerlKind.SIGN, "[", token.line, members), index + 1
        case PerlKind.TEXT | PerlKind.NUMBER | PerlKind.PATTERN | PerlKind.VARIABLE:
            return PerlValue(token.kind, token.text, token.line), index + 1
        case PerlKind.NAME:
            if index + 1 < len(tokens) and tokens[index + 1].text == "(":
                members, after = _members(tokens, index + 1, depth)
                return PerlValue(PerlKind.SIGN, token.text, token.line, members), after
            return PerlValue(token.kind, token.text, token.line), index + 1
        case PerlKind.SIGN if token.text in _OPEN:
            members, after = _members(tokens, index, depth)
            return PerlValue(PerlKind.SIGN, token.text, token.line, members), after
        case PerlKind.SIGN if token.text == "\\":
            return _value(tokens, index + 1, depth + 1)
        case PerlKind.SIGN if token.text in "+-" and index + 1 < len(tokens):
            number = tokens[index + 1]
            if number.kind is PerlKind.NUMBER:
                sign = "-" if token.text == "-" else ""
                return PerlValue(number.kind, sign + number.text, token.line), index + 2
    raise ValueError(_COMPUTED)


def _members(
    tokens: Sequence[PerlToken], index: int, depth: int
) -> tuple[tuple[PerlValue, ...], int]:
    closing, index = _OPEN[tokens[index].text], index + 1
    members = list[PerlValue]()
    while index < len(tokens):
        token = tokens[index]
        if token.kind is PerlKind.SIGN and token.text == closing:
            return tuple(members), index + 1
        if token.kind is PerlKind.SIGN and token.text == ",":
            index += 1
            continue
        value, index = _value(tokens, index, depth + 1)
        members.append(value)
        if index < len(tokens) and tokens[index].text not in (",", closing):
            raise ValueError(_COMPUTED)
    raise ValueError("is a list without an end")
