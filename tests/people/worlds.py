"""People for tests: a store with some of them, and a password that is hashed once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from oborona.people.login_book import LoggedIn, LoginBook, LoginRefused
from oborona.people.password import hash_password
from oborona.people.person import Person
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.step_book import StepBook
from oborona.people.store import PeopleStore, new_person

NOW = 1_800_000_000.0
PASSWORD = "correct horse battery"
PLACE = "192.0.2.7"


@cache
def password_hash() -> str:
    return hash_password(PASSWORD, "")


class PeopleWorld:
    """A store, and its books."""

    def __init__(self, folder: Path, *, step_required: bool = False) -> None:
        self.path = folder / "people.db"
        self.store = PeopleStore(self.path)
        self.sessions = SessionBook(self.store, step_required=step_required)
        self.logins = LoginBook(self.store, self.sessions)
        self.steps = StepBook(self.store)

    def add(
        self,
        name: str,
        *roles: Role,
        domains: Iterable[str] = (),
        addresses: Iterable[str] = (),
        password: bool = True,
    ) -> Person:
        person = self.store.add(
            new_person(
                name,
                roles=frozenset(roles),
                domains=frozenset(domains),
                addresses=frozenset(addresses),
                language="en",
                made_by="root",
                now=NOW,
            )
        )
        if password:
            self.store.set_password(person, password_hash(), NOW)
        return self.store.named(name)

    def log_in(
        self,
        name: str,
        password: str = PASSWORD,
        *,
        code: str = "",
        place: str = PLACE,
        device: str = "",
        now: float = NOW,
    ) -> LoggedIn | LoginRefused:
        return self.logins.log_in(name, password, code, place, "curl/8", device, now)

    def logged_in(self, name: str, **how: object) -> LoggedIn:
        answer = self.log_in(name, **how)  # type: ignore[arg-type]
        assert isinstance(answer, LoggedIn), answer
        return answer

    def refused(self, name: str, password: str = PASSWORD, **how: object) -> LoginRefused:
        answer = self.log_in(name, password, **how)  # type: ignore[arg-type]
        assert isinstance(answer, LoginRefused), answer
        return answer
