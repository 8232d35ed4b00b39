"""Which rules are not held against whom, as batches and passes write it down.

No package of event logs is needed here: the file of event logs is read without them, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

EVERY: Final = "*"
"""In the place of names: all rules that say something against a person."""


class QuietRule(msgspec.Struct, frozen=True, array_like=True, order=True):
    """That a rule is not held against a person, from a time to another."""

    person: int  # keyed hash
    rule: str  # its name; `EVERY`
    since: float  # Unix seconds
    until: float

    def is_in_force(self, start: float, end: float) -> bool:
        """Tell whether it is at any moment of a span, in Unix seconds."""
        return self.since < end and self.until > start


_DECODER: Final = msgspec.json.Decoder(tuple[QuietRule, ...])


def quiet_names(rules: Iterable[QuietRule], start: float, end: float) -> dict[int, str]:
    """Return the names that are not held against each person in a span: one text with a space
    between names, or `EVERY`.

    Args:
        rules: of any time.
        start: Unix seconds.
        end: the same; it is not in the span.
    """
    names: dict[int, set[str]] = {}
    for one in rules:
        if one.is_in_force(start, end):
            names.setdefault(one.person, set()).add(one.rule)
    return {
        person: EVERY if EVERY in some else " ".join(sorted(some))
        for person, some in sorted(names.items())
    }


def read_quiet_rules(text: str) -> tuple[QuietRule, ...]:
    """Return what `written` wrote."""
    return _DECODER.decode(text)


def written(rules: Iterable[QuietRule]) -> str:
    """Return them as a text for the file of event logs."""
    return msgspec.json.encode(tuple(rules)).decode()
