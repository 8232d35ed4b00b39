"""Logins: a name, a password and a code become a session, or a refusal that tells nothing.

A try costs the same whether the name, the password or both are wrong, and whoever is off: the same
rows are read and written, and one password is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from oborona.people import wait
from oborona.people.device_book import DeviceBook
from oborona.people.login_try import AttemptBook, AttemptOutcome
from oborona.people.passkey_book import has_passkeys
from oborona.people.password import CrowdError, hash_password, is_password
from oborona.people.person import Person, PersonState, normal_name
from oborona.people.session_book import SessionBook, SessionView
from oborona.people.step_book import StepBook, want_fresh
from oborona.people.store import PeopleStore
from oborona.people.wait import WaitKey, WaitKind, wait_key

BUSY_S: Final = 5.0


class LoginFault(StrEnum):
    """Why nobody is logged in."""

    WRONG = "wrong"  # name or password, or the code
    WAIT = "wait"  # too many were wrong; this one was not looked at
    CODE = "code"  # the password is right, and a second step is to follow
    BUSY = "busy"  # too many passwords are looked at


class LoginRefused(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody is logged in.

    Args:
        fault: why.
        wait_s: so long the next try is not looked at.
        stepping: whose password is right, where a second step is to follow.
        codes: they may give a code.
        passkeys: they may show a passkey.
    """

    fault: LoginFault
    wait_s: float
    stepping: Person | None = None
    codes: bool = False
    passkeys: bool = False


class LoggedIn(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody is logged in.

    Args:
        token: of the session.
        device: token of the browser, for its next logins; that which it came with is void.
        person: who.
        must_enrol: they have no right before they have a second step.
    """

    token: str
    device: str
    person: Person
    must_enrol: bool


class LoginBook:
    """The logins of a store of people.

    Args:
        store: where they are kept.
        sessions: of the same store.
    """

    def __init__(self, store: PeopleStore, sessions: SessionBook) -> None:
        self._store = store
        self._sessions = sessions
        self._attempts = AttemptBook(store)
        self._devices = DeviceBook(store)
        self._steps = StepBook(store)

    def log_in(
        self,
        name: str,
        password: str,
        code: str,
        place: str,
        agent: str,
        device: str,
        now: float,
    ) -> LoggedIn | LoginRefused:
        """Log somebody in.

        Args:
            name: as it was typed, and so are the next two; any text.
            password: theirs.
            code: of the second step; empty = none was given.
            place: address of the client.
            agent: its browser, as that calls itself.
            device: token that it kept of its last login here; empty = none.
            now: Unix seconds.

        Raises:
            StoreError: the store can't be used.
        """
        named = normal_name(name)
        person = self._store.find(named)
        keys = self._keys(named or name, person, place, device)
        with self._store.transaction() as db:
            waits = wait.charge(db, keys, now)
        if waits > 0:
            return LoginRefused(fault=LoginFault.WAIT, wait_s=waits)
        try:
            kept = person.password if person and person.state is PersonState.ACTIVE else ""
            right = is_password(kept, password)
        except CrowdError:
            self._give_back(keys)
            return LoginRefused(fault=LoginFault.BUSY, wait_s=BUSY_S)
        if not right or person is None:
            return self._wrong(person, place, agent, now, keys)
        shared = [key for key in keys if key.kind is WaitKind.NETWORK]
        codes, passkeys = bool(person.totp), has_passkeys(self._store, person)
        if (codes or passkeys) and not (codes and code.strip()):
            self._give_back(shared)
            self._attempts.add(person, place, agent, AttemptOutcome.CODE, now)
            return LoginRefused(
                fault=LoginFault.CODE, wait_s=0.0, stepping=person, codes=codes, passkeys=passkeys
            )
        with self._store.transaction() as db:
            # what was true before the password was looked at, and is it still?
            current = self._store.of(person.id)
            if (
                current is None
                or current.state is not PersonState.ACTIVE
                or current.password != person.password
                or not self._steps.takes(current, code, now)
            ):
                return self._wrong(person, place, agent, now, keys)
            wait.give_back(db, shared)
            wait.forget(db, [key for key in keys if key not in shared])
            token = self._sessions.begin(current, place, agent, now)
            known = self._devices.know(current, device, now)
            self._attempts.add(person, place, agent, AttemptOutcome.DONE, now)
        view = self._sessions.look(token, place, now)
        return LoggedIn(
            token=token, device=known, person=current, must_enrol=bool(view and view.must_enrol)
        )

    def confirm(self, token: str, password: str, place: str, now: float) -> LoginRefused | None:
        """Take the password of who is logged in once more; None = it is right.

        The session is fresh then.  One in which it is guessed at ends.

        Args:
            token: of the session.
            password: theirs.
            place: address of the client.
            now: Unix seconds.

        Raises:
            StoreError: the store can't be used.
        """
        view = self._sessions.look(token, place, now)
        if view is None:
            return LoginRefused(fault=LoginFault.WRONG, wait_s=0.0)
        keys = [wait_key(WaitKind.SESSION, token)]
        with self._store.transaction() as db:
            waits = wait.charge(db, keys, now)
        if waits > 0:
            self._sessions.end(token)
            return LoginRefused(fault=LoginFault.WAIT, wait_s=waits)
        try:
            right = is_password(view.person.password, password)
        except CrowdError:
            self._give_back(keys)
            return LoginRefused(fault=LoginFault.BUSY, wait_s=BUSY_S)
        if not right:
            return self._wrong(view.person, place, view.session.agent, now, keys)
        with self._store.transaction() as db:
            wait.forget(db, keys)
            self._sessions.freshen(token, now)
        return None

    def change_password(self, view: SessionView, password: str, now: float) -> None:
        """Set another password for who is logged in; all their sessions end, this one too.

        Raises:
            PeopleError: the session is not fresh, or the password not good enough.
            StoreError: the store can't be used.
        """
        want_fresh(view)
        kept = hash_password(password, view.person.name)
        self._store.set_password(view.person, kept, now)

    def log_out(self, token: str) -> bool:
        """End a session; return whether there was one."""
        return self._sessions.end(token)

    def _keys(self, name: str, person: Person | None, place: str, device: str) -> list[WaitKey]:
        """Return whose failures count: a browser's that is known, else the name's and network's."""
        if self._devices.is_known(device, person):
            return [wait_key(WaitKind.DEVICE, device)]
        return [
            wait_key(WaitKind.NAME, name),
            wait_key(WaitKind.NETWORK, wait.network_of(place)),
        ]

    def _give_back(self, keys: Sequence[WaitKey]) -> None:
        with self._store.transaction() as db:
            wait.give_back(db, keys)

    def _wrong(
        self, person: Person | None, place: str, agent: str, now: float, keys: Sequence[WaitKey]
    ) -> LoginRefused:
        """Write a wrong try down, and return the refusal."""
        with self._store.transaction() as db:
            self._attempts.add(person, place, agent, AttemptOutcome.WRONG, now)
            waits = wait.next_wait(db, keys, now)
        return LoginRefused(fault=LoginFault.WRONG, wait_s=waits)
