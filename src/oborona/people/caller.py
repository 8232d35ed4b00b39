"""Who makes a call: the person, what they may, and how they came."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from oborona.people.rights import Right, Role, needs_reason, rights_of


class CallWay(StrEnum):
    """By which way a call comes."""

    TERMINAL = "terminal"
    PAGE = "page"
    KEY = "key"  # a program, with an API key


class Scope(msgspec.Struct, frozen=True):
    """Whose mail a person may see and change.

    Args:
        domains: recipients' domains, lower case; None = every one.
        addresses: whole addresses beside them, lower case: a reader's own.
    """

    domains: frozenset[str] | None = None
    addresses: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether it is the whole site."""
        return self.domains is None

    def covers(self, address: str) -> bool:
        """Return whether the mail of a recipient is within it."""
        if self.domains is None:
            return True
        low = address.lower()
        return low in self.addresses or low.rpartition("@")[2] in self.domains


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A person, or a program for one, who makes a call.

    Args:
        name: of the person; of a key that of its maker, and the key's.
        roles: none = what `rights` says alone.
        rights: what they may: those of the roles, or fewer.
        scope: whose mail.
        way: how they came.
        source: all that is known of who that is.
        place: address of the client; or host and terminal.
        fresh: on a page: the password was given within ten minutes.
    """

    name: str
    roles: frozenset[Role] = frozenset()
    rights: frozenset[Right] = frozenset()
    scope: Scope = Scope()
    way: CallWay
    source: str = ""
    place: str = ""
    fresh: bool = False

    def may(self, right: Right) -> bool:
        """Return whether they have a right."""
        return right in self.rights

    def must_say_why(self, right: Right) -> bool:
        """Return whether they have a right for calls with a reason alone."""
        return needs_reason(self.roles, right)


def caller_at_terminal(name: str, source: str, place: str) -> Caller:
    """Return who is at the terminal: files and sudo say what they may, so that calls do not."""
    return Caller(
        name=name,
        roles=frozenset({Role.ADMIN}),
        rights=frozenset(Right),
        way=CallWay.TERMINAL,
        source=source,
        place=place,
    )


def with_roles(
    name: str, roles: frozenset[Role], scope: Scope, *, way: CallWay, source: str, place: str
) -> Caller:
    """Return a person with all that their roles may."""
    return Caller(
        name=name,
        roles=roles,
        rights=rights_of(roles),
        scope=scope,
        way=way,
        source=source,
        place=place,
    )
