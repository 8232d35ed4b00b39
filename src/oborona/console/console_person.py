"""Who is signed in, as the desk says."""

from __future__ import annotations

from typing import Any

import msgspec

from oborona.people.rights import Right, Role


class ConsolePerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person, of `me.show` and of a login.

    Args:
        name: of the person.
        roles: theirs.
        rights: what they may.
        language: code of the one they chose; empty: that of their browser.
        scope: whose mail, as the desk tells it.
        fresh: whether they have proved lately who they are.
        node: name of the machine.
        policy: version of the policy that is in force there.
        way: by which they signed in.
        second_step: they sign in with a code, too.
        passkeys: they have one at least.
        must_enrol: they may do nothing before they have a second step.
    """

    name: str
    roles: frozenset[Role] = frozenset()
    rights: frozenset[Right] = frozenset()
    language: str | None = ""
    scope: dict[str, Any] | None = None
    fresh: Any = None
    node: str | None = ""
    policy: str | None = ""
    way: str = ""
    second_step: bool = False
    passkeys: bool = False
    must_enrol: bool = False

    @property
    def is_staff(self) -> bool:
        """Whether they are more than a reader of their own mail."""
        return bool(self.roles - {Role.READER})

    @property
    def sees_all_mail(self) -> bool:
        """Whether they see the mail of the whole site, and not that of some recipients alone."""
        return self.scope is None or self.scope.get("domains") is None

    def may(self, right: Right) -> bool:
        """Return whether they have a right."""
        return right in self.rights


class SignInWays(msgspec.Struct, frozen=True, kw_only=True):
    """The ways to sign in beside a password, of `login.ways`.

    Args:
        provider: host of the OpenID provider; empty: there is none.
        mail: links are sent to mailboxes.
        mailbox: the password of a mailbox opens it.
        passkey: passkeys can be shown.
    """

    provider: str = ""
    mail: bool = False
    mailbox: bool = False
    passkey: bool = False


class ProviderDeparture(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in at the provider that has begun.

    Args:
        url: where the browser goes.
        attempt: what it keeps meanwhile.
    """

    url: str
    attempt: str


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """What the desk answers to a login.

    Args:
        token: of the session; empty: the link is used, and a code is to be given.
        device: what a browser shows that this person used before; empty: it has one.
        caller: who it is.
    """

    token: str
    device: str = ""
    caller: ConsolePerson | None = None
