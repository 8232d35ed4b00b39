"""Who may change whom: nobody gives what they have not, nor changes who has more."""

from __future__ import annotations

from typing import Final

from oborona.desk.call import NotAllowedError
from oborona.people.caller import Caller, Scope
from oborona.people.person import Person
from oborona.people.rights import Right

OWN_ALONE: Final = frozenset({Right.OWN, Right.AUDIT_OWN})
"""Rights over what is one's own: who gives them gives nothing of theirs."""


def check_gift(caller: Caller, rights: frozenset[Right], scope: Scope) -> None:
    """Refuse to give what the caller has not.

    Args:
        caller: who gives.
        rights: what is given.
        scope: for whose mail.

    Raises:
        NotAllowedError: they lack a right, or the scope is beyond theirs.
    """
    if lacking := sorted(rights - caller.rights - OWN_ALONE):
        raise NotAllowedError(f"you have no right {', '.join(lacking)}, and can't give it")
    if not _is_within(scope, caller.scope):
        raise NotAllowedError("that reaches beyond the domains that you may see")


def check_power(caller: Caller, person: Person) -> None:
    """Refuse to change somebody who may do what the caller may not.

    A new link for such a one would be a way to become them.

    Raises:
        NotAllowedError: they may.
    """
    if person.rights - caller.rights - OWN_ALONE or not _is_within(person.scope, caller.scope):
        raise NotAllowedError(f"{person.name} may do what you may not; who has all of that may")


def _is_within(inner: Scope, outer: Scope) -> bool:
    if outer.domains is None:
        return True
    return (
        inner.domains is not None
        and inner.domains <= outer.domains
        and all(outer.covers(address) for address in inner.addresses)
    )
