"""People's names as readers take them: words without order, case, accents and titles.

A display name is a person's if first and last name stand in it, in either order, whole or the first
by its initial, with nothing else but other names and words such as "Dr." or "CEO" (`titles.list`).
What stands behind a dash, an upright bar or a comma may be anything.  Letters that look alike
(UTS 39), digits for letters and umlauts written out (Mueller) make no difference.

Known limits: a name that is misspelt, a short form and another script are names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from oborona.policy.brand_table import words_of

_SEPARATOR: Final = re.compile(r"\s[-\u2010-\u2015/\u00b7\u2022]+\s|\|")
_ALIKE: Final = (("rn", "m"), ("vv", "w"))
_LETTERS: Final = str.maketrans("013458i", "oleasbl")
_WRITTEN_OUT: Final = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ø", "oe"), ("å", "aa"))
_CONTRACTED: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"))
# scripts whose names are written without a space between family and given name
_IDEOGRAPHS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]+")


class PersonWords(NamedTuple):
    """A name in words, in one of the ways it may be read."""

    first: str  # empty in scripts that write a name as one word
    last: str
    middle: tuple[str, ...] = ()


def spellings(name: str) -> Iterator[PersonWords]:
    """Yield a name that is to be known: as it stands, with umlauts written out, and without.

    Nothing where it is no first and last name.
    """
    folded = name.casefold()
    for pairs in ((), _WRITTEN_OUT, _CONTRACTED):
        text = folded
        for letter, other in pairs:
            text = text.replace(letter, other)
        first = next(readings(text), None)
        if first is not None:
            yield first


def readings(name: str) -> Iterator[PersonWords]:
    """Yield the ways to read a name: its first and last word, and the other way round.

    What stands behind a dash or an upright bar is a firm or an office; behind a comma, that or the
    first name.
    """
    name = _SEPARATOR.split(name, maxsplit=1)[0]
    before, _, behind = name.partition(",")
    surname_first = _named(behind)
    if surname_first:
        yield from _ways([*surname_first, *_named(before)], swapped=False)
    yield from _ways(_named(before))


def _ways(words: list[str], *, swapped: bool = True) -> Iterator[PersonWords]:
    if not words:
        return
    if all(map(_IDEOGRAPHS.fullmatch, words)):
        yield PersonWords("", "".join(words))
        yield PersonWords("", "".join(reversed(words)))
    elif len(words) > 1:
        yield PersonWords(words[0], words[-1], tuple(words[1:-1]))
        if swapped:
            yield PersonWords(words[-1], words[0], tuple(words[1:-1]))
            yield PersonWords(words[1], words[0], tuple(words[2:]))


def _named(text: str) -> list[str]:
    beside = _titles()
    return [word for word in words_of(text) if word not in beside and not word.isdecimal()]


def looks_of(word: str) -> str:
    """Return what a word looks like at a glance; an initial looks like nothing else."""
    if len(word) < 2:
        return word
    for pair, letter in _ALIKE:
        word = word.replace(pair, letter)
    return word.translate(_LETTERS)


@lru_cache(maxsize=1)
def _titles() -> frozenset[str]:
    lines = files("oborona.policy").joinpath("titles.list").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in words_of(line))
