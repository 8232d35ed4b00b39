"""Collects the faults of a policy, so that all are reported at once.

faults = PolicyFaults()
with faults:
...           # a PolicyError raised here is noted, and the faulty part is left out
faults.end()      # raises the first in the order of files and lines; the others are its `more`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, TypeVar

from oborona.errors import PolicyError

MOST: Final = 20  # that are told: whoever has more has one cause for them

Given = TypeVar("Given")
Made = TypeVar("Made")


class PolicyFaults:
    """Collects faults, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int, str], PolicyError] = {}

    def __enter__(self) -> None:
        """Begin something that may be wrong."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Note a `PolicyError`, and go on behind the block."""
        if not isinstance(fault, PolicyError):
            return False
        for part in (fault, *fault.more):
            if isinstance(part, PolicyError):
                self._found.setdefault((part.file, part.line, part.column, part.problem), part)
        return True

    def __bool__(self) -> bool:
        return bool(self._found)

    def each(self, make: Callable[[Given], Made], values: Iterable[Given]) -> tuple[Made, ...]:
        """Return what can be made of each; what can't be is noted."""
        results = []
        for value in values:
            with self:
                results.append(make(value))
        return tuple(results)

    def end(self) -> None:
        """Do nothing if all is right.

        Raises:
            PolicyError: the first, with the others, `MOST` in all.
        """
        if not self._found:
            return
        first, *more = [self._found[key] for key in sorted(self._found)]
        left = len(more) + 1 - MOST
        first.more = (*more[: MOST - 1], *([PolicyError(f"and {left} more")] if left > 0 else []))
        raise first
