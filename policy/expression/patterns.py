r"""Patterns of RE2 as rules write them, and as they are asked of a fact of some form.

RE2 judges the syntax; `pattern_read` takes apart what it took; `pattern_fold` brings letters into
the form of the fact; `pattern_borders` makes `\b` know all scripts, as `word_class` does `\w`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import re2

from oborona.policy.expression.fault import PatternError
from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.pattern_borders import without_borders
from oborona.policy.expression.pattern_fold import alphabet, folded
from oborona.policy.expression.pattern_parser import tree_of, unsupported_syntax
from oborona.policy.expression.pattern_tree import CharacterSet, pattern_source, set_of
from oborona.policy.expression.word_class import NO_WORD, WORD

MAX_PATTERN_LENGTH: Final = 500  # characters; longer lists of words belong into several rules
MAX_PATTERN_MEMORY: Final = (
    1 << 20
)  # bytes that one pattern's automaton may fill on hostile text; it stays linear


# characters of one that is made of another, whose classes may be written out
MAX_MADE: Final = 100_000


_WORD: Final = set_of(CharacterSet(WORD))
_NO_WORD: Final = set_of(CharacterSet(NO_WORD))


class FactPattern(NamedTuple):
    """A pattern as it is looked for."""

    text: str  # for RE2
    # for people: as it was written where its letters and borders stay; else with the short names of
    # classes
    shown: str
    # the first letters of a class that finds Latin letters, too; empty where there is none
    alphabet: str


@lru_cache(maxsize=2048)
def pattern_for(text: str, form: TextForm, *, lines: bool = False) -> FactPattern:
    """Return a pattern as it is looked for in a fact.

    Args:
        text: as a rule has it.
        form: of the fact.
        lines: ^ and $ are the ends of its lines.

    Raises:
        PatternError: RE2 does not take it, or nothing that it asks for is ever there; never
            anything else.
    """
    compile_pattern(text)
    tree = tree_of(text, lines=lines)
    pattern = without_borders(folded(tree, form))
    shown = (
        text
        if pattern == pattern_source(tree)
        else pattern.replace(_NO_WORD, r"\W").replace(_WORD, r"\w")
    )
    return FactPattern(pattern, shown, alphabet(tree, form))


def compile_pattern(text: str, *, captures: bool = False, most: int = MAX_PATTERN_LENGTH) -> Any:
    """Return a pattern of RE2, for octets of UTF-8.

    Args:
        text: of the pattern.
        captures: its groups are wanted, not only whether it is found.
        most: characters that it may have.

    Raises:
        PatternError: RE2 does not take it.
    """
    if len(text) > most:
        raise PatternError(f"is {len(text)} characters long; at most {most} are allowed")
    for letter in text:
        if letter < " ":
            # "\b" in a plain string is a backspace, not a word border.
            raise PatternError(
                f'holds the control character U+{ord(letter):04X}; write it as r"..."'
            )
        if "\ud800" <= letter <= "\udfff":
            raise PatternError(f"holds half a character, U+{ord(letter):04X}")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as fault:
        words = fault.args[0] if fault.args else "not a pattern"
        own = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise PatternError(unsupported_syntax(text) or own) from None
