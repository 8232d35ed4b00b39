"""The `[[brand]]` tables of policy files: the names of a firm in letters, and its own domains.

[[brand]]
name    = "SANTANDER"
names   = ["Santander", "Banco Santander"]
domains = ["santander", "gruposantander"]   # a label: under whatever public suffix;
# with a full stop: this domain alone;
# with one in front: all of a brand's TLD
"""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.domains import registrable
from oborona.message.normalise import normalise
from oborona.policy.named_tables import Enabled, Fields, Name, TableSort, Why, refuse

MAX_BRANDS: Final = 2_000
MAX_NAMES: Final = 50  # of one brand

_LABEL: Final = r"\A\.?[a-z0-9](?:[a-z0-9.-]{0,100}[a-z0-9])?\Z"
_WORDS: Final = re.compile(r"[^\w]+")
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
    called = tuple(tuple(words_of(name)) for name in fields["names"].value)
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


def words_of(text: str) -> list[str]:
    """Return the words of a name or text, normalised."""
    return [word for word in _WORDS.split(normalise(text)) if word]


def _is_one_of(domain: str, domains: frozenset[str]) -> bool:
    site = registrable(domain)
    return (
        site in domains
        or site.partition(".")[0] in domains
        or "." + site.rpartition(".")[2] in domains
    )
