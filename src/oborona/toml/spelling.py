"""What a misspelt name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_LISTED = 12  # names shown when none is close: one line in a terminal


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean x?", or "; known: a, b, ..." when nothing is close.

    Args:
        word: as it was written; may be anything.
        known: all names that would be right; their order is kept in the list.
    """
    names = list(known)
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.7)
    if close:
        return f"; did you mean {folded[close[0]]}?"
    if not names:
        return ""
    more = ", ..." if len(names) > MAX_LISTED else ""
    return f"; known: {', '.join(names[:MAX_LISTED])}{more}"
