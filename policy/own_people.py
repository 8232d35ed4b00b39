"""The `[[own_person]]` tables of policy files: people of the site whose names strangers borrow.

[[own_person]]
name      = "DIRECTOR"
names     = ["Anna Beispiel", "Anna Beispiel-Muster"]
addresses = ["anna.beispiel@mailbox.example"]   # from elsewhere, but hers
domains   = ["firm.example"]                    # and what is below

How names are compared stands in `oborona.policy.person_names`.  Namesakes share their addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.message.model import Mailbox
from oborona.policy.named_tables import Enabled, Fields, Name, TableSort, Why, refuse
from oborona.policy.person_names import looks_of, readings, spellings

MAX_PEOPLE: Final = 2_000
MAX_OF_EACH: Final = 50  # names, addresses and domains of one person
LOOKED_AT: Final = 100  # characters of a display name: what a screen shows of it

_ADDRESS: Final = re.compile(r"[^\s@<>()\"',;]{1,64}@[^\s@<>()\"',;]{1,255}")

_Names = tuple[Annotated[str, Meta(min_length=2, max_length=80)], ...]
_Addresses = tuple[Annotated[str, Meta(pattern=r"\A[^\s@<>\"]{1,64}@[^\s@<>\"]{3,253}\Z")], ...]
_Domains = tuple[
    Annotated[str, Meta(pattern=r"\A[a-z0-9](?:[a-z0-9-]{0,62}\.)+[a-z0-9-]{1,62}[a-z0-9]\Z")], ...
]


class OwnPersonTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of an `[[own_person]]` table; this is their only list."""

    name: Name
    names: (
        Annotated[
            _Names,
            Meta(
                min_length=1,
                max_length=MAX_OF_EACH,
                description="First and last name, as readers know it, and other ways to write it.",
                extra={"allowed": 'texts in brackets, such as ["Anna Beispiel"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    addresses: (
        Annotated[
            _Addresses,
            Meta(
                max_length=MAX_OF_EACH,
                description="Addresses that the person does write from.",
                extra={"allowed": 'addresses in brackets, such as ["anna@mailbox.example"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    domains: (
        Annotated[
            _Domains,
            Meta(
                max_length=MAX_OF_EACH,
                description=(
                    "Domains that the person does write from, and all below them: those of "
                    "your own, never one where anybody gets a mailbox."
                ),
                extra={"allowed": 'domains in lower case, in brackets, such as ["firm.example"]'},
            ),
        ]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


OWN_PEOPLE: Final = TableSort(
    "own_person", "own person", OwnPersonTable, MAX_PEOPLE, (("names",), ("addresses", "domains"))
)


class OwnPerson(NamedTuple):
    """Somebody of the site whose name is guarded."""

    name: str  # of the table
    names: tuple[str, ...]
    addresses: frozenset[str]  # in lower case
    domains: frozenset[str]


class Namesakes:
    """All who have one first and last name, with what any of them writes from.

    Args:
        first: of them, by the order of the tables.
    """

    def __init__(self, first: OwnPerson) -> None:
        self.first = first
        self._middle: set[str] = set()
        self._addresses: set[str] = set()
        self._domains: set[str] = set()

    def add(self, person: OwnPerson, middle: Iterable[str]) -> None:
        """Take another of them."""
        self._middle.update(middle)
        self._addresses |= person.addresses
        self._domains |= person.domains

    def bear(self, middle: Iterable[str]) -> bool:
        """Tell whether middle names leave it one of them: initials, and those of the tables, do."""
        return all(len(word) == 1 or word in self._middle for word in middle)

    def write_from(self, box: Mailbox) -> bool:
        """Tell whether one of them writes from an address."""
        return box.address.lower() in self._addresses or not self._domains.isdisjoint(
            _with_parents(box.domain)
        )


class OwnPeople:
    """All own people of a policy.

    What a display name costs does not depend on how many there are, nor on how many share a name.

    Args:
        people: those switched on.
    """

    def __init__(self, people: Iterable[OwnPerson] = ()) -> None:
        self.all: tuple[OwnPerson, ...] = tuple(people)
        self._called: dict[tuple[str, str], Namesakes] = {}
        self._at: dict[str, Namesakes] = {}
        for person in self.all:
            for address in person.addresses:
                self._at.setdefault(address, Namesakes(person)).add(person, ())
            for name in person.names:
                for words in spellings(name):
                    for first in {words.first, words.first[:1]}:
                        key = looks_of(first), looks_of(words.last)
                        namesakes = self._called.setdefault(key, Namesakes(person))
                        namesakes.add(person, map(looks_of, words.middle))

    def borrowed(self, box: Mailbox) -> OwnPerson | None:
        """Return the person whose name, or address, stands in a mailbox's display name and who does
        not write from its address.
        """
        if not self.all or not box.name or not box.domain:
            return None
        shown = box.name[:LOOKED_AT]
        for address in _ADDRESS.findall(shown):
            holders = self._at.get(address.lower())
            if holders is not None and not holders.write_from(box):
                return holders.first
        for words in readings(_ADDRESS.sub(" ", shown)):
            namesakes = self._called.get((looks_of(words.first), looks_of(words.last)))
            if namesakes is not None and namesakes.bear(map(looks_of, words.middle)):
                return None if namesakes.write_from(box) else namesakes.first
        return None


NOBODY_OWN: Final = OwnPeople()


def own_person(fields: Fields) -> OwnPerson | None:
    """Return the person that files give together; None if switched off.

    Raises:
        PolicyError: a name of one word, which many people have, or of none.
    """
    if "enabled" in fields and not fields["enabled"].value:
        return None
    for name in fields["names"].value:
        if not any(True for _ in spellings(name)):
            raise refuse(
                f"own person {fields['name'].value}: names: {name!r} is not first and last name",
                fields["names"].place,
            )
    return OwnPerson(
        name=fields["name"].value,
        names=fields["names"].value,
        addresses=frozenset(
            map(str.lower, fields["addresses"].value if "addresses" in fields else ())
        ),
        domains=frozenset(fields["domains"].value if "domains" in fields else ()),
    )


def _with_parents(domain: str) -> Iterator[str]:
    while domain:
        yield domain
        domain = domain.partition(".")[2]
