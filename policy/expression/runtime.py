"""What generated code calls: arithmetic that never fails, and tests on texts and sets of texts.

Division, whole division and remainder by zero give 0: the share of nothing is nothing, and a rule
such as `count[From].day.spam / count[From].day.seen > 0.9` means no sender that was never seen.
On a set of texts a test holds when it holds for any member; on one text it is written out where it
stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import nsmallest
from math import exp, log
from types import MappingProxyType
from typing import Any, Final

from oborona.policy.expression.clock import hour, weekday
from oborona.policy.expression.flow import per_hour, trend
from oborona.policy.expression.forms import capital, folded, letters, small
from oborona.policy.rules import MAX_SCORE

# of a set that a condition is asked of, one by one: bounded work for every message
MAX_MEMBERS: Final = 200

MOST_ODDS: Final = 10.0  # of log_odds(): beyond that a share says no more than its own rounding
_LEAST_SHARE: Final = 1 / (1 + exp(MOST_ODDS))

Number = int | float


def divide(a: Number, b: Number) -> Number:
    """Return a / b, and 0 where b is 0."""
    return a / b if b else 0


def whole(a: Number, b: Number) -> Number:
    """Return a // b, and 0 where b is 0."""
    return a // b if b else 0


def remainder(a: Number, b: Number) -> Number:
    """Return a % b, and 0 where b is 0."""
    return a % b if b else 0


def share(part: Number, whole: Number) -> Number:
    """Return part / whole within 0 and 1, and 0 where there is no whole."""
    return min(max(part / whole, 0), 1) if whole > 0 else 0


def log_odds(share: Number) -> float:
    """Return the logarithm of a share's odds, -10 to 10; of what is no number, not a number."""
    if share <= _LEAST_SHARE:
        return -MOST_ODDS
    return MOST_ODDS if share >= 1 - _LEAST_SHARE else log(share / (1 - share))


def rounded(a: Number, digits: int = 0) -> Number:
    """Return a to so many decimals.

    Infinities, nan and floats that have no decimals stay as they are.
    """
    if isinstance(a, float) and not abs(a) < 1e15:
        return a
    return round(a, digits) if digits else round(a)


def contains(texts: Collection[str], piece: str) -> bool:
    """Whether any of the set holds the piece."""
    return any(piece in text for text in texts)


def starts(texts: Collection[str], begin: str | tuple[str, ...]) -> bool:
    """Whether any of the set starts with one of these."""
    return any(text.startswith(begin) for text in texts)


def ends(texts: Collection[str], end: str | tuple[str, ...]) -> bool:
    """Whether any of the set ends with one of these."""
    return any(text.endswith(end) for text in texts)


def any_of(test: Callable[..., bool], texts: Collection[str], *known: Any) -> bool:
    """Whether a condition holds for any member."""
    return any(test(text, *known) for text in _bounded(texts))


def all_of(test: Callable[..., bool], texts: Collection[str], *known: Any) -> bool:
    """Whether a condition holds for every member; also for none at all."""
    return all(test(text, *known) for text in _bounded(texts))


def count_of(test: Callable[..., bool], texts: Collection[str], *known: Any) -> int:
    """For how many members a condition holds."""
    return sum(1 for text in _bounded(texts) if test(text, *known))


def _bounded(texts: Collection[str]) -> Iterable[str]:
    # The first by letters, not by chance: the same message gives the same verdict in every process.
    return texts if len(texts) <= MAX_MEMBERS else nsmallest(MAX_MEMBERS, texts)


def within(has: Callable[[str], bool], texts: Collection[str]) -> bool:
    """Whether any of the set lies in networks or under domains."""
    return any(map(has, texts))


def points(score: float | None) -> float:
    """Return what a formula gives as a score: 0 for none and for what is no number, and within the
    bounds of a score.
    """
    if score is None or score != score:  # noqa: PLR0124 - nan alone is not itself
        return 0.0
    return float(max(-MAX_SCORE, min(MAX_SCORE, score)))


def octets(text: str | None) -> bytes:
    """Return a text as RE2 reads it, none as nothing: surrogates have no UTF-8, and become question
    marks.
    """
    return b"" if text is None else text.encode("utf-8", "replace")


def matches(search: Callable[[bytes], object], texts: Collection[str]) -> bool:
    """Whether a pattern is found in any of the set."""
    return any(search(octets(text)) is not None for text in texts)


NAMES: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "divide": divide,
        "whole": whole,
        "remainder": remainder,
        "rounded": rounded,
        "contains": contains,
        "starts": starts,
        "ends": ends,
        "matches": matches,
        "octets": octets,
        "capital": capital,
        "small": small,
        "letters": letters,
        "folded": folded,
        "share": share,
        "log_odds": log_odds,
        "any_of": any_of,
        "all_of": all_of,
        "count_of": count_of,
        "within": within,
        "points": points,
        "hour": hour,
        "weekday": weekday,
        "per_hour": per_hour,
        "trend": trend,
        "float": float,
        "len": len,
        "min": min,
        "max": max,
        "abs": abs,
    }
)
