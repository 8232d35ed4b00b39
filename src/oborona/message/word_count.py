"""How many words a text has: of what has a letter or a digit, also where words stand without spaces
between.

A word of Chinese or Japanese has some two characters, one of Thai, Lao, Burmese or Khmer some four:
a run of them counts as so many words. What pads a newsletter's preview line (zero-width characters,
joiners and spaces by the hundred) is no word.

Limits: of scripts without spaces `LOOKED_AT` characters; beyond, a run is a word.
"""

from __future__ import annotations

import re
from typing import Final

import re2

from oborona.message.core import count_words, said_words

LOOKED_AT: Final = 32_768  # characters: 1 ms

_TWO: Final = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U0002ffff"
_FOUR: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED: Final = re2.compile(f"[{_TWO}{_FOUR}]")
_FURTHER: Final = re.compile(f"[{_TWO}]{{2}}(?=[{_TWO}])|[{_FOUR}]{{4}}(?=[{_FOUR}])")
_SAYS: Final = re.compile(r"[^\W_]")


def unspaced(text: str) -> int:
    """Return how many words a text has beyond those that white space parts."""
    if text.isascii() or _UNSPACED.search(text.encode("utf-8", "surrogatepass")) is None:
        return 0
    return len(_FURTHER.findall(text[:LOOKED_AT]))


def words(text: str) -> list[str]:
    """Return what white space parts, without what has neither letter nor digit."""
    return words_by_python(text) if said_words is None else said_words(text)


def words_by_python(text: str) -> list[str]:
    """Do what `words` does without the native core."""
    return [word for word in text.split() if _SAYS.search(word)]


def count(text: str) -> int:
    """Return how many words a text has."""
    spaced = len(words(text)) if count_words is None else count_words(text)
    return spaced + unspaced(text)
