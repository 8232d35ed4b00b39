"""Brands, as policy files give them: the names of a firm in letters, and its own domains.

    [[brand]]
    name    = "SANTANDER"
    names   = ["Santander", "Banco Santander"]
    domains = ["santander", "gruposantander"]   # a label: under whatever public suffix;
                                                # with a full stop: this domain alone;
                                                # with one in front: all of a brand's TLD

A sender bears a brand's name if his display name has nothing else but words such as "support",
"online banking" or "your" (`beside.list`): people and small firms are called like parts of brands,
and "Chase Smith" or "Apple user group" imitates nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.domains import registrable
from oborona.message.normalise import normalise
from oborona.policy.named_tables import Enabled, Fields, Name, TableSort, Why, refuse

MAX_BRANDS: Final = 2_000
MAX_NAMES: Final = 50  # of one brand
LOOKED_AT: Final = 100  # characters of a display name: what a screen shows of it
# letters of a name that is looked for in hosts: "ups" and "dhl" stand in too many other words
LEAST_IN_HOST: Final = 5
LEAST_MISSPELT: Final = 6  # letters of a name that is looked for misspelt: of fewer, one is a word
LEAST_SWAPPED: Final = 7  # the same of letters doubled or that changed places: "goggle" is a word

_LABEL: Final = r"\A\.?[a-z0-9](?:[a-z0-9.-]{0,100}[a-z0-9])?\Z"
_WORDS: Final = re.compile(r"[^\w]+")
_PIECES: Final = re.compile(r"[.-]")
_ALIKE: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LETTERS: Final = str.maketrans("0135i", "olesl")
_Names = tuple[Annotated[str, Meta(min_length=2, max_length=80)], ...]
_Domains = tuple[Annotated[str, Meta(pattern=_LABEL)], ...]


class BrandTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[brand]]` table; this is their only list."""

    name: Name
    names: (
        Annotated[
            _Names,
            Meta(
                min_length=1,
                max_length=MAX_NAMES,
                description="How people know it, in any letters.",
                extra={"allowed": 'texts in brackets, such as ["Santander", "Banco Santander"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    domains: (
        Annotated[
            _Domains,
            Meta(
                min_length=1,
                max_length=MAX_NAMES,
                description=(
                    "What it writes from: the label before a public suffix (santander: .com, "
                    ".co.uk, ...), or a registrable domain (santander.co.uk), or a TLD of its "
                    "own (.apple)."
                ),
                extra={
                    "allowed": (
                        'labels or domains in lower case, in brackets, such as ["santander", '
                        '"bank.example"]'
                    )
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    mailboxes: (
        Annotated[
            _Domains,
            Meta(
                max_length=MAX_NAMES,
                description=(
                    "Those of its domains where anybody gets a mailbox: its name in From "
                    "proves nothing there."
                ),
                extra={
                    "allowed": 'labels or domains in lower case, in brackets, such as ["gmail"]'
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    machines: (
        Annotated[
            _Domains,
            Meta(
                max_length=MAX_NAMES,
                description=(
                    "Those of its domains below which machines of its customers have names: a "
                    "client called so proves nothing."
                ),
                extra={
                    "allowed": 'labels or domains in lower case, in brackets, such as ["amazonaws"]'
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


BRANDS: Final = TableSort("brand", "brand", BrandTable, MAX_BRANDS, (("names",), ("domains",)))


class Brand(NamedTuple):
    """A firm whose name others borrow."""

    name: str  # of its table
    called: tuple[tuple[str, ...], ...]  # its names, in words
    domains: frozenset[str]  # labels, and registrable domains
    mailboxes: frozenset[str] = frozenset()  # those of them that are also everybody's
    machines: frozenset[str] = frozenset()  # those of them where customers' machines have names

    def owns(self, domain: str) -> bool:
        """Tell whether a domain, or host, is the brand's own."""
        return _is_one_of(domain, self.domains)

    def writes_from(self, domain: str) -> bool:
        """Tell whether only the brand has addresses at a domain."""
        return _is_one_of(domain, self.domains) and not _is_one_of(domain, self.mailboxes)

    def sends_from(self, client_name: str) -> bool:
        """Tell whether only the brand has machines of this name.

        Args:
            client_name: verified name of an SMTP client, empty if it has none.
        """
        name = client_name.rstrip(".").lower()
        return bool(name) and self.writes_from(name) and not _is_one_of(name, self.machines)


def brand(fields: Fields) -> Brand | None:
    """Return the brand that files give together; None if it is switched off.

    Raises:
        PolicyError: a name without letters.
    """
    if "enabled" in fields and not fields["enabled"].value:
        return None
    called = tuple(tuple(_words(name)) for name in fields["names"].value)
    if not all(called):
        raise refuse(
            f"brand {fields['name'].value}: names: one has no letters", fields["names"].place
        )
    return Brand(
        name=fields["name"].value,
        called=called,
        domains=frozenset(fields["domains"].value),
        mailboxes=frozenset(fields["mailboxes"].value if "mailboxes" in fields else ()),
        machines=frozenset(fields["machines"].value if "machines" in fields else ()),
    )


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
        words = _words(name[:LOOKED_AT])
        beside = neutral_words()
        for at, length, called_brand in self._find_names(words):
            rest = (*words[:at], *words[at + length :])
            if all(word in beside or word.isdecimal() for word in rest):
                return called_brand
        return None

    def mentioned(self, text: str) -> Iterator[Brand]:
        """Yield the brands whose names stand anywhere in a text, in its order."""
        for _, _, mentioned_brand in self._find_names(_words(text)):
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


def _is_one_of(domain: str, domains: frozenset[str]) -> bool:
    site = registrable(domain)
    return (
        site in domains
        or site.partition(".")[0] in domains
        or "." + site.rpartition(".")[2] in domains
    )


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.split(normalise(text)) if word]


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
    return frozenset(word for line in lines if not line.startswith("#") for word in _words(line))
