r"""Patterns of RE2 as Java's engine takes them, which Spark has.

The two differ in what a class holds, which letters are one without regard to case, what ends a
line, and where `$` stands.  So nothing of a pattern is left to Java's own sense: classes are
written out as ranges, letters in any case as classes, ends as what stands there.  Classes by name
(`\p{Greek}`) are refused: the two know Unicodes of different years.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import re2

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.pattern_parser import tree_of
from oborona.policy.expression.pattern_tree import (
    CharacterSet,
    PatternAlternation,
    PatternRepeat,
    PatternSequence,
    PatternText,
    TextEdge,
    Tree,
    WordBorder,
    times,
)
from oborona.policy.expression.word_class import Ranges, merged, without

MAX_CASED: Final = 30_000  # members of a class that are looked at one by one
_EDGES: Final = {
    "^": r"\A",
    r"\A": r"\A",
    "$": r"\z",
    r"\z": r"\z",
    "(?m:^)": r"(?:\A|(?<=\n))",
    "(?m:$)": r"(?=\n|\z)",
}


def java_pattern(text: str) -> str:
    """Return a pattern for Java.

    Args:
        text: as RE2 takes it.

    Raises:
        PatternError: it has something that can't be said alike.
    """
    return _source(tree_of(text))


def _source(tree: Tree) -> str:
    match tree:
        case PatternText(text, any_case):
            return "".join(
                _class(_cases([(ord(letter), ord(letter))])) if any_case else _letter(ord(letter))
                for letter in text
            )
        case CharacterSet():
            return _set(tree)
        case TextEdge(code):
            if code not in _EDGES:
                raise PatternError(f"{code} can't be said on Spark")
            return _EDGES[code]
        case WordBorder():
            raise PatternError(r"\b can't be said on Spark")
        case PatternSequence(items):
            return "".join(f"(?:{_source(item)})" for item in items)
        case PatternAlternation(options):
            return "|".join(f"(?:{_source(option)})" for option in options)
        case PatternRepeat(item, least, most):
            return f"(?:{_source(item)}){times(least, most)}"


def _set(letters: CharacterSet) -> str:
    if letters.names:
        raise PatternError(
            f"{letters.names[0]} can't be said on Spark: its Unicode is of another year; write "
            "the letters as a class"
        )
    ranges = _cases(letters.ranges) if letters.any_case else letters.ranges
    return _class(without(merged(ranges)) if letters.negated else ranges)


def _class(ranges: Ranges) -> str:
    if not ranges:
        return r"(?!)"  # nothing is in an empty class
    return f"[{''.join(_span(first, last) for first, last in ranges)}]"


def _span(first: int, last: int) -> str:
    return _letter(first) if first == last else f"{_letter(first)}-{_letter(last)}"


def _letter(code: int) -> str:
    return f"\\x{{{code:x}}}"


def _cases(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges with all that RE2 takes for the same letters in any case."""
    spans = list(ranges)
    if sum(last - first + 1 for first, last in spans) > MAX_CASED:
        raise PatternError(f"has a class of more than {MAX_CASED:,} letters in any case")
    orbits = _orbits()
    more = {
        other
        for first, last in spans
        for code in range(first, last + 1)
        for other in orbits.get(code, ())
    }
    return merged([*spans, *((code, code) for code in more)])


@lru_cache(maxsize=1)
def _orbits() -> dict[int, tuple[int, ...]]:
    """Return which letters RE2 takes for the same in any case, by letter."""
    alike: dict[str, set[int]] = {}
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        forms = {letter.lower(), letter.upper(), letter.casefold()}
        if forms != {letter}:
            for form in forms:
                alike.setdefault(form, set()).update(
                    {code, *(ord(other) for other in forms if len(other) == 1)}
                )
    found: dict[int, set[int]] = {}
    for codes in alike.values():
        for code in codes:
            pattern = re2.compile(f"(?i:\\x{{{code:x}}})")
            found.setdefault(code, set()).update(
                other for other in codes if pattern.fullmatch(chr(other)) is not None
            )
    return {code: tuple(sorted(others)) for code, others in found.items()}
