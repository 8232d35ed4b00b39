"""Near-duplicates of a text: min-hashes over its pieces (Broder 1997), keyed by the site's secret.

    words        words of four letters and more of the template → xxh3 of each, seeded → windows of
                 two, mixed
    characters   of a short text: its letters without the spaces between → windows of six, mixed
    both         → keyed multiply-shift permutations → the minimum of each

Two texts share each value with a probability of their windows' Jaccard similarity, so a campaign
with a third of its words varied still shares values, and texts of different people share few.
Nobody without the key can compute or aim at a value.

Windows of two long words were chosen by measuring 2,309 good messages in random order, with footers
left in: a 4th most common value of 16 was shared by at least 8 senders for 1.5 % of them (windows
of three words 2.4 %, of two words of any length 20.7 %). Without footers and boilerplate, and with
32 values, none of 2,063 shares a quarter with 8. In a campaign whose copies differ in 24 % of their
words that quarter reaches 8 after 9 to 20 messages over six keys.

Letters do better than words where there are few of them, as one changed word takes two windows of a
dozen with it. Spaces are left out, so that a word may be spaced out; six at a time, because
strangers met less the longer windows were and copies hardly did. Texts in between have both kinds,
so that a copy that grew or shrank meets one that did not. docs/measured/likeness.md has the
figures.

Limits: `MAX_WORDS` words and `MAX_LETTERS` letters from the start. Scripts that put no spaces
between words (Chinese, Japanese, Thai) count a clause as a word, and so mostly have characters.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from oborona.message.text_minima import TextMinima, octets_of_numbers

if TYPE_CHECKING:
    NATIVE = True
else:
    try:
        from oborona._core import TextMinima

        NATIVE = True
    except ImportError:  # it could not be built here, or without xxHash: its twin does the same
        NATIVE = False


class TextFingerprints(msgspec.Struct, frozen=True):
    """The fingerprints of a text; either, both or none, by its length."""

    words: tuple[int, ...] = ()  # `WORD_VALUES` unsigned 64-bit minima
    characters: tuple[int, ...] = ()  # `VALUES` of them


class Fingerprinter:
    """Computes fingerprints under one key: by the native core where it was built with xxHash, by
    numpy otherwise, with the same results.
    """

    __slots__ = ("_of",)

    def __init__(self, key: bytes) -> None:
        size = octets_of_numbers()
        stream = b"".join(
            hashlib.blake2b(number.to_bytes(4, "big"), key=key[:64], person=b"fingerprint").digest()
            for number in range(-(-size // 64))
        )
        self._of = TextMinima(stream[:size]).of

    def likeness(self, words: list[str]) -> TextFingerprints:
        """Return the fingerprints of a text, none of one that is too short.

        Args:
            words: of the template: normalised, without digits, addresses and links.
        """
        return TextFingerprints(*self._of(words))
