"""How much a name looks like names that people have: fingers that run over a keyboard write letters
that follow each other in none.

A table has how unlikely each letter is behind the two before it, in names of sixty countries and
words that people make names of; a name is as odd as its letters are on the average.  Digits, dots
and the like only part words.  What is written in other letters, or has few, tells nothing.

The file is made by `benchmarks/names.py`, which says where the names are from and what it catches.

Source: letter trigrams, smoothed by bigrams; Jelinek, Mercer, "Interpolated estimation of Markov
source parameters from sparse data", 1980.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

LEAST_LETTERS: Final = 6  # of fewer any may be somebody's initials
LONGEST: Final = 64  # characters that are looked at
STEPS: Final = 20.0  # of a nat, in the table
SHARES: Final = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 1.0)
"""Of usual names that are less odd than each of the numbers behind the table."""
THOUSANDS: Final = 1000.0  # of a nat, in these numbers
_TABLE: Final = Path(__file__).with_name("name_letters.bin")
_LETTERS: Final = 27  # a to z, and the border of a word
_WORD: Final = re.compile("[a-z]+")
_PLAIN: Final = str.maketrans(
    {
        "ß": "ss",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "æ": "ae",
        "œ": "oe",
        "\u0131": "i",
        "þ": "th",
        "ð": "d",
    }
)


class NameLetters(NamedTuple):
    """What the file has."""

    table: bytes  # of each three letters, in STEPS of a nat
    odd: tuple[float, ...]  # nats a letter, of SHARES


@cache
def name_letters() -> NameLetters:
    """Return what ships."""
    octets = _TABLE.read_bytes()
    size = _LETTERS**3
    numbers = memoryview(octets[size:])
    odd = [int.from_bytes(numbers[at : at + 2]) / THOUSANDS for at in range(0, len(numbers), 2)]
    if len(octets) <= size or len(odd) != len(SHARES):
        raise ValueError(f"{_TABLE.name} is not what benchmarks/names.py writes")
    return NameLetters(octets[:size], tuple(odd))


def words_of(text: str) -> list[str]:
    """Return the words of a name in letters a to z, without accents; those in other letters are
    left out.
    """
    lower = text[:LONGEST].lower().translate(_PLAIN)
    apart = unicodedata.normalize("NFKD", lower)
    return _WORD.findall("".join(one for one in apart if not unicodedata.combining(one)))


def surprise(words: list[str], table: bytes) -> float:
    """Return how unlikely the letters of words are, in nats a letter.

    Args:
        words: at least one, of letters a to z.
        table: of a `NameLetters`.
    """
    total = number = 0
    for word in words:
        first = second = 0
        for letter in (*word.encode(), 96):  # 96 is the border: one before a
            third = letter - 96
            total += table[(first * _LETTERS + second) * _LETTERS + third]
            first, second = second, third
        number += len(word) + 1
    return total / number / STEPS


def oddness(text: str) -> float | None:
    """Return the share of usual names that look more like a name than a text: 0.999 where one of a
    thousand is as odd.

    None: it has too few Latin letters to tell.
    """
    words = words_of(text)
    if sum(map(len, words)) < LEAST_LETTERS:
        return None
    table, odd = name_letters()
    found = surprise(words, table)
    at = bisect_right(odd, found)
    if at == 0:
        return SHARES[0] * found / odd[0]
    if at == len(odd):
        return SHARES[-1]
    low, high = odd[at - 1], odd[at]
    return SHARES[at - 1] + (SHARES[at] - SHARES[at - 1]) * (found - low) / (high - low)
