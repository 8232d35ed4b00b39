"""The text exclaims again and again."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "text-exclaims"

LOOKED_AT: Final = 8192  # characters of the text
MIN_MARKS: Final = 5
PER_MARK: Final = 250  # characters, at most: one sentence in three


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the number of exclamation marks, those of answered letters (lines with
    >) included.
    """
    text = context.message.text[:LOOKED_AT]
    marks = text.count("!") + text.count("\uff01")
    return (
        Finding(SLUG, str(marks)) if marks >= MIN_MARKS and marks * PER_MARK >= len(text) else None
    )
