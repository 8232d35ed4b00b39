"""What an expression may name beside facts: the other rules of its set, conditions, and names of
what was hit before the rules run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from oborona.types import Stage


class RuleReference(NamedTuple):
    """Another piece of the policy, as the code of an expression sees it."""

    code: str  # a local variable, or a test of what was hit before
    stage: Stage  # from which it is known
    named: frozenset[str] = frozenset()  # facts that it names


class RuleReferences(Protocol):
    """The rest of a rule set."""

    def condition(self, name: str) -> RuleReference | None:
        """Return a named condition, None where there is none of this name.

        Raises:
            Fault: it names itself, by way of others.
        """
        ...

    def conditions(self) -> Sequence[str]:
        """Return the names of all conditions."""
        ...

    def fired(self, name: str) -> RuleReference | None:
        """Return whether something of this name was hit, None where nothing is called so.

        Raises:
            Fault: it names itself, by way of others.
        """
        ...

    def names(self) -> Iterable[str]:
        """Return the names of everything that can be hit."""
        ...


class NoRuleReferences:
    """An expression that stands alone."""

    def condition(self, name: str) -> RuleReference | None:
        """Know none."""
        return None

    def conditions(self) -> Sequence[str]:
        """Know none."""
        return ()

    def fired(self, name: str) -> RuleReference | None:
        """Know none."""
        return None

    def names(self) -> Iterable[str]:
        """Know none."""
        return ()
