"""Near-duplicates of a text: 32 min-hashes over its word windows (Broder 1997), keyed by the site's secret.

    words of four letters and more of the template → xxh3 of each, seeded → windows of `WINDOW` words, mixed
    → 32 keyed multiply-shift permutations → the minimum of each

Two texts share each value with a probability of their windows' Jaccard similarity, so a campaign with a third of its words varied
still shares values, and texts of different people share few. Nobody without the key can compute or aim at a value.

Windows of two long words were chosen by measuring 2,309 good messages in random order: a 4th most common value of 16 is shared by at
least 8 senders for 1.5 % of them (windows of three words 2.4 %, of two words of any length 20.7 %). In a campaign whose copies differ in
24 % of their words that value reaches 8 after 10 to 17 messages over four keys. What is shared between strangers is mostly the footer
of a list, which `own_words` takes off before.

Limits: `MAX_WORDS` words from the start; texts under `MIN_WORDS` have none: with fewer windows than minima, one common phrase
would make half of them. Scripts that put no spaces between words (Chinese, Japanese, Thai) count a clause as a word.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

VALUES: Final = 32
COUNTED: Final = 16  # of them, counted as shingles each: enough to see a campaign, half the store's work
WINDOW: Final = 2  # words
LONG_WORD: Final = 4  # letters: shorter ones are mostly grammar, and make everybody's windows
MIN_LONG_WORDS: Final = 12  # a text with fewer is taken with all its words
MIN_WORDS: Final = 12  # above greetings; of so short a text more values must be shared (policy/known.py)
MAX_WORDS: Final = 3000  # 300 µs; the body of a book chapter

MAX_REMEMBERED: Final = 20_000  # words of each dictionary: 3 MB; as many as a language has in common use

HASH_BYTES: Final = 8

_SHIFT: Final = np.uint64(29)


class _WordHashes(dict[str, bytes]):
    """Hashes of words under one seed, 8 octets each and none for short words, remembered: mail repeats its words."""

    __slots__ = ("_least", "_seed")

    def __init__(self, seed: int, least: int) -> None:
        super().__init__()
        self._seed = seed
        self._least = least  # letters of a word that has a hash

    def __missing__(self, word: str) -> bytes:
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        found = b""
        if len(word) >= self._least:
            found = xxhash.xxh3_64_digest(word.encode("utf-8", "surrogatepass"), self._seed)
        self[word] = found
        return found


class Fingerprinter:
    """Computes fingerprints under one key."""

    __slots__ = ("_add", "_all", "_long", "_multiply", "_weights")

    def __init__(self, key: bytes) -> None:
        wanted = (2 * VALUES + WINDOW + 1) * 8
        stream = b"".join(
            hashlib.blake2b(number.to_bytes(4, "big"), key=key[:64], person=b"fingerprint").digest()
            for number in range(-(-wanted // 64))
        )
        numbers = np.frombuffer(stream[:wanted], dtype="<u8").astype(np.uint64)  # the same on every machine
        odd = np.uint64(1)
        self._multiply: NDArray[np.uint64] = numbers[:VALUES, None] | odd
        self._add: NDArray[np.uint64] = numbers[VALUES : 2 * VALUES, None].copy()
        self._weights: list[np.uint64] = [
            np.uint64(weight | odd) for weight in numbers[2 * VALUES : 2 * VALUES + WINDOW]
        ]
        self._long = _WordHashes(int(numbers[-1]), LONG_WORD)
        self._all = _WordHashes(int(numbers[-1]), 1)

    def values(self, words: list[str]) -> tuple[int, ...]:
        """Return 32 unsigned 64-bit minima, or nothing for fewer than `MIN_WORDS` words.

        Args:
            words: of the template: normalised, without digits, addresses and links.
        """
        if len(words) < MIN_WORDS:
            return ()
        looked_at = words[:MAX_WORDS]
        octets = b"".join(map(self._long.__getitem__, looked_at))
        if len(octets) < MIN_LONG_WORDS * HASH_BYTES:
            octets = b"".join(map(self._all.__getitem__, looked_at))
        hashes = np.frombuffer(octets, ">u8").astype(np.uint64)
        count = len(hashes) - WINDOW + 1
        windows = hashes[:count] * self._weights[0]
        for place in range(1, WINDOW):
            windows += hashes[place : place + count] * self._weights[place]
        windows ^= windows >> _SHIFT  # carries high bits to low ones before the multiplications below
        permuted = self._multiply * windows
        permuted += self._add
        return tuple(permuted.min(axis=1).tolist())
