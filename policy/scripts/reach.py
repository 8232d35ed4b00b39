"""Which facts a function of a script may ask for, by the lines that name them.

A function reaches what is named in its own lines, and in lines of nobody: those of functions that
any other may call.  Where a name is worked out as the script runs, it may be any.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from oborona.policy.expression import FactSchema
from oborona.policy.scripts.source import NamedFact, ScriptSource
from oborona.types import Stage

Lines = tuple[int, int]  # first and last


class FactReach:
    """The facts of one script by line.

    Args:
        source: the script.
        functions: the lines of the functions it registers; many may share them.
        schema: the facts that there are.
    """

    def __init__(
        self, source: ScriptSource, functions: Iterable[Lines], schema: FactSchema
    ) -> None:
        self._source = source
        self._schema = schema
        self._lines = [fact.line for fact in source.named]
        owned = {line for first, last in set(functions) for line in range(first, last + 1)}
        self._shared = {fact.name for fact in source.named if fact.line not in owned}
        self._open = not owned.issuperset(source.open)
        self._known: dict[Lines, frozenset[str]] = {}

    def named(self, lines: Lines, stage: Stage) -> frozenset[str]:
        """Return the facts that are known at a stage, of those that the function in these lines may
        ask for.
        """
        reached = self._known.get(lines)
        if reached is None:
            reached = self._known[lines] = self._reached(lines)
        return frozenset(name for name in reached if self._since(name).order <= stage.order)

    def too_late(self, lines: Lines, stage: Stage) -> NamedFact | None:
        """Return the first fact in these lines that is not known at a stage yet."""
        return next(
            (fact for fact in self._own(lines) if self._since(fact.name).order > stage.order), None
        )

    def _reached(self, lines: Lines) -> frozenset[str]:
        first, last = lines
        if self._open or any(first <= line <= last for line in self._source.open):
            return frozenset(self._schema.by_name)
        return frozenset(self._shared).union(fact.name for fact in self._own(lines))

    def _own(self, lines: Lines) -> tuple[NamedFact, ...]:
        first, last = lines
        return self._source.named[bisect_left(self._lines, first) : bisect_right(self._lines, last)]

    def _since(self, name: str) -> Stage:
        return self._schema.by_name[name].stage
