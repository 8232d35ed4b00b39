"""Tries to log in, as they are kept and shown to whose name was tried.

Tries that came within a wait were not looked at and are not kept: so that nobody fills the file, or
drives earlier ones out of it, faster than waits allow.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.people.login_way import LoginWay
from oborona.people.person import Person
from oborona.people.session_book import cut
from oborona.people.store import PeopleStore

TRIES_S: Final = 90 * 86_400.0  # so long they are kept
MAX_TRIES: Final = 100_000  # that are kept; then the oldest go
SHOWN: Final = 20


class AttemptOutcome(StrEnum):
    """What came of a try."""

    DONE = "done"
    WRONG = "wrong"
    CODE = "code"  # the password was right, and no code was given


class LoginTry(msgspec.Struct, frozen=True, kw_only=True):
    """A try to log in by a name.

    Args:
        at: Unix seconds.
        place: address of the client.
        agent: its browser, as that calls itself.
        way: by which it was tried.
    """

    at: float
    place: str
    agent: str
    outcome: AttemptOutcome
    way: LoginWay = LoginWay.PASSWORD


class AttemptBook:
    """The tries of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def add(
        self,
        person: Person | None,
        place: str,
        agent: str,
        outcome: AttemptOutcome,
        now: float,
        way: LoginWay = LoginWay.PASSWORD,
    ) -> None:
        """Keep a try.

        Args:
            person: whose name was tried; None = nobody's.  That is not kept: people type passwords
                where a name belongs.
            place: address of the client.
            agent: its browser, as that calls itself.
            outcome: what came of it.
            now: Unix seconds.
            way: by which it was tried.
        """
        with self._store.transaction() as db:
            added = db.execute(
                "INSERT INTO attempt (at, person, place, agent, outcome, way)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (now, None if person is None else person.id, cut(place), cut(agent), outcome, way),
            )
            db.execute(
                "DELETE FROM attempt WHERE at < ? OR id <= ?",
                (now - TRIES_S, (added.lastrowid or 0) - MAX_TRIES),
            )

    def of(self, person: Person, most: int = SHOWN) -> list[LoginTry]:
        """Return the last tries by somebody's name, the newest first."""
        found = self._store.rows(
            "SELECT at, place, agent, outcome, way FROM attempt WHERE person = ?"
            " ORDER BY at DESC, id DESC LIMIT ?",
            (person.id, most),
        )
        return [
            LoginTry(
                at=at, place=place, agent=agent, outcome=AttemptOutcome(outcome), way=LoginWay(way)
            )
            for at, place, agent, outcome, way in found
        ]
