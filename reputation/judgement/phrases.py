"""Numbers as people read them in evidence."""

from __future__ import annotations


def some(number: float, noun: str) -> str:
    """Return "1 trap" or "4,000 traps"."""
    return (
        f"{number:,.0f} {noun}"
        if number != 1
        else f"1 {noun}"[: -1 if noun.endswith("s") else None]
    )


def percent(share: float) -> str:
    """Return "97 %"; what is nearly none or nearly all of it never becomes all or none."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def times(ratio: float) -> str:
    """Return "7 times" or "1.5 times"."""
    return f"{ratio:,.0f} times" if ratio >= 3 else f"{ratio:.1f} times"
