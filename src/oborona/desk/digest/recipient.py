"""Who may get a digest, and at which address."""

from __future__ import annotations

from oborona.people.person import Person, PersonState
from oborona.people.rights import Right
from oborona.reputation.personal import mail_address


def gets_digest(person: Person) -> bool:
    """Return whether a digest may be sent to somebody."""
    return (
        person.state is PersonState.ACTIVE
        and Right.OWN in person.rights
        and bool(address_of(person))
    )


def address_of(person: Person) -> str:
    """Return where a digest goes: the address that is their name, else the first of theirs that
    mail can be sent to without SMTPUTF8; empty = none.
    """
    mine = sorted(one for one in person.addresses if one.isascii() and mail_address(one))
    return person.name if person.name in mine else next(iter(mine), "")
