r"""The tree of a pattern, and the pattern of a tree.

Only what tells whether a pattern is found has a place here: names and numbers of groups, and
whether a repetition is greedy, are gone. Classes are ranges of characters; what RE2 alone knows by
name (`\p{Greek}`) stays as it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oborona.policy.expression.word_class import LAST, NO_WORD, WORD, Ranges, without

_META: Final = frozenset("\\.+*?()|[]{}^$")


@dataclass(frozen=True, slots=True)
class PatternText:
    """Characters in a row."""

    text: str
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """One character of several, or of all but several."""

    ranges: Ranges = ()  # merged
    # those of them that came from classes such as \\w, which hold the forms of their members
    kept: Ranges = ()
    names: tuple[str, ...] = ()  # such as \\p{Greek}
    negated: bool = False
    any_case: bool = False

    @property
    def all(self) -> Ranges:
        """Its characters, without those that have a name only; of one without names."""
        return without(self.ranges) if self.negated else self.ranges


@dataclass(frozen=True, slots=True)
class TextEdge:
    """The beginning or end of a text or line."""

    code: str
    begins: bool


@dataclass(frozen=True, slots=True)
class WordBorder:
    r"""`\b`, where a word begins or ends; `\B`, where none does."""

    there: bool


@dataclass(frozen=True, slots=True)
class PatternSequence:
    """Patterns one after the other."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class PatternAlternation:
    """One of several patterns."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class PatternRepeat:
    """A pattern repeated so many times."""

    item: Tree
    least: int
    most: int | None


Tree = (
    PatternText
    | CharacterSet
    | TextEdge
    | WordBorder
    | PatternSequence
    | PatternAlternation
    | PatternRepeat
)

DOT: Final = CharacterSet(ranges=((10, 10),), kept=((10, 10),), negated=True)
DOT_ALL: Final = CharacterSet(ranges=((0, LAST),), kept=((0, LAST),))


def pattern_source(tree: Tree) -> str:
    """Return the pattern of a tree."""
    match tree:
        case PatternText(text, any_case):
            return _cased(text_of(text), any_case)
        case CharacterSet():
            return set_of(tree)
        case TextEdge(code):
            return code
        case WordBorder(there):
            return r"\b" if there else r"\B"
        case PatternSequence(items):
            return "".join(
                grouped(span) if isinstance(span, PatternAlternation) else pattern_source(span)
                for span in items
            )
        case PatternAlternation(options):
            return "|".join(map(pattern_source, options))
        case PatternRepeat(item, least, most):
            return f"{grouped(item)}{times(least, most)}"


def grouped(tree: Tree) -> str:
    """Return the pattern of a tree as one thing that can be repeated."""
    code = pattern_source(tree)
    if isinstance(tree, CharacterSet | TextEdge | WordBorder) or (
        isinstance(tree, PatternText) and len(tree.text) == 1
    ):
        return code
    return f"(?:{code})"


def text_of(text: str) -> str:
    """Return characters as a pattern has them."""
    return "".join(
        f"\\{letter}" if letter in _META else letter if letter >= " " else f"\\x{ord(letter):02x}"
        for letter in text
    )


def times(least: int, most: int | None) -> str:
    """Return how a pattern says so many times."""
    if (least, most) in _TIMES:
        return _TIMES[least, most]
    return f"{{{least}}}" if most == least else f"{{{least},{'' if most is None else most}}}"


def set_of(letters: CharacterSet) -> str:
    """Return the pattern of a set."""
    ranges, negated = letters.ranges, letters.negated
    if not letters.names and ranges in (WORD, NO_WORD):  # the shorter way to say it
        ranges, negated = NO_WORD, negated is (ranges == NO_WORD)
    if letters.names and not ranges and not negated and len(letters.names) == 1:
        return _cased(letters.names[0], letters.any_case)
    inside = "".join(map(_range, ranges)) + "".join(letters.names)
    if not inside:
        return r"[^\x00-\x{10ffff}]" if not negated else r"[\x00-\x{10ffff}]"
    return _cased(f"[{'^' * negated}{inside}]", letters.any_case)


def _range(span: tuple[int, int]) -> str:
    first, last = span
    if first == last:
        return _letter(first)
    if last == first + 1:
        return _letter(first) + _letter(last)
    return f"{_letter(first)}-{_letter(last)}"


def _letter(code: int) -> str:
    letter = chr(code)
    if letter.isalnum() or (code > 0xA0 and letter.isprintable()):
        return letter
    return (
        f"\\x{{{code:x}}}"
        if code > 0x7E or code < 0x20
        else f"\\{letter}"
        if letter in _IN_CLASS
        else letter
    )


def _cased(code: str, any_case: bool) -> str:
    return f"(?i:{code})" if any_case else code


_TIMES: Final = {(0, 1): "?", (0, None): "*", (1, None): "+"}
_IN_CLASS: Final = frozenset("\\[]^-&~")
