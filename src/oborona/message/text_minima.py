"""Min-hashes of a text by numpy: the twin of the native core's, which tests hold it to, and what
computes them where that can't be built. `oborona.message.fingerprint` says what they are.
"""

from __future__ import annotations

from typing import Final, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

# The native core has all of these once more (core/text_minima.c).
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


def octets_of_numbers() -> int:
    """Return how many octets of numbers `TextMinima` takes."""
    return (2 * WORD_VALUES + WINDOW + 1 + CHARACTER_WINDOW) * 8


class TextMinima:
    """Computes minima with one set of numbers.

    Args:
        numbers: as many as it takes, each of 8 octets, the lowest first: multipliers, summands,
            weights of a window's words, the seed, weights of a window's letters.

    Raises:
        ValueError: there are too many of them, or too few.
    """

    __slots__ = ("_add", "_letter_weights", "_multiply", "_seed", "_weights")

    _add: NDArray[np.uint64]
    _letter_weights: list[np.uint64]
    _multiply: NDArray[np.uint64]
    _seed: int
    _weights: list[np.uint64]

    def __new__(cls, numbers: bytes) -> Self:
        """Take the numbers apart."""
        if len(numbers) != octets_of_numbers():
            raise ValueError(f"{len(numbers)} octets of numbers")
        seed = 2 * WORD_VALUES + WINDOW
        self = super().__new__(cls)
        # the same on every machine
        taken = np.frombuffer(numbers, dtype="<u8").astype(np.uint64)
        odd = np.uint64(1)
        self._multiply = taken[:WORD_VALUES, None] | odd
        self._add = taken[WORD_VALUES : 2 * WORD_VALUES, None].copy()
        weights = [np.uint64(weight | odd) for weight in taken[2 * WORD_VALUES :]]
        self._weights = weights[:WINDOW]
        self._seed = int(taken[seed])
        self._letter_weights = weights[WINDOW + 1 :]
        return self

    def of(self, words: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return a text's minima of words and of letters; none where it has too few of them, or
        enough words to do without letters.
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
        return (
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
