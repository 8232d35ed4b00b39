"""Looks for names of brands in display names, subjects and hosts.

A sender bears a brand's name if his display name has nothing else but words such as "support",
"online banking" or "your" (`beside.list`): people and small firms are called like parts of brands,
and "Chase Smith" or "Apple user group" imitates nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

from oborona.domains import registrable
from oborona.policy.brand_table import Brand, brand, words_of
from oborona.policy.named_tables import Fields

LOOKED_AT: Final = 100  # characters of a display name: what a screen shows of it
# letters of a name that is looked for in hosts: "ups" and "dhl" stand in too many other words
LEAST_IN_HOST: Final = 5
LEAST_MISSPELT: Final = 6  # letters of a name that is looked for misspelt: of fewer, one is a word
LEAST_SWAPPED: Final = 7  # the same of letters doubled or that changed places: "goggle" is a word

_PIECES: Final = re.compile(r"[.-]")
_ALIKE: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LETTERS: Final = str.maketrans("0135i", "olesl")


class Brands:
    """All brands of a policy.

    Args:
        brands: those switched on.
    """

    def __init__(self, brands: Iterable[Brand] = ()) -> None:
        self.all: tuple[Brand, ...] = tuple(brands)
        self._first: dict[str, list[tuple[tuple[str, ...], Brand]]] = {}
        self._owners: dict[str, Brand] = {}
        self._in_hosts: dict[str, Brand] = {}
        self._misspelt: dict[str, Brand] = {}
        for owner in self.all:
            for words in owner.called:
                self._first.setdefault(words[0], []).append((words, owner))
                joined = "".join(words)
                if len(joined) >= LEAST_IN_HOST and joined.isascii():
                    self._in_hosts.setdefault(joined, owner)
                if len(joined) >= LEAST_MISSPELT and joined.isascii():
                    for spelling in _misspellings(joined):
                        self._misspelt.setdefault(spelling, owner)
            for own in owner.domains:
                self._owners.setdefault(own, owner)
        for longest in self._first.values():
            longest.sort(key=lambda entry: -len(entry[0]))

    def called(self, name: str) -> Brand | None:
        """Return the brand that a display name bears: its name, and beside it nothing but words
        that change nothing.
        """
        words = words_of(name[:LOOKED_AT])
        beside = neutral_words()
        for at, length, called_brand in self._find_names(words):
            rest = (*words[:at], *words[at + length :])
            if all(word in beside or word.isdecimal() for word in rest):
                return called_brand
        return None

    def mentioned(self, text: str) -> Iterator[Brand]:
        """Yield the brands whose names stand anywhere in a text, in its order."""
        for _, _, mentioned_brand in self._find_names(words_of(text)):
            yield mentioned_brand

    def owner(self, domain: str) -> Brand | None:
        """Return the brand that a domain, or host, is of."""
        site = registrable(domain)
        owners = self._owners
        return (
            owners.get(site)
            or owners.get(site.partition(".")[0])
            or owners.get("." + site.rpartition(".")[2])
        )

    def borrowed(self, host: str) -> Brand | None:
        """Return the brand whose name is a label of a host, or a part of one between hyphens, where
        the host is not the brand's own.
        """
        for piece in _PIECES.split(host):
            named_brand = self._in_hosts.get(piece)
            if named_brand is not None and not named_brand.owns(host):
                return named_brand
        return None

    def misspelt(self, host: str) -> Brand | None:
        """Return the brand whose name is written with letters that look alike, or with two letters
        that changed places, in a label of a host, or a part of one between hyphens.
        """
        for piece in _PIECES.split(host):
            if len(piece) < LEAST_MISSPELT - 1 or piece in self._in_hosts:
                continue
            for spelling in (piece, *_spellings(piece)):
                named_brand = self._misspelt.get(spelling)
                if named_brand is not None and not named_brand.owns(host):
                    return named_brand
        return None

    def _find_names(self, words: list[str]) -> Iterator[tuple[int, int, Brand]]:
        for at, word in enumerate(words):
            for called, named_brand in self._first.get(word, ()):
                if tuple(words[at : at + len(called)]) == called:
                    yield at, len(called), named_brand
                    break


NO_BRANDS: Final = Brands()


def brands(tables: Mapping[str, Fields]) -> Brands:
    """Return the brands of all files, later ones over earlier ones."""
    return Brands(filter(None, map(brand, tables.values())))


def _spellings(word: str) -> Iterator[str]:
    """Yield what a word looks like at a glance: digits for letters, rn for m; of a longer word also
    without letters doubled.
    """
    for pair, letter in _ALIKE:
        word = word.replace(pair, letter)
    word = word.translate(_LETTERS)
    yield word
    if len(word) >= LEAST_SWAPPED:
        single = zip(word, " " + word, strict=False)
        yield "".join(letter for letter, before in single if letter != before)


def _misspellings(name: str) -> Iterator[str]:
    """Yield how a name is looked up when it is misspelt: as it looks, and itself with two letters
    inside that changed places.
    """
    yield from _spellings(name)
    if len(name) < LEAST_SWAPPED:
        return
    for at in range(1, len(name) - 2):
        if name[at] != name[at + 1]:
            yield name[:at] + name[at + 1] + name[at] + name[at + 2 :]


@lru_cache(maxsize=1)
def neutral_words() -> frozenset[str]:
    """Return the words that stand beside a brand's name and change nothing."""
    lines = files("oborona.policy").joinpath("beside.list").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in words_of(line))
