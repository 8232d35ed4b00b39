"""A pattern of RE2 to its tree. Source: https://github.com/google/re2/wiki/Syntax

It is given what RE2 has taken already, so it knows no errors of syntax but those of its own limits;
and what RE2 does not have is said here in words of what to write instead.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.pattern_tree import (
    DOT,
    DOT_ALL,
    CharacterSet,
    PatternAlternation,
    PatternRepeat,
    PatternSequence,
    PatternText,
    TextEdge,
    Tree,
    WordBorder,
)
from oborona.policy.expression.word_class import NO_WORD, SPACES, WORD, Ranges, merged, without

MAX_DEPTH: Final = 40  # groups in groups

_TIMES: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAME: Final = re.compile(r"\(\?P?<\w+>")
_CODE: Final = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_OCTAL: Final = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_PROPERTY: Final = re.compile(r"\\[pP](?:\{\^?\w+\}|\w)")
_POSIX: Final = re.compile(r"\[:(\^?)(\w+):\]")
_PLAIN: Final = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_DIGITS: Final[Ranges] = ((0x30, 0x39),)
_CLASSES: Final[dict[str, Ranges]] = {
    "w": WORD,
    "W": NO_WORD,
    "s": SPACES,
    "S": without(SPACES),
    "d": _DIGITS,
    "D": without(_DIGITS),
}
_OF_ASCII: Final[dict[str, Ranges]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "ascii": ((0, 127),), "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)), "digit": _DIGITS, "graph": ((33, 126),), "lower": ((97, 122),), "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)), "space": ((9, 13), (32, 32)), "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)), "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip
_MISSING: Final = (
    (re.compile(r"\(\?[=!]"), "look-ahead", 'ask for it beside the pattern: matches(x, r"...") and not matches(x, r"...")'),
    (re.compile(r"\(\?<[=!]"), "look-behind", "write what may stand before it: (?:^|[^0-9])..., or \\b for the border of a word"),
    (re.compile(r"\(\?>"), "atomic group", "write (?:...): RE2 is never slow"),
    (re.compile(r"\\[1-9](?![0-7])|\(\?P=|\\k<"), "back reference", "a rule in Lua can compare what capture() gives (docs/policy/lua.md)"),
    (re.compile(r"(?<!\\)[*+?}]\+"), "possessive repetition", "leave the second + out: RE2 is never slow"),
    (re.compile(r"\(\?#"), "comment", "write it beside the rule, after #"),
    (re.compile(r"\\[zZ]"), r"\Z", r"write \z for the end of the text"),
)  # fmt: skip


class PatternFlags(NamedTuple):
    """What a group says of the patterns in it."""

    any_case: bool = False
    lines: bool = False  # ^ and $ stand at lines
    all: bool = False  # a dot takes line ends


def unsupported_syntax(pattern: str) -> str:
    """Return what RE2 has not and a pattern uses, with what to write instead.

    Empty where RE2's own words must do.
    """
    for sign, feature, instead in _MISSING:
        if match := sign.search(pattern):
            return f"RE2 has no {feature} ({match[0]}); {instead}"
    return ""


def tree_of(pattern: str, *, lines: bool = False) -> Tree:
    """Return the tree of a pattern that RE2 takes.

    Args:
        pattern: of RE2.
        lines: ^ and $ are the ends of lines.

    Raises:
        PatternError: nested too deeply, or it asks for single octets.
    """
    return _Reader(pattern).all(PatternFlags(lines=lines))


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def all(self, flags: PatternFlags) -> Tree:
        tree = self._either(flags, 0)
        if self._at < len(self._pattern):
            raise PatternError(f"can't be read from {self._pattern[self._at : self._at + 20]!r} on")
        return tree

    def _either(self, flags: PatternFlags, depth: int) -> Tree:
        """Read up to a closing parenthesis or the end.

        Flags may be set on the way, for all that follows.
        """
        if depth > MAX_DEPTH:
            raise PatternError(f"is nested too deeply; at most {MAX_DEPTH} groups in groups")
        options: list[Tree] = []
        items: list[Tree] = []
        while self._at < len(self._pattern) and not self._next(")"):
            if self._take("|"):
                options.append(_row(items))
                items = []
                continue
            if match := _FLAGS.match(self._pattern, self._at):
                self._at = match.end()
                inside = _flagged(flags, match)
                if match[3] == ")":
                    flags = inside
                    continue
                piece = self._closed(inside, depth)
            elif self._take("("):
                if match := _NAME.match(self._pattern, self._at - 1):
                    self._at = match.end()
                piece = self._closed(flags, depth)
            elif self._pattern.startswith("\\Q", self._at):
                items += [PatternText(text, flags.any_case) for text in self._quoted()]
                piece = items.pop() if items else PatternSequence(())
            elif self._pattern.startswith("\\E", self._at):
                self._at += 2
                continue
            else:
                piece = self._piece(flags)
            items.append(self._repeated(piece))
        options.append(_row(items))
        return options[0] if len(options) == 1 else PatternAlternation(tuple(options))

    def _closed(self, flags: PatternFlags, depth: int) -> Tree:
        tree = self._either(flags, depth + 1)
        self._at += 1
        return tree

    def _quoted(self) -> str:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at + 2 : end if end >= 0 else None]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        return text

    def _repeated(self, piece: Tree) -> Tree:
        while True:
            if self._take("*"):
                piece = PatternRepeat(piece, 0, None)
            elif self._take("+"):
                piece = PatternRepeat(piece, 1, None)
            elif self._take("?"):
                piece = PatternRepeat(piece, 0, 1)
            elif match := _TIMES.match(self._pattern, self._at):
                self._at = match.end()
                most = None if match[2] and not match[3] else int(match[3] or match[1])
                piece = PatternRepeat(piece, int(match[1]), most)
            else:
                return piece
            self._take("?")  # not greedy: found all the same

    def _piece(self, flags: PatternFlags) -> Tree:
        letter = self._pattern[self._at]
        if letter == "[":
            return self._set(flags)
        if letter == "\\":
            return self._escape(flags)
        self._at += 1
        if letter == ".":
            return DOT_ALL if flags.all else DOT
        if letter in "^$":
            return _edge(letter, flags)
        return PatternText(letter, flags.any_case)

    def _escape(self, flags: PatternFlags) -> Tree:
        sort = self._pattern[self._at + 1 : self._at + 2]
        if sort in ("b", "B"):
            self._at += 2
            return WordBorder(sort == "b")
        if sort in ("A", "z"):
            self._at += 2
            return TextEdge(f"\\{sort}", sort == "A")
        if sort == "C":
            raise PatternError(r"asks for a single octet (\C); facts are texts: write a dot")
        if sort in _CLASSES:
            self._at += 2
            return CharacterSet(_CLASSES[sort], kept=_CLASSES[sort])
        if name := self._named():
            return CharacterSet(names=(name,), any_case=flags.any_case)
        return PatternText(chr(self._code()), flags.any_case)

    def _named(self) -> str:
        match = _PROPERTY.match(self._pattern, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _code(self) -> int:
        """Read a character, escaped or not."""
        text, at = self._pattern, self._at
        if text[at] != "\\":
            self._at += 1
            return ord(text[at])
        if match := _CODE.match(text, at):
            self._at = match.end()
            return int(match[1] or match[2], 16)
        if match := _OCTAL.match(text, at):
            self._at = match.end()
            return int(match[1], 8)
        self._at += 2
        letter = text[at + 1 : at + 2] or "\\"
        return _PLAIN.get(letter, ord(letter))

    def _set(self, flags: PatternFlags) -> Tree:
        self._at += 1
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        kept_ranges: list[tuple[int, int]] = []
        names: list[str] = []
        first = True
        while self._at < len(self._pattern) and (first or not self._next("]")):
            first = False
            sort = self._pattern[self._at + 1 : self._at + 2] if self._next("\\") else ""
            if match := _POSIX.match(self._pattern, self._at):
                self._at = match.end()
                of = _OF_ASCII.get(match[2], ())
                if match[2] == "upper" and not match[1]:
                    ranges += of
                else:
                    kept_ranges += without(of) if match[1] else of
            elif sort in _CLASSES:
                self._at += 2
                kept_ranges += _CLASSES[sort]
            elif name := self._named():
                names.append(name)
            else:
                low = high = self._code()
                if self._next("-") and not self._pattern.startswith("-]", self._at):
                    self._at += 1
                    high = self._code()
                ranges.append((low, high))
        self._at += 1
        return CharacterSet(
            merged([*ranges, *kept_ranges]),
            merged(kept_ranges),
            tuple(names),
            negated,
            flags.any_case,
        )

    def _next(self, sign: str) -> bool:
        return self._pattern.startswith(sign, self._at)

    def _take(self, sign: str) -> bool:
        end = self._next(sign)
        self._at += end
        return end


def _flagged(flags: PatternFlags, match: re.Match[str]) -> PatternFlags:
    for letters, value in ((match[1] or "", True), (match[2] or "", False)):
        if "i" in letters:
            flags = flags._replace(any_case=value)
        if "m" in letters:
            flags = flags._replace(lines=value)
        if "s" in letters:
            flags = flags._replace(all=value)
    return flags


def _edge(letter: str, flags: PatternFlags) -> Tree:
    if letter == "^":
        return TextEdge("(?m:^)" if flags.lines else r"\A", begins=True)
    return TextEdge("(?m:$)" if flags.lines else r"\z", begins=False)


def _row(items: list[Tree]) -> Tree:
    """Return items as one, characters in a row as one text."""
    joined: list[Tree] = []
    for piece in items:
        last = joined[-1] if joined else None
        if (
            isinstance(piece, PatternText)
            and isinstance(last, PatternText)
            and last.any_case is piece.any_case
        ):
            joined[-1] = PatternText(last.text + piece.text, piece.any_case)
        else:
            joined.append(piece)
    return joined[0] if len(joined) == 1 else PatternSequence(tuple(joined))
