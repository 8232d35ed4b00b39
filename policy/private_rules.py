"""Finds the rules that would disclose traps, by the facts that they name.

`oborona.policy.disclosure` hides them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

TRAP_FACT: Final = "traps"  # ends the names of facts and counts about them
# facts that are words about counts, of traps, too
WORDY: Final = frozenset({"karma.why", "repentity.why"})


def is_private(named: Collection[str], *texts: str) -> bool:
    """Tell whether a rule tells of traps.

    Args:
        named: the facts that it names, by way of others, too.
        texts: of its condition and its score, in which a metric may be an argument.
    """
    return any(name.endswith(TRAP_FACT) for name in named) or any(
        TRAP_FACT in text for text in texts
    )
