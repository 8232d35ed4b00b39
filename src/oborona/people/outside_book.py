"""People for whom somebody else vouches: an OpenID provider, a proxy, the server of a mailbox.

Whom a provider tells is known by what it calls them for ever, and never by a name: a name that
somebody here has already is not theirs, whatever the provider lets them call themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from oborona.people import wait
from oborona.people.device_book import DeviceBook
from oborona.people.login_book import LoggedIn, LoginFault, LoginRefused
from oborona.people.login_try import AttemptBook, AttemptOutcome
from oborona.people.login_way import LoginWay
from oborona.people.passkey_book import has_passkeys
from oborona.people.person import PeopleError, Person, PersonState, checked_addresses, normal_name
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person
from oborona.people.wait import WaitKey, WaitKind, wait_key

_HASH_BYTES: Final = 16


class NoRoleError(PeopleError):
    """Who they are was shown, and they may nothing here."""


class NameTakenError(PeopleError):
    """Somebody else has the name here that they have elsewhere."""


class VouchedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody as a provider tells them.

    Args:
        subject: what they are called there for ever, with whose word that is.
        name: the name they are to have here; any text.
        roles: theirs.
        addresses: mailboxes that are theirs.
    """

    subject: str
    name: str
    roles: frozenset[Role]
    addresses: frozenset[str] = frozenset()


class OutsideBook:
    """Those people of a store, and their logins.

    Args:
        store: where they are kept.
        sessions: of the same store.
    """

    def __init__(self, store: PeopleStore, sessions: SessionBook) -> None:
        self._store = store
        self._sessions = sessions
        self._attempts = AttemptBook(store)
        self._devices = DeviceBook(store)

    def charge(
        self, name: str, place: str, now: float, device: str = ""
    ) -> list[WaitKey] | LoginRefused:
        """Count a try as a failure until it is none; or refuse it unseen, where they have to wait.

        Args:
            name: as it was typed; empty = none is known.
            place: address of the client.
            now: Unix seconds.
            device: token of the browser; one from which this person has logged in before has a
                count of its own.
        """
        keys = [wait_key(WaitKind.NETWORK, wait.network_of(place))]
        if name:
            keys.append(wait_key(WaitKind.NAME, normal_name(name) or name))
            if self._devices.is_known(device, self._store.find(normal_name(name))):
                keys = [wait_key(WaitKind.DEVICE, device)]
        with self._store.transaction() as db:
            waits = wait.charge(db, keys, now)
        return LoginRefused(fault=LoginFault.WAIT, wait_s=waits) if waits > 0 else keys

    def give_back(self, keys: Sequence[WaitKey]) -> None:
        """Take back what a try was charged: it was none."""
        with self._store.transaction() as db:
            wait.give_back(db, keys)

    def told(self, vouched: VouchedPerson, now: float) -> Person:
        """Return whom a provider tells, with what it says of them now.

        Where they may other things than before, all their sessions end.

        Raises:
            NoRoleError: they have none.
            NameTakenError: their name is somebody else's, or can be none.
        """
        subject = blake2b(vouched.subject.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT person FROM outside WHERE subject = ?", (subject.digest(),)
            ).fetchone()
            person = self._store.of(row[0]) if row else None
            if person is None:
                person = self._new(vouched, LoginWay.PROVIDER, now)
                db.execute(
                    "INSERT OR REPLACE INTO outside VALUES (?, ?)", (subject.digest(), person.id)
                )
            current = msgspec.structs.replace(
                person, roles=vouched.roles, addresses=vouched.addresses
            )
            if current != person:
                self._store.change(current, ends=True)
        # outside the transaction: what was taken away stays so
        if not current.roles or current.state is not PersonState.ACTIVE:
            raise NoRoleError("you have no role here; ask your administrator")
        return current

    def found(self, name: str) -> Person | None:
        """Return who has a name here, whether or not they may log in: to write a try down."""
        return self._store.find(normal_name(name)) if normal_name(name) else None

    def named(self, name: str) -> Person | None:
        """Return who has a name here, in whatever form it is given, and may log in."""
        person = self.found(name)
        return person if person and person.state is PersonState.ACTIVE else None

    def reader_of(self, address: str, *, make: str, now: float) -> Person | None:
        """Return the reader whose mailbox this is; None = it is nobody's, or of somebody who is
        more than a reader.

        Args:
            address: that was proved to be theirs, as `checked_addresses` returns it.
            make: by whom they are made where they are not here yet; empty = they are not made.
            now: Unix seconds.
        """
        with self._store.transaction():
            person = self._store.find(normal_name(address))
            if person is None and make and normal_name(address):
                return self._store.add(
                    new_person(
                        normal_name(address),
                        roles=frozenset({Role.READER}),
                        domains=frozenset(),
                        addresses=frozenset({address}),
                        language="",
                        made_by=make,
                        now=now,
                    )
                )
        if person is None or person.is_staff or person.state is not PersonState.ACTIVE:
            return None
        if person.totp or has_passkeys(
            self._store, person
        ):  # they have chosen to give more than that
            return None
        return person if address in person.addresses and Role.READER in person.roles else None

    def begin(
        self,
        person: Person,
        way: LoginWay,
        place: str,
        agent: str,
        device: str,
        keys: Sequence[WaitKey],
        now: float,
        *,
        fresh: float | None = None,
    ) -> LoggedIn:
        """Log somebody in for whom was vouched.

        Args:
            person: who.
            way: by which.
            place: address of the client.
            agent: its browser, as that calls itself.
            device: token that it kept of its last login here; empty = none.
            keys: what the try was charged.
            now: Unix seconds.
            fresh: when they have shown who they are; None = now.
        """
        with self._store.transaction() as db:
            wait.give_back(db, [key for key in keys if key.kind is WaitKind.NETWORK])
            wait.forget(db, [key for key in keys if key.kind is not WaitKind.NETWORK])
            token = self._sessions.begin(person, place, agent, now, way=way, fresh=fresh)
            known = self._devices.know(person, device, now)
            self._attempts.add(person, place, agent, AttemptOutcome.DONE, now, way)
        return LoggedIn(token=token, device=known, person=person, must_enrol=False)

    def wrong(
        self,
        person: Person | None,
        way: LoginWay,
        place: str,
        agent: str,
        keys: Sequence[WaitKey],
        now: float,
    ) -> LoginRefused:
        """Write a wrong try down, which stays charged, and return the refusal."""
        with self._store.transaction() as db:
            self._attempts.add(person, place, agent, AttemptOutcome.WRONG, now, way)
            waits = wait.next_wait(db, keys, now)
        return LoginRefused(fault=LoginFault.WRONG, wait_s=waits)

    def _new(self, vouched: VouchedPerson, way: LoginWay, now: float) -> Person:
        if not vouched.roles:
            raise NoRoleError("you have no role here; ask your administrator")
        name = normal_name(vouched.name)
        if not name:
            raise NameTakenError("your name can be none here; ask your administrator")
        if self._store.find(name) is not None:
            raise NameTakenError("somebody else has your name here; ask your administrator")
        return self._store.add(
            new_person(
                name,
                roles=vouched.roles,
                domains=frozenset(),
                addresses=frozenset(checked_addresses(sorted(vouched.addresses))),
                language="",
                made_by=way,
                now=now,
            )
        )
