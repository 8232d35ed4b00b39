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
        second_step: they sign in with a code, too.
        must_enrol: they may do nothing before they have a second step.
    """

    name: str
    roles: frozenset[Role] = frozenset()
    rights: frozenset[Right] = frozenset()
    language: str | None = ""
    scope: Any = None
    fresh: Any = None
    node: str | None = ""
    policy: str | None = ""
    second_step: bool = False
    must_enrol: bool = False

    @property
    def is_staff(self) -> bool:
        """Whether they are more than a reader of their own mail."""
        return bool(self.roles - {Role.READER})

    def may(self, right: Right) -> bool:
        """Return whether they have a right."""
        return right in self.rights


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
