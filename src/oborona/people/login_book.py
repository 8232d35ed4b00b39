"""Logins: a name, a password and a code become a session, or a refusal that tells nothing.

A try costs the same whether the name, the password or both are wrong, and whoever is off: the same
rows are read and written, and one password is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from oborona.people import second_step, wait
from oborona.people.login_try import AttemptBook, AttemptOutcome
from oborona.people.password import CrowdError, hash_password, is_password
from oborona.people.person import PeopleError, Person, PersonState, normal_name
from oborona.people.session_book import SessionBook, SessionView
from oborona.people.store import PeopleStore
from oborona.people.token import new_token, token_hash
from oborona.people.wait import WaitKey, WaitKind, wait_key

DEVICE_S: Final = 180 * 86_400.0  # a browser that did not come for so long is a stranger
MOST_DEVICES: Final = 20  # of a person; then the one goes that did not come for longest
BUSY_S: Final = 5.0


class LoginFault(StrEnum):
    """Why nobody is logged in."""

    WRONG = "wrong"  # name or password, or the code
    WAIT = "wait"  # too many were wrong; this one was not looked at
    CODE = "code"  # the password is right, and no code was given
    BUSY = "busy"  # too many passwords are looked at


class LoginRefused(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody is logged in.

    Args:
        fault: why.
        wait_s: so long the next try is not looked at.
    """

    fault: LoginFault
    wait_s: float


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
        if person.totp and not code.strip():
            self._give_back(shared)
            self._attempts.add(person, place, agent, AttemptOutcome.CODE, now)
            return LoginRefused(fault=LoginFault.CODE, wait_s=0.0)
        with self._store.transaction() as db:
            # what was true before the password was looked at, and is it still?
            current = self._store.of(person.id)
            if (
                current is None
                or current.state is not PersonState.ACTIVE
                or current.password != person.password
                or not self._takes(current, code, now)
            ):
                return self._wrong(person, place, agent, now, keys)
            wait.give_back(db, shared)
            wait.forget(db, [key for key in keys if key not in shared])
            token = self._sessions.begin(current, place, agent, now)
            known = self._know_device(current, device, now)
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
        _want_fresh(view)
        kept = hash_password(password, view.person.name)
        self._store.set_password(view.person, kept, now)

    def log_out(self, token: str) -> bool:
        """End a session; return whether there was one."""
        return self._sessions.end(token)

    def enrol(self, view: SessionView, site: str) -> tuple[str, str]:
        """Begin a second step; return its secret, and what a telephone reads from a QR code.

        It counts once a code of it was given (`confirm_step`).

        Raises:
            PeopleError: the session is not fresh, or there is one already.
            StoreError: the store can't be used.
        """
        _want_fresh(view)
        secret = second_step.new_secret()
        with self._store.transaction() as db:
            taken = db.execute(
                "UPDATE person SET totp_new = ? WHERE id = ? AND totp = ''",
                (secret, view.person.id),
            )
            if not taken.rowcount:
                raise PeopleError("there is a second step already; remove it first")
        return secret, second_step.enrolment_uri(secret, view.person.name, site)

    def confirm_step(self, view: SessionView, code: str, now: float) -> bool:
        """Take the first code of a second step; return whether it is one: then the step counts.

        Raises:
            PeopleError: the session is not fresh.
            StoreError: the store can't be used.
        """
        _want_fresh(view)
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT totp_new, totp_step FROM person WHERE id = ?", (view.person.id,)
            ).fetchone()
            step = second_step.step_of(row[0], code, 0, now) if row and row[0] else 0
            if step:
                db.execute(
                    "UPDATE person SET totp = totp_new, totp_new = '', totp_step = ? WHERE id = ?",
                    (step, view.person.id),
                )
        return bool(step)

    def drop_step(self, view: SessionView) -> None:
        """Remove the second step of who is logged in.

        Raises:
            PeopleError: the session is not fresh.
            StoreError: the store can't be used.
        """
        _want_fresh(view)
        self._store.drop_step(view.person)

    def _takes(self, person: Person, code: str, now: float) -> bool:
        """Whether somebody has no second step, or this code is of it; it is taken once."""
        if not person.totp:
            return True
        with self._store.transaction() as db:
            (last,) = db.execute(
                "SELECT totp_step FROM person WHERE id = ?", (person.id,)
            ).fetchone()
            step = second_step.step_of(person.totp, code, last, now)
            if step:
                db.execute("UPDATE person SET totp_step = ? WHERE id = ?", (step, person.id))
        return bool(step)

    def _keys(self, name: str, person: Person | None, place: str, device: str) -> list[WaitKey]:
        """Return whose failures count: a browser's that is known, else the name's and network's."""
        known = self._store.rows(
            "SELECT 1 FROM device WHERE token = ? AND person = ?",
            (token_hash(device), person.id if person is not None else 0),
        )
        if known:
            return [wait_key(WaitKind.DEVICE, device)]
        return [
            wait_key(WaitKind.NAME, name),
            wait_key(WaitKind.NETWORK, wait.network_of(place)),
        ]

    def _know_device(self, person: Person, before: str, now: float) -> str:
        """Return a new token for the browser of a login, in place of that which it came with."""
        device = new_token()
        with self._store.transaction() as db:
            db.execute(
                "DELETE FROM device WHERE last < ? OR (token = ? AND person = ?)",
                (now - DEVICE_S, token_hash(before), person.id),
            )
            db.execute("INSERT INTO device VALUES (?, ?, ?)", (token_hash(device), person.id, now))
            db.execute(
                "DELETE FROM device WHERE token IN (SELECT token FROM device WHERE person = ?"
                " ORDER BY last DESC, token LIMIT -1 OFFSET ?)",
                (person.id, MOST_DEVICES),
            )
        return device

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


def _want_fresh(view: SessionView) -> None:
    if not view.is_fresh:
        raise PeopleError("give your password once more first")
