"""What generated code calls: arithmetic that never fails, and tests on texts and sets of texts.

Division, whole division and remainder by zero give 0: the share of nothing is nothing, and a rule such as
`count[From].day.spam / count[From].day.seen > 0.9` means no sender that was never seen.
On a set of texts a test holds when it holds for any member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

Texts = str | frozenset[str]
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


def rounded(a: Number, digits: int = 0) -> Number:
    """Return a to so many decimals; infinities, nan and floats that have no decimals stay as they are."""
    if isinstance(a, float) and not abs(a) < 1e15:
        return a
    return round(a, digits) if digits else round(a)


def contains(texts: Texts, piece: str) -> bool:
    """Whether the text, or any of the set, holds the piece."""
    return piece in texts if isinstance(texts, str) else any(piece in text for text in texts)


def starts(texts: Texts, begin: str | tuple[str, ...]) -> bool:
    """Whether the text, or any of the set, starts with one of these."""
    return (
        texts.startswith(begin) if isinstance(texts, str) else any(text.startswith(begin) for text in texts)
    )


def ends(texts: Texts, end: str | tuple[str, ...]) -> bool:
    """Whether the text, or any of the set, ends with one of these."""
    return texts.endswith(end) if isinstance(texts, str) else any(text.endswith(end) for text in texts)


def matches(pattern: Any, texts: Texts) -> bool:
    """Whether the pattern is found in the text, or in any of the set."""
    # RE2 reads UTF-8; surrogates have none and become question marks.
    if isinstance(texts, str):
        return pattern.search(texts.encode("utf-8", "replace")) is not None
    return any(pattern.search(text.encode("utf-8", "replace")) is not None for text in texts)


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
        "len": len,
        "min": min,
        "max": max,
        "abs": abs,
    }
)
