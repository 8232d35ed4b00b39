"""A person who may log in: name, roles, scope; and what all of these may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from oborona.domains import normal_host
from oborona.errors import OboronaError
from oborona.people.caller import Scope
from oborona.people.rights import Right, Role, rights_of

LANGUAGES: Final = ("en", "ru")
MAX_NAME: Final = 254  # octets: a mail address may be a name
MAX_PARTS: Final = 1000  # domains or addresses of a person
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._+@-]*[a-z0-9])?\Z")
_ADDRESS: Final = re.compile(r"[^\s@,;<>\"\\]{1,64}@[^\s@]{1,253}\Z")


class PeopleError(OboronaError):
    """What is asked of people can't be; its text says why."""


class NoPersonError(PeopleError):
    """Nobody, nothing of theirs, goes by that name."""


class PersonState(StrEnum):
    """Whether a person may log in."""

    ACTIVE = "active"
    OFF = "off"


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person.

    Args:
        id: never given twice.
        name: in its normal form.
        password: argon2id in its own writing; empty = none was set yet.
        domains: recipients' domains that narrow what they see; empty = none is named.
        addresses: their own.
        totp: secret of the second step; empty = there is none.
        made: Unix seconds; so are the next two.
        password_at: when it was set; 0 = never.
        came: when they logged in last; 0 = never.
    """

    id: int
    name: str
    password: str
    roles: frozenset[Role]
    domains: frozenset[str]
    addresses: frozenset[str]
    language: str
    state: PersonState
    totp: str
    made: float
    password_at: float
    came: float
    made_by: str

    @property
    def rights(self) -> frozenset[Right]:
        """All that their roles may."""
        return rights_of(self.roles)

    @property
    def scope(self) -> Scope:
        """Whose mail they may see: of who is a reader alone and has no domain, their own."""
        return scope_of(self.roles, self.domains, self.addresses)

    @property
    def is_staff(self) -> bool:
        """Whether they have a role beside that of a reader."""
        return bool(self.roles - {Role.READER})

    @property
    def keeps_site(self) -> bool:
        """Whether they can log in and give roles to others, anywhere."""
        return (
            self.state is PersonState.ACTIVE
            and Role.ADMIN in self.roles
            and not self.domains
            and bool(self.password)
        )


def scope_of(roles: frozenset[Role], domains: frozenset[str], addresses: frozenset[str]) -> Scope:
    """Return whose mail a person with these may see."""
    whole = not domains and bool(roles - {Role.READER})
    return Scope(domains=None if whole else domains, addresses=addresses)


def normal_name(text: str) -> str:
    """Return a name in its normal form; empty where it can be none."""
    name = text.strip().lower() if len(text) <= 2 * MAX_NAME else ""
    return name if len(name) <= MAX_NAME and _NAME.match(name) else ""


def checked_name(text: str) -> str:
    """Return a name in its normal form.

    Raises:
        PeopleError: it can be none.
    """
    name = normal_name(text)
    if not name:
        raise PeopleError(
            f"{text[:100]!a}: a name has letters a to z, digits and . _ + @ - within, at most "
            f"{MAX_NAME}"
        )
    return name


def checked_domains(texts: Sequence[str]) -> frozenset[str]:
    """Return domains as scopes have them.

    Raises:
        PeopleError: one is none, or there are too many.
    """
    _check_number(texts, "domains")
    found = set()
    for text in texts:
        domain = normal_host(text.strip())
        if "." not in domain and domain != "localhost":
            raise PeopleError(f"{text[:100]!a} is no domain")
        found.add(domain)
    return frozenset(found)


def checked_addresses(texts: Sequence[str]) -> frozenset[str]:
    """Return mail addresses as scopes have them.

    Raises:
        PeopleError: one is none, or there are too many.
    """
    _check_number(texts, "addresses")
    found = set()
    for text in texts:
        address = text.strip().lower()
        if len(text) > 2 * MAX_NAME or not _ADDRESS.match(address) or not address.isprintable():
            raise PeopleError(f"{text[:100]!a} is no mail address")
        found.add(address)
    return frozenset(found)


def checked_roles(roles: Iterable[Role]) -> frozenset[Role]:
    """Return roles.

    Raises:
        PeopleError: there is none.
    """
    found = frozenset(roles)
    if not found:
        raise PeopleError("a person has one role at least")
    return found


def checked_language(text: str) -> str:
    """Return a language that pages have.

    Raises:
        PeopleError: they don't.
    """
    if text not in LANGUAGES:
        raise PeopleError(f"{text[:100]!a}: languages are {', '.join(LANGUAGES)}")
    return text


def _check_number(texts: Sequence[str], called: str) -> None:
    if len(texts) > MAX_PARTS:
        raise PeopleError(f"a person has at most {MAX_PARTS} {called}")
