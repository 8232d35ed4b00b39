"""What a misspelt name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_NEAR = 5  # names of either sort that are suggested
_LIKE = 0.8  # of all letters
MAX_LISTED = 12  # names shown when none is close: one line in a terminal


def did_you_mean(word: str, vocabulary: Iterable[str]) -> str:
    """Return "; did you mean x?", or "; known: a, b, ..." when nothing is close.

    Args:
        word: as it was written; may be anything.
        vocabulary: all names that would be right; their order is kept in the list.
    """
    names = list(vocabulary)
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.7)
    if close:
        return f"; did you mean {folded[close[0]]}?"
    if not names:
        return ""
    if near := _near(word[:100].casefold(), names):
        return (
            f"; did you mean {near[0]}?"
            if len(near) == 1
            else f"; did you mean {', '.join(near[:-1])} or {near[-1]}?"
        )
    more = ", ..." if len(names) > MAX_LISTED else ""
    return f"; known: {', '.join(names[:MAX_LISTED])}{more}"


def _near(word: str, names: list[str]) -> list[str]:
    """Return names of several parts that share the first part of a word, or nearly its last one:
    sender.domain and from.address for sender.adress.
    """
    first, dot, rest = word.partition(".")
    if not dot:
        return []
    same = [name for name in names if name == first or name.startswith(f"{first}.")]
    last = rest.rpartition(".")[2]
    like = [
        name
        for name in names
        if difflib.SequenceMatcher(None, name.rpartition(".")[2], last).ratio() >= _LIKE
    ]
    return list(dict.fromkeys([*like[:MAX_NEAR], *same[:MAX_NEAR]]))
