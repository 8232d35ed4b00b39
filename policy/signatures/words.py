"""Words in a row, as phrases are compared: without punctuation, without disguise.

    `normalise`d → letters for digits and signs inside words → punctuation to spaces → single
    letters in a row joined

`V!AGRA, c-h-e-a-p!` is " viagra cheap ", and so is the phrase that looks for it. Each word has a
space on either side, so that a phrase with its spaces stands between word borders, and nowhere
else. A 1 inside a word may be an l or an i (`ca11`, `v1agra`): such a text has two readings.

Limits: those of `oborona.message.obfuscation`; signs that are no letters are no words, so a phrase
of signs alone is a pattern's work.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.message.obfuscation import join_spaced_letters, letters_for_signs

_PUNCTUATION: Final = b"!\"#$%&'((?>))*+,-./:;<=>?@[\\]^_`{|}~"
_TO_SPACES: Final = bytes.maketrans(_PUNCTUATION, b" " * len(_PUNCTUATION))
_NO_WORD: Final = re.compile(r"[^\w ]+")  # outside ASCII: dashes, quotation marks, pictures
_NO_WORDS: Final = b" "


def words(normal: str) -> bytes:
    """Return the words of a `normalise`d text as UTF-8, one space before, between and behind them.

    One space for no words.
    """
    return _plain(letters_for_signs(normal.encode("utf-8", "surrogatepass")))


def readings(normal: str) -> tuple[bytes, ...]:
    """Return the words of a `normalise`d text, and once more where a 1 that was read as l may be an
    i.
    """
    octets = normal.encode("utf-8", "surrogatepass")
    first = letters_for_signs(octets)
    if first == octets or b"1" not in octets:
        return (_plain(first),)
    second = letters_for_signs(octets.replace(b"1", b"!"))
    return (_plain(first), _plain(second))


def _plain(octets: bytes) -> bytes:
    text = join_spaced_letters(b" %b " % octets.translate(_TO_SPACES))
    if not text.isascii():
        text = _NO_WORD.sub(" ", text)
    line = " ".join(text.split())
    return f" {line} ".encode("utf-8", "surrogatepass") if line else _NO_WORDS
