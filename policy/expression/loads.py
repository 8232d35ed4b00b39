"""What the code of a rule needs from outside: facts, each read once into a local, compiled patterns, and other constants.

Names are made of what they stand for: the same fact has the same name in every rule of every policy, so code that was generated for one set of rules
is good in any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import re2

from oborona.types import Stage

MAX_PATTERN_LENGTH: Final = 500  # characters; longer lists of words belong into several rules
MAX_PATTERN_MEMORY: Final = (
    1 << 20
)  # bytes that one pattern's automaton may fill on hostile text; it stays linear
NAME_BYTES: Final = 8  # of a hash: two of ten thousand names share one once in 10^11 policies


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
    """The facts, patterns and constants of one rule.

    Attributes:
        facts: by the code that reads them.
        constants: by the names that generated code has for them.
        timelines: types of shingles of which time-lines are named.
        inner: functions that generated code calls, as source, by name.
        locals: local variables that the code uses, since whoever asks emptied it.
    """

    def __init__(self) -> None:
        self.facts: dict[str, Load] = {}
        self.constants: dict[str, Any] = {}
        self.timelines: set[int] = set()
        self.inner: dict[str, str] = {}
        self.locals: dict[str, None] = {}
        self._temporary = 0

    def local(self) -> str:
        """Return a new local variable; other rules have it, too, and each sets it before it reads it."""
        self._temporary += 1
        return f"t{self._temporary}"

    def function(self, parameters: list[str], code: str) -> str:
        """Return the name of a function whose value is `code`."""
        rest = f"({', '.join(parameters)}): return {code}"
        name = named("Q", rest)
        self.inner[name] = f"def {name}{rest}"
        return name

    def constant(self, key: object, make: Callable[[], object]) -> str:
        """Return the global name of a constant, the same one for every rule that has it.

        Args:
            key: what tells it from all others; of plain data.
            make: makes it.
        """
        name = named("P", repr(key))
        if name not in self.constants:
            self.constants[name] = make()
        return name

    def fact(self, code: str, label: str, stage: Stage) -> Load:
        """Return the load for a fact, the same one for every rule that names it."""
        load = self.facts.get(code)
        if load is None:
            load = self.facts[code] = Load(named("v", code), code, label, stage)
        return load

    def pattern(self, text: str) -> str:
        """Return the global name of what searches for a pattern.

        Raises:
            PatternError: RE2 does not take it.
        """
        return self.constant(text, lambda: compile_pattern(text).search)

    def octets(self, code: str) -> str:
        """Return the code of a text as RE2 wants it; of a fact it is made once for all patterns."""
        of = next((load for load in self.facts.values() if load.local == code), None)
        if of is None:
            return f"octets({code})"
        local = self.fact(f"octets({code})", of.label, of.stage).local
        self.locals[local] = None
        return local


def named(letter: str, what: str) -> str:
    """Return the name that generated code has for something.

    Args:
        letter: of its sort.
        what: tells it from all others of its sort.
    """
    return (
        letter
        + blake2b(
            what.encode("utf-8", "surrogatepass"), digest_size=NAME_BYTES, usedforsecurity=False
        ).hexdigest()
    )


def compile_pattern(text: str, *, captures: bool = False) -> Any:
    """Return a pattern of RE2, for octets of UTF-8.

    Args:
        text: of the pattern.
        captures: its groups are wanted, not only whether it is found.

    Raises:
        PatternError: RE2 does not take it.
    """
    if len(text) > MAX_PATTERN_LENGTH:
        raise PatternError(f"is {len(text)} characters long; at most {MAX_PATTERN_LENGTH} are allowed")
    for letter in text:
        if letter < " ":
            # "\b" in a plain string is a backspace, not a word border.
            raise PatternError(f'holds the control character U+{ord(letter):04X}; write it as r"..."')
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as fault:
        words = fault.args[0] if fault.args else "not a pattern"
        raise PatternError(
            words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        ) from None
