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

_CAPITALS: Final = bytes(
    octet if chr(octet) in ascii_uppercase else ord(" ") for octet in range(256)
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding with how many of the words of four letters and more are in capitals; letters
    without case are none.
    """
    text = context.message.text[:LOOKED_AT]
    if text.isascii():  # a quick look, which is enough for most letters
        runs = text.encode("ascii").translate(_CAPITALS).split()
        if sum(len(run) >= _LONG for run in runs) < MIN_WORDS:
            return None
    words = _WORD.findall(text)
    shouted = sum(map(str.isupper, words))
    if shouted < MIN_WORDS or shouted < SHARE * len(words):
        return None
    return Finding(SLUG, f"{shouted} of {len(words)} words")
