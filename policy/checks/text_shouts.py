"""Much of the text is in capitals."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "text-shouts"

LOOKED_AT: Final = 8192  # characters of the text
MIN_WORDS: Final = 12  # in capitals: more than a heading and some abbreviations
SHARE: Final = 0.2  # of the words: contracts and code have some clauses and names in capitals
_LONG: Final = 4  # letters; shorter ones are abbreviations
_WORD: Final = re.compile(rf"[^\W\d_]{{{_LONG},}}")

_ONLY_CAPITALS: Final = bytes(
    ord("A") if chr(octet) in ascii_uppercase else ord(" ") for octet in range(256)
)
_LONG_RUN: Final = b"A" * _LONG


def check(context: CheckContext) -> Finding | None:
    """Return a finding with how many of the words of four letters and more are in capitals; letters
    without case are none.
    """
    text = context.message.text[:LOOKED_AT]
    if text.isascii() and _long_runs(text) < MIN_WORDS:
        return None  # a quick look, which is enough for most letters
    words = _WORD.findall(text)
    shouted = sum(map(str.isupper, words))
    if shouted < MIN_WORDS or shouted < SHARE * len(words):
        return None
    return Finding(SLUG, f"{shouted} of {len(words)} words")


def _long_runs(text: str) -> int:
    """Return how many long runs of capitals an ASCII text has, or more: a longer one counts more
    than once.
    """
    return text.encode("ascii").translate(_ONLY_CAPITALS).count(_LONG_RUN)
