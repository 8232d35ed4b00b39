"""What the code of a rule needs from outside: facts, each read once into a local, compiled
patterns, and other constants.

Names are made of what they stand for: the same fact has the same name in every rule of every
policy, so code that was generated for one set of rules is good in any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from oborona.policy.expression.forms import TextForm
from oborona.policy.expression.patterns import MAX_MADE, compile_pattern, pattern_for
from oborona.types import CounterPrefix, Stage

NAME_BYTES: Final = 8  # of a hash: two of ten thousand names share one once in 10^11 policies


@dataclass(frozen=True, slots=True)
class FactLoad:
    """One fact that generated code reads."""

    local: str  # the local variable
    code: str  # the expression that reads it from `f`
    label: str  # as rules write it
    stage: Stage


class RuleLoads:
    """The facts, patterns and constants of one rule.

    Attributes:
        facts: by the code that reads them.
        constants: by the names that generated code has for them.
        timelines: types of shingles of which time-lines are named.
        across: types of which the counts of one direction are named, with the messages of the
            other.
        inner: functions that generated code calls, as source, by name.
        locals: local variables that the code uses, since whoever asks emptied it.
        noted: what is allowed, and hardly meant.
        turned: texts and patterns that are looked for in another form than they are written in.
    """

    def __init__(self) -> None:
        self.facts: dict[str, FactLoad] = {}
        self.constants: dict[str, Any] = {}
        self.timelines: set[int] = set()
        self.across: set[tuple[CounterPrefix, int]] = set()
        self.inner: dict[str, str] = {}
        self.locals: dict[str, None] = {}
        self.noted: list[str] = []
        self.turned: dict[str, str] = {}
        self._temporary = 0

    def local(self) -> str:
        """Return a new local variable.

        Other rules have it, too, and each sets it before it reads it.
        """
        self._temporary += 1
        return f"t{self._temporary}"

    def function(self, parameters: list[str], code: str) -> str:
        """Return the name of a function whose value is `code`."""
        rest = f"({', '.join(parameters)}): return {code}"
        name = variable_name("Q", rest)
        self.inner[name] = f"def {name}{rest}"
        return name

    def constant(self, key: object, make: Callable[[], object]) -> str:
        """Return the global name of a constant, the same one for every rule that has it.

        Args:
            key: what tells it from all others; of plain data.
            make: makes it.
        """
        name = variable_name("P", repr(key))
        if name not in self.constants:
            self.constants[name] = make()
        return name

    def fact(self, code: str, label: str, stage: Stage) -> FactLoad:
        """Return the load for a fact, the same one for every rule that names it."""
        load = self.facts.get(code)
        if load is None:
            load = self.facts[code] = FactLoad(variable_name("v", code), code, label, stage)
        return load

    def pattern(self, text: str, form: TextForm) -> str:
        """Return the global name of what searches for a pattern in facts of a form.

        Raises:
            PatternError: it can't be used.
        """
        pattern = pattern_for(text, form)
        self.note_turned(text, pattern.shown)
        if pattern.alphabet:
            self.noted.append(
                f"also finds Latin letters that look like its own ([{pattern.alphabet}...]);"
                " ask text.raw, subject.raw or from.name.raw for letters of a script"
            )
        return self.constant(
            pattern.text, lambda: compile_pattern(pattern.text, most=MAX_MADE).search
        )

    def note_turned(self, text: str, turned: str) -> None:
        """Note in which form a text of the rule is looked for."""
        if text != turned:
            self.turned[text] = turned

    def octets(self, code: str) -> str:
        """Return the code of a text as RE2 wants it; of a fact it is made once for all patterns."""
        return self._made_once(f"octets({code})", code)

    def in_form(self, code: str, form: TextForm) -> str:
        """Return the code of a text or set in another form.

        Of a fact it is made once for all rules.
        """
        return self._made_once(f"{form.name.lower()}({code})", code)

    def _made_once(self, call: str, code: str) -> str:
        of = next((load for load in self.facts.values() if load.local == code), None)
        if of is None:
            return call
        local = self.fact(call, of.label, of.stage).local
        self.locals[local] = None
        return local


def variable_name(letter: str, role: str) -> str:
    """Return the name that generated code has for something.

    Args:
        letter: of its sort.
        role: tells it from all others of its sort.
    """
    return (
        letter
        + blake2b(
            role.encode("utf-8", "surrogatepass"), digest_size=NAME_BYTES, usedforsecurity=False
        ).hexdigest()
    )
