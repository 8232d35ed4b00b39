"""What generated code needs from outside: facts, each read once into a local, and compiled patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import re2

from oborona.types import Stage

MAX_PATTERN_LENGTH: Final = 500  # characters; longer lists of words belong into several rules
MAX_PATTERN_MEMORY: Final = (
    1 << 20
)  # bytes that one pattern's automaton may fill on hostile text; it stays linear


class PatternError(ValueError):
    """A pattern that RE2 does not take; the text says what it does not like."""


@dataclass(frozen=True, slots=True)
class Load:
    """One fact that generated code reads."""

    local: str  # the local variable
    code: str  # the expression that reads it from `f`
    label: str  # as rules write it
    stage: Stage


class Loads:
    """All facts and patterns that the rules of one set share."""

    def __init__(self) -> None:
        self.facts: dict[str, Load] = {}
        self.patterns: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def fact(self, code: str, label: str, stage: Stage) -> Load:
        """Return the load for a fact, the same one for every rule that names it."""
        load = self.facts.get(code)
        if load is None:
            load = self.facts[code] = Load(f"v{len(self.facts)}", code, label, stage)
        return load

    def pattern(self, text: str) -> str:
        """Return the global name of a compiled pattern.

        Raises:
            PatternError: RE2 does not take it.
        """
        name = self._names.get(text)
        if name is None:
            compiled = _compile(text)
            name = self._names[text] = f"P{len(self._names)}"
            self.patterns[name] = compiled
        return name


def _compile(text: str) -> Any:
    if len(text) > MAX_PATTERN_LENGTH:
        raise PatternError(f"is {len(text)} characters long; at most {MAX_PATTERN_LENGTH} are allowed")
    for letter in text:
        if letter < " ":
            # "\b" in a plain string is a backspace, not a word border.
            raise PatternError(f'holds the control character U+{ord(letter):04X}; write it as r"..."')
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as fault:
        words = fault.args[0] if fault.args else "not a pattern"
        raise PatternError(
            words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        ) from None
