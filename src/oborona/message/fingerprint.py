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
from typing import Final

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

# counted as shingles each; a quarter of 16 is met by strangers (docs/adr/0005)
WORD_VALUES: Final = 32
VALUES: Final = 16  # of letters, each counted, too: with texts of few windows 32 tell no more
WINDOW: Final = 2  # words
LONG_WORD: Final = 4  # letters: shorter ones are mostly grammar, and make everybody's windows
# some 30 words: with fewer windows than minima, one common phrase would make half of them
MIN_LONG_WORDS: Final = 18
MAX_WORDS: Final = 3000  # 300 µs; the body of a book chapter

CHARACTER_WINDOW: Final = 6  # letters
# some 45 words: from there on words do as well, and characters are left out
SHORT_LONG_WORDS: Final = 26
# above "thank you very much for your help"; of 21 letters, strangers' texts met
MIN_LETTERS: Final = 32
MIN_CHARACTER_WINDOWS: Final = 16  # distinct ones: as many as minima
MAX_LETTERS: Final = 1000  # 100 µs; short texts have 300, texts of short words or none more

HASH_BYTES: Final = 8

_SHIFT: Final = np.uint64(29)
_hash: Final = xxhash.xxh3_64_digest


class TextFingerprints(msgspec.Struct, frozen=True):
    """The fingerprints of a text; either, both or none, by its length."""

    words: tuple[int, ...] = ()  # `WORD_VALUES` unsigned 64-bit minima
    characters: tuple[int, ...] = ()  # `VALUES` of them


class Fingerprinter:
    """Computes fingerprints under one key."""

    __slots__ = ("_add", "_letter_weights", "_multiply", "_seed", "_weights")

    def __init__(self, key: bytes) -> None:
        seed = 2 * WORD_VALUES + WINDOW
        size = (seed + 1 + CHARACTER_WINDOW) * 8
        stream = b"".join(
            hashlib.blake2b(number.to_bytes(4, "big"), key=key[:64], person=b"fingerprint").digest()
            for number in range(-(-size // 64))
        )
        # the same on every machine
        numbers = np.frombuffer(stream[:size], dtype="<u8").astype(np.uint64)
        odd = np.uint64(1)
        self._multiply: NDArray[np.uint64] = numbers[:WORD_VALUES, None] | odd
        self._add: NDArray[np.uint64] = numbers[WORD_VALUES : 2 * WORD_VALUES, None].copy()
        weights = [np.uint64(weight | odd) for weight in numbers[2 * WORD_VALUES :]]
        self._weights = weights[:WINDOW]
        self._seed = int(numbers[seed])
        self._letter_weights = weights[WINDOW + 1 :]

    def likeness(self, words: list[str]) -> TextFingerprints:
        """Return the fingerprints of a text, none of one that is too short.

        Args:
            words: of the template: normalised, without digits, addresses and links.
        """
        # No memory of words that were seen: looking one up in a large table costs more than hashing
        # it again.
        octets = b"".join(
            [
                _hash(word.encode("utf-8", "surrogatepass"), self._seed)
                for word in words[:MAX_WORDS]
                if len(word) >= LONG_WORD
            ]
        )
        long_words = len(octets) // HASH_BYTES
        return TextFingerprints(
            self._of_words(np.frombuffer(octets, ">u8").astype(np.uint64))
            if long_words >= MIN_LONG_WORDS
            else (),
            self._of_characters(words) if long_words < SHORT_LONG_WORDS else (),
        )

    def _of_words(self, hashes: NDArray[np.uint64]) -> tuple[int, ...]:
        return self._minima(_windows(hashes, self._weights), WORD_VALUES)

    def _of_characters(self, words: list[str]) -> tuple[int, ...]:
        # no word fills more than all letters that are looked at
        letters = "".join(words[:MAX_LETTERS])[:MAX_LETTERS]
        if len(letters) < MIN_LETTERS:
            return ()
        codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
        windows = _windows(codes, self._letter_weights)
        if len(np.unique(windows)) < MIN_CHARACTER_WINDOWS:
            return ()
        # Codes are small numbers, so the windows of one letter's difference lie near each other
        # until they are mixed.
        windows *= self._multiply[0]
        windows ^= windows >> _SHIFT
        return self._minima(windows, VALUES)

    def _minima(self, windows: NDArray[np.uint64], values: int) -> tuple[int, ...]:
        permuted = self._multiply[:values] * windows
        permuted += self._add[:values]
        return tuple(np.minimum.reduce(permuted, axis=1).tolist())


def _windows(hashes: NDArray[np.uint64], weights: list[np.uint64]) -> NDArray[np.uint64]:
    """Return one number for each window of as many hashes as there are weights."""
    count = len(hashes) - len(weights) + 1
    windows = hashes[:count] * weights[0]
    for place in range(1, len(weights)):
        windows += hashes[place : place + count] * weights[place]
    windows ^= windows >> _SHIFT  # carries high bits to low ones before the multiplications below
    return windows
