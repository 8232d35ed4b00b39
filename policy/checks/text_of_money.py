"""The text names sums of money again and again."""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "text-of-money"

LOOKED_AT: Final = 8192  # characters of the text
MIN_SUMS: Final = 4
PER_SUM: Final = 600  # characters, at most
SUM: Final = re.compile(
    r"(?:[$€£]|\b(?:USD|EUR|GBP))\s?\d[\d.,]*|\d[\d.,]*\s?(?:[$€£₽]|USD\b|EUR\b|GBP\b|\u0440\u0443\u0431|dollars\b|euros?\b)"
)

_SIGNS: Final = (
    "$",
    "\u20ac",
    "\u00a3",
    "\u20bd",
    "USD",
    "EUR",
    "GBP",
    "ollars",
    "uro",
    "\u0440\u0443\u0431",
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the number of sums."""
    text = context.message.text[:LOOKED_AT]
    most = sum(map(text.count, _SIGNS))  # no sum is without one
    if most < MIN_SUMS or most * PER_SUM < len(text):
        return None
    sums = len(SUM.findall(text))
    return Finding(SLUG, str(sums)) if sums >= MIN_SUMS and sums * PER_SUM >= len(text) else None
