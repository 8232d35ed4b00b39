"""The store of persons opened for a call, and which persons a caller may see and change."""

from __future__ import annotations

from contextlib import AbstractContextManager

from oborona import state_files
from oborona.desk.call import NotFoundError
from oborona.desk.refusals import UnusableValueError
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.personal import mail_address
from oborona.stores.persons.store import PersonStore, StoredPerson


def open_persons(site: Site, *, make: bool = True) -> AbstractContextManager[PersonStore]:
    """Open the store as the daemon's user.

    Args:
        site: whose state folder it lies in.
        make: begin one where there is none.

    Raises:
        StoreError: it can't be used; without `make`, there is none.
    """
    return open_store(site, PersonStore, state_files.PERSONS, make=make)


def stored_person(site: Site, address: str) -> StoredPerson:
    """Return what is kept of a person; nothing where there is no store yet.

    Raises:
        StoreError: the store can't be read.
    """
    if not (site.state / state_files.PERSONS).exists():
        return StoredPerson(1.0, [])
    with open_persons(site, make=False) as store:
        return store.of(address)


def person_named(text: str) -> str:
    """Return a person's address in its normal form.

    Raises:
        UnusableValueError: it is no mail address.
    """
    person = mail_address(text)
    if not person:
        raise UnusableValueError(f"{text[:100]!a} is no mail address")
    return person


def person_within(caller: Caller, text: str, right: Right) -> str:
    """Return the address of a person whom a caller may see, or change.

    Args:
        caller: with a scope; who has no more than their own mail has their own addresses.
        text: names the person.
        right: that is needed for others.

    Raises:
        UnusableValueError: it is no mail address.
        NotFoundError: the person is beyond what the caller may.
    """
    address = person_named(text)
    own = caller.may(Right.OWN) and address in caller.scope.addresses
    if not own and not (caller.may(right) and caller.scope.covers(address)):
        raise NotFoundError(f"nobody is known as {address}")
    return address
