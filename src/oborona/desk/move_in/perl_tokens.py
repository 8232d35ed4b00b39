"""Perl cut into words, as far as a configuration needs it; pure.  None of it is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\r\f\v]+")
_NUMBER: Final = re.compile(r"\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_VARIABLE: Final = re.compile(r"[$@%]\w[\w:]*")
_WORD: Final = re.compile(r"[A-Za-z_][\w:]*")
_QUOTING: Final = re.compile(r"(?P<how>qw|qq|qr|q|m)(?P<space>\s*)(?P<end>[^\w\s,;=)])")
_HEREDOC: Final = re.compile(r"<<\s*(['\"]?)([A-Za-z_]\w*)\1")
_POD: Final = re.compile(r"=[a-z]\w*.*?(?:^=cut\b[^\n]*|\Z)", re.MULTILINE | re.DOTALL)
_ENDS: Final = {"(": ")", "{": "}", "[": "]", "<": ">"}
_INTERPOLATED: Final = re.compile(r"(?<!\\)[$@]\w")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class PerlKind(StrEnum):
    """What a word is."""

    TEXT = "text"
    NUMBER = "number"
    WORDS = "words"  # of qw
    PATTERN = "pattern"  # as written: qr'...'i
    VARIABLE = "variable"
    NAME = "name"
    SIGN = "sign"
    UNKNOWN = "unknown"  # a text that would have to be computed


class PerlToken(NamedTuple):
    """One word."""

    kind: PerlKind
    text: str
    line: int


class PerlWithoutEndError(ValueError):
    """A text, list or pattern has no end.

    Args:
        line: on which it begins.
    """

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__("a text or list without an end")


def tokens_of(text: str) -> Iterator[PerlToken]:
    """Yield the words of a program; what stands behind `__END__` is none of it.

    Raises:
        PerlWithoutEndError: it breaks off.
    """
    index, line, size = 0, 1, len(text)
    while index < size:
        start = index
        token, index = _next(text, index, line)
        if token is not None:
            if token.text in ("__END__", "__DATA__") and token.kind is PerlKind.NAME:
                return
            yield token
        line += text.count("\n", start, index)


def _next(text: str, index: int, line: int) -> tuple[PerlToken | None, int]:
    letter = text[index]
    if letter == "\n":
        return None, index + 1
    if (space := _SPACE.match(text, index)) is not None:
        return None, space.end()
    if letter == "#":
        end = text.find("\n", index)
        return None, len(text) if end < 0 else end
    if letter == "=" and (not index or text[index - 1] == "\n"):
        pod = _POD.match(text, index)
        if pod is not None:
            return None, pod.end()
    if letter in "'\"":
        body, end = _until(text, index + 1, letter, letter, line)
        return _text(body, line, plain=letter == "'"), end
    if (heredoc := _HEREDOC.match(text, index)) is not None:
        last = re.compile(rf"^{heredoc[2]}$", re.MULTILINE).search(text, heredoc.end())
        if last is None:
            raise PerlWithoutEndError(line)
        # what stands behind it in its line is rarely more than the end of the statement
        rest = text[heredoc.end() : text.find("\n", heredoc.end())].strip()
        kind = PerlKind.SIGN if rest == ";" else PerlKind.UNKNOWN
        return PerlToken(kind, rest if rest == ";" else "<<", line), last.end()
    if (quoting := _QUOTING.match(text, index)) is not None and _is_quoting(text, index, quoting):
        return _quoted(text, index, quoting, line)
    for kind, form in (
        (PerlKind.NUMBER, _NUMBER), (PerlKind.VARIABLE, _VARIABLE), (PerlKind.NAME, _WORD),
    ):  # fmt: skip
        if (found := form.match(text, index)) is not None:
            return PerlToken(kind, found.group(), line), found.end()
    if text.startswith("=>", index):
        return PerlToken(PerlKind.SIGN, ",", line), index + 2
    return PerlToken(PerlKind.SIGN, letter, line), index + 1


def _is_quoting(text: str, index: int, quoting: re.Match[str]) -> bool:
    """Tell whether q, m and their like are no name, nor the key before an arrow."""
    return quoting["end"] != "#" and not text.startswith("=>", index + len(quoting["how"]))


def _quoted(text: str, index: int, quoting: re.Match[str], line: int) -> tuple[PerlToken, int]:
    opening = quoting["end"]
    body, end = _until(text, quoting.end(), opening, _ENDS.get(opening, opening), line)
    match quoting["how"]:
        case "qw":
            return PerlToken(PerlKind.WORDS, body, line), end
        case "q" | "qq":
            return _text(body, line, plain=quoting["how"] == "q"), end
        case _:
            flags = re.compile(r"[a-z]*").match(text, end)
            assert flags is not None  # it may be empty
            return PerlToken(PerlKind.PATTERN, text[index : flags.end()], line), flags.end()


def _until(text: str, index: int, opening: str, closing: str, line: int) -> tuple[str, int]:
    """Return what stands before the end of a text, and where it is over."""
    start, depth = index, 0
    while index < len(text):
        letter = text[index]
        if letter == "\\":
            index += 2
            continue
        if letter == closing and not depth:
            return text[start:index], index + 1
        if opening != closing:
            depth += (letter == opening) - (letter == closing)
        index += 1
    raise PerlWithoutEndError(line)


def _text(body: str, line: int, *, plain: bool) -> PerlToken:
    if not plain and _INTERPOLATED.search(body):
        return PerlToken(PerlKind.UNKNOWN, body, line)
    return PerlToken(PerlKind.TEXT, _ESCAPED.sub(r"\1", body), line)
