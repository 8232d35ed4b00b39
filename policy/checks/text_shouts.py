"""Much of the text is in capitals."""

from __future__ import annotations

import re
from string import ascii_letters, ascii_uppercase
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "text-shouts"

LOOKED_AT: Final = 8192  # characters of the text
MIN_WORDS: Final = 12  # in capitals: more than a heading and some abbreviations
SHARE: Final = 0.2  # of the words: contracts and code have some clauses and names in capitals
_LONG: Final = 4  # letters; shorter ones are abbreviations
_WORD: Final = re.compile(rf"[^\W\d_]{{{_LONG},}}")

_LETTERS: Final = bytes(octet if chr(octet) in ascii_letters else ord(" ") for octet in range(256))
_CAPITALS: Final = bytes(
    ord("A") if chr(octet) in ascii_uppercase else ord(" ") for octet in range(256)
)
_LONG_RUN: Final = b"A" * _LONG


def check(context: CheckContext) -> Finding | None:
    """Return a finding with how many of the words of four letters and more are in capitals; letters
    without case are none.
    """
    text = context.message.text[:LOOKED_AT]
    words = _ascii_words(text.encode("ascii")) if text.isascii() else _WORD.findall(text)
    shouted = sum(word.isupper() for word in words)
    if shouted < MIN_WORDS or shouted < SHARE * len(words):
        return None
    return Finding(SLUG, f"{shouted} of {len(words)} words")


def _ascii_words(octets: bytes) -> list[bytes]:
    """Return what `_WORD` finds; nothing where too few words can be in capitals, as in most
    letters.
    """
    # a longer run counts more than once: never fewer than there are
    if octets.translate(_CAPITALS).count(_LONG_RUN) < MIN_WORDS:
        return []
    return [word for word in octets.translate(_LETTERS).split() if len(word) >= _LONG]
