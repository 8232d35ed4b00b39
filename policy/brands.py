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
from oborona.message.homograph import shown_label
from oborona.message.normalise import normalise
from oborona.policy.brand_table import Brand, brand, words_of
from oborona.policy.named_tables import Fields

LOOKED_AT: Final = 100  # characters of a display name: what a screen shows of it
# letters of a name that is looked for in hosts: "ups" and "dhl" stand in too many other words
LEAST_IN_HOST: Final = 5
LEAST_MISSPELT: Final = 6  # letters of a name that is looked for misspelt: of fewer, one is a word
LEAST_SWAPPED: Final = 7  # the same of letters doubled or that changed places: "goggle" is a word
LEAST_EDITED: Final = 8  # the same of any one letter: "revolt" and "interact" are words
MOST_EDITED: Final = 40  # letters of what is looked at for one edit

_PIECES: Final = re.compile(r"[.-]")
_ALIKE: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LETTERS: Final = str.maketrans("01345i", "oleasl")
# at a glance one another, and too many words differ in them to look them up as one letter
_GLANCED: Final = {"m": "n", "n": "m", "u": "v", "v": "u", "g": "q"}
# names of their own that are one letter away
_OTHERS: Final = frozenset({"ledgerline", "medcare", "medicure", "postback", "postrank"})
KEPT: Final = 4096  # hosts that were looked up lately; mail of a day has few others
_ANY: Final = "*"  # a letter, in a pattern; no host has it


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
        self._edited: dict[
            str, Brand
        ] = {}  # patterns of names with one letter more, less, or other
        for owner in self.all:
            for words in owner.called:
                self._first.setdefault(words[0], []).append((words, owner))
                joined = "".join(words)
                if len(joined) >= LEAST_IN_HOST and joined.isascii():
                    self._in_hosts.setdefault(joined, owner)
                if len(joined) >= LEAST_MISSPELT and joined.isascii():
                    for spelling in _misspellings(joined):
                        self._misspelt.setdefault(spelling, owner)
                if LEAST_EDITED <= len(joined) < MOST_EDITED and joined.isascii():
                    for pattern in _edits(joined):
                        self._edited.setdefault(pattern, owner)
            for own in owner.domains:
                self._owners.setdefault(own, owner)
        for longest in self._first.values():
            longest.sort(key=lambda entry: -len(entry[0]))
        self._looked_up = lru_cache(maxsize=KEPT)(self._look_up)

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
        """Return the brand whose name is written with letters that look alike or bear accents, with
        two letters that changed places, or a longer one with one letter more, less or other, in a
        label of a host, or a part of one between hyphens.

        Args:
            host: in lower case, of at most MAX_HOST characters: what was found is remembered.
        """
        return self._looked_up(host)

    def _look_up(self, host: str) -> Brand | None:
        ascii_host = host.isascii() and "xn--" not in host
        shown = host if ascii_host else ".".join(map(shown_label, host.split(".")))
        for piece in _PIECES.split(shown):
            if piece in self._in_hosts or piece in self._owners:
                continue
            named_brand = self._resembled(piece)
            if named_brand is not None and not named_brand.owns(host):
                return named_brand
        return None

    def _resembled(self, piece: str) -> Brand | None:
        if not piece.isascii():
            piece = normalise(piece)
            if piece in self._in_hosts:
                return self._in_hosts[piece]
        if len(piece) < LEAST_MISSPELT - 1:
            return None
        for spelling in (piece, *_spellings(piece)):
            if spelling in self._misspelt:
                return self._misspelt[spelling]
        if not LEAST_EDITED - 1 <= len(piece) <= MOST_EDITED or piece in _OTHERS:
            return None
        if piece in self._edited:
            return self._edited[piece]
        others = (piece[:at] + _ANY + piece[at + 1 :] for at in range(1, len(piece)))
        return next((self._edited[other] for other in others if other in self._edited), None)

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
    """Yield how a name is looked up when it is misspelt: as it looks, with another letter that is
    taken for one of its own, and with two letters inside that changed places.
    """
    yield from _spellings(name)
    for at, letter in enumerate(name):
        if at and letter in _GLANCED:
            yield name[:at] + _GLANCED[letter] + name[at + 1 :]
    if len(name) < LEAST_SWAPPED:
        return
    for at in range(1, len(name) - 2):
        if name[at] != name[at + 1]:
            yield name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def _edits(name: str) -> Iterator[str]:
    """Yield patterns of a name with one letter other, more, less, or its last two changed.

    Its first letter stays, which a reader looks at, and nothing changes at its end, where plurals
    and names of people differ.
    """
    for at in range(1, len(name) - 1):
        yield name[:at] + _ANY + name[at + 1 :]
        yield name[:at] + _ANY + name[at:]
        yield name[:at] + name[at + 1 :]
    yield name[:-1] + _ANY + name[-1]
    yield name[:-2] + name[-1] + name[-2]


@lru_cache(maxsize=1)
def neutral_words() -> frozenset[str]:
    """Return the words that stand beside a brand's name and change nothing."""
    lines = files("oborona.policy").joinpath("beside.list").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in words_of(line))
