"""Sessions: who is logged in, from when on and until when."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oborona.people.caller import Caller, CallWay, with_roles
from oborona.people.login_way import LoginWay
from oborona.people.person import NoPersonError, Person, PersonState
from oborona.people.rights import Right, Role
from oborona.people.store import PERSON_COLUMNS, PeopleStore
from oborona.people.token import new_ident, new_token, token_hash

STAFF_IDLE_S: Final = 12 * 3600.0
STAFF_S: Final = 7 * 86_400.0
READER_S: Final = 86_400.0  # after last use, and in all
MOST: Final = 10  # of a person; then the oldest goes
FRESH_S: Final = 600.0  # so long after a password or passkey was given, acts that hurt want none
NOTED_S: Final = 60.0  # that a session was used is written this often
TEXT: Final = 200  # letters of a place or an agent
_COLUMNS: Final = (
    "session.ident, session.made, session.last, session.fresh, session.place, session.agent,"
    " session.way"
)
_KEYED: Final = "EXISTS (SELECT 1 FROM passkey WHERE passkey.person = person.id)"
_COUNT: Final = len(_COLUMNS.split(","))


class PersonSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as lists show it.

    Args:
        ident: names it, and is no secret.
        made: Unix seconds; so are the next two.
        last: when it was used, to the minute.
        fresh: when the password or a passkey was given last.
        place: address of the client.
        agent: its browser, as that calls itself.
        way: by which it began.
    """

    ident: str
    made: float
    last: float
    fresh: float
    place: str
    agent: str
    way: LoginWay


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a call comes with.

    Args:
        caller: who calls; where `must_enrol`, without any right.
        person: the same.
        session: which of theirs.
        is_fresh: the password or a passkey was given within ten minutes.
        must_enrol: this site wants a second step of them, and they have none yet.
        passkeys: they have one at least.
    """

    caller: Caller
    person: Person
    session: PersonSession
    is_fresh: bool
    must_enrol: bool
    passkeys: bool


class SessionBook:
    """The sessions of a store of people.

    Args:
        store: where they are kept.
        step_required: admins have no right before they have a second step.
    """

    def __init__(self, store: PeopleStore, *, step_required: bool) -> None:
        self._store = store
        self._step_required = step_required

    def begin(
        self,
        person: Person,
        place: str,
        agent: str,
        now: float,
        *,
        way: LoginWay = LoginWay.PASSWORD,
        fresh: float | None = None,
    ) -> str:
        """Return the token of a new session of somebody who has shown who they are.

        Args:
            person: who.
            place: address of the client.
            agent: its browser, as that calls itself.
            now: Unix seconds.
            way: by which they have shown it.
            fresh: when they did; None = now.
        """
        token = new_token()
        with self._store.transaction() as db:
            db.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    token_hash(token),
                    new_ident(),
                    person.id,
                    now,
                    now,
                    now if fresh is None else min(fresh, now),
                    cut(place),
                    cut(agent),
                    way,
                ),
            )
            db.execute("UPDATE person SET came = ? WHERE id = ?", (now, person.id))
            db.execute(
                "DELETE FROM session WHERE token IN (SELECT token FROM session WHERE person = ?"
                " ORDER BY made DESC, ident LIMIT -1 OFFSET ?)",
                (person.id, MOST),
            )
            db.execute("DELETE FROM session WHERE made < ?", (now - STAFF_S,))
        return token

    def caller_of(self, token: str, place: str, now: float) -> Caller | None:
        """Return who calls with a token; None = it is of no session, or of one that is over."""
        view = self.look(token, place, now)
        return None if view is None else view.caller

    def look(self, token: str, place: str, now: float) -> SessionView | None:
        """Return the session that a token is of, and note that it was used.

        Args:
            token: as it came; any text.
            place: address of the client now.
            now: Unix seconds.

        Raises:
            StoreError: the store can't be read.
        """
        hashed = token_hash(token)
        found = self._store.rows(
            f"SELECT {PERSON_COLUMNS}, {_KEYED}, {_COLUMNS} FROM session JOIN person"  # noqa: S608 - our own names
            " ON person.id = session.person WHERE session.token = ?",
            (hashed,),
        )
        if not found:
            return None
        person = self._store.person_of(found[0])
        session = _session(found[0][-_COUNT:])
        passkeys = bool(found[0][-_COUNT - 1])
        if person.state is not PersonState.ACTIVE or is_over(person, session, now):
            return None
        if now - session.last >= NOTED_S:
            with self._store.transaction() as db:
                db.execute("UPDATE session SET last = ? WHERE token = ?", (now, hashed))
        # who is vouched for by others has given what these ask
        ours = session.way is LoginWay.PASSWORD
        must_enrol = (
            ours
            and self._step_required
            and Role.ADMIN in person.roles
            and not person.totp
            and not passkeys
        )
        caller = with_roles(
            person.name,
            person.roles,
            person.scope,
            way=CallWay.PAGE,
            source=f"session={session.ident}",
            place=cut(place),
        )
        is_fresh = 0 <= now - session.fresh < FRESH_S
        rights = frozenset[Right]() if must_enrol else caller.rights
        caller = msgspec.structs.replace(caller, rights=rights, fresh=is_fresh)
        return SessionView(
            caller=caller,
            person=person,
            session=session,
            is_fresh=is_fresh,
            must_enrol=must_enrol,
            passkeys=passkeys,
        )

    def of(self, person: Person, now: float) -> list[PersonSession]:
        """Return the sessions of somebody that are not over, the newest first."""
        asked = f"SELECT {_COLUMNS} FROM session WHERE person = ? ORDER BY made DESC, ident"  # noqa: S608 - our own names
        found = [_session(row) for row in self._store.rows(asked, (person.id,))]
        return [session for session in found if not is_over(person, session, now)]

    def end(self, token: str) -> bool:
        """End the session of a token; return whether there was one."""
        with self._store.transaction() as db:
            ended = db.execute("DELETE FROM session WHERE token = ?", (token_hash(token),))
        return ended.rowcount > 0

    def end_named(self, person: Person, ident: str) -> None:
        """End one session of somebody.

        Raises:
            NoPersonError: they have none of that name.
        """
        with self._store.transaction() as db:
            ended = db.execute(
                "DELETE FROM session WHERE person = ? AND ident = ?", (person.id, ident)
            )
            if not ended.rowcount:
                raise NoPersonError(f"{person.name} has no session {ident[:100]!a}")

    def end_all(self, person: Person) -> int:
        """End all sessions of somebody; return how many there were."""
        with self._store.transaction() as db:
            return db.execute("DELETE FROM session WHERE person = ?", (person.id,)).rowcount

    def freshen(self, token: str, now: float) -> None:
        """Note that the password was given again in a session."""
        with self._store.transaction() as db:
            db.execute("UPDATE session SET fresh = ? WHERE token = ?", (now, token_hash(token)))


def is_over(person: Person, session: PersonSession, now: float) -> bool:
    """Whether a session has ended by itself; one from a time to come is as old as it can be."""
    idle, whole = (STAFF_IDLE_S, STAFF_S) if person.is_staff else (READER_S, READER_S)
    return not (abs(now - session.last) < idle and abs(now - session.made) < whole)


def cut(text: str) -> str:
    """Return what a client says of itself as it is kept: Unicode, printable, of some length."""
    kept = text[:TEXT].encode("utf-8", "backslashreplace").decode()[:TEXT]
    return "".join(letter if letter.isprintable() else "?" for letter in kept)


def _session(row: Any) -> PersonSession:
    return msgspec.convert(
        dict(zip(PersonSession.__struct_fields__, row, strict=True)), PersonSession
    )
