"""People as they are kept: added, changed, looked up, forgotten.

Sessions, keys and logins are kept in the same file by `session_book`, `key_book`, `link_book` and
`login_book`, each over one of these.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.people.person import NoPersonError, PeopleError, Person, PersonState
from oborona.people.rights import Role
from oborona.people.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

MAX_PEOPLE: Final = 100_000
COLUMNS: Final = (
    "id, name, password, roles, domains, addresses, language, state, totp, made, password_at,"
    " came, made_by"
)
_COUNT: Final = len(COLUMNS.split(","))
PERSON_COLUMNS: Final = ", ".join(f"person.{column.strip()}" for column in COLUMNS.split(","))
"""Those of a question that joins other tables."""
_THEIRS: Final = (
    "session", "link", "device", "api_key", "attempt", "outside", "passkey", "challenge",
)  # fmt: skip
_GIVEN: Final = ("roles", "domains", "addresses", "language", "state")  # others say what these are


class LastAdminError(PeopleError):
    """Nobody would be left who can give roles."""


class PeopleStore(SharedSqliteFile):
    """An open store of people; any number of threads and processes may use it.

    Args:
        path: its file; the folder exists.
        make: begin one where there is none.

    Raises:
        StoreError: as of `SharedSqliteFile`.
    """

    shared = SHARED

    def __init__(self, path: Path, *, make: bool = True) -> None:
        super().__init__(path, make=make)
        self._turn = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written within, or nothing; no other thread uses the store meanwhile."""
        with self._turn, super().transaction() as db:
            yield db

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return all rows of a question, of the file that is in place now."""
        with self._turn:
            if not self._db.in_transaction and not self._file.in_place():
                with super().transaction():  # opens the one that is
                    pass
            return super().rows(sql, values)

    def add(self, person: Person) -> Person:
        """Add somebody, and return them with their id.

        Raises:
            PeopleError: there is somebody of that name, or there are too many.
        """
        with self.transaction() as db:
            if self.find(person.name) is not None:
                raise PeopleError(f"there is somebody called {person.name} already")
            (number,) = db.execute("SELECT count(*) FROM person").fetchone()
            if number >= MAX_PEOPLE:
                raise PeopleError(f"there are {number} people, and more are not kept")
            row = _values(person)[1:]
            cursor = db.execute(
                f"INSERT INTO person ({COLUMNS}, totp_new, totp_step)"  # noqa: S608 - our own names
                f" VALUES (NULL{', ?' * len(row)}, '', 0)",
                row,
            )
            assert cursor.lastrowid is not None
            return msgspec.structs.replace(person, id=cursor.lastrowid)

    def find(self, name: str) -> Person | None:
        """Return the person of a name in its normal form; None = there is none."""
        return self._one("name = ?", name)

    def of(self, ident: int) -> Person | None:
        """Return the person of an id; None = there is none any more."""
        return self._one("id = ?", ident)

    def named(self, name: str) -> Person:
        """Return the person of a name in its normal form.

        Raises:
            NoPersonError: there is none.
        """
        person = self.find(name)
        if person is None:
            raise NoPersonError(f"there is nobody called {name[:100]!a}")
        return person

    def all(self) -> list[Person]:
        """Return everybody, by name."""
        asked = f"SELECT {COLUMNS} FROM person ORDER BY name"  # noqa: S608 - our own names
        return [self.person_of(row) for row in self.rows(asked)]

    def has_admin(self) -> bool:
        """Whether there is somebody who can log in and give roles."""
        return any(person.keeps_site for person in self.all())

    def change(self, person: Person, *, ends: bool) -> None:
        """Keep what a person may and whether they may log in, as they have it now.

        Args:
            person: who is there; what else is kept of them stays.
            ends: all their sessions end.

        Raises:
            LastAdminError: nobody would be left who gives roles.
            NoPersonError: they are gone.
        """
        with self.transaction() as db:
            before = self.of(person.id)
            if before is None:
                raise NoPersonError(f"{person.name} is gone meanwhile")
            changed = {column: getattr(person, column) for column in _GIVEN}
            self._keep_admin(before, msgspec.structs.replace(before, **changed))
            db.execute(
                f"UPDATE person SET {', '.join(f'{column} = ?' for column in _GIVEN)} WHERE id = ?",  # noqa: S608 - our own names
                (*(_value(value) for value in changed.values()), person.id),
            )
            if ends:
                self._end_all(db, person.id, "session")

    def void_password(self, person: Person) -> None:
        """Take a password away, with all that it opened: sessions, links, known devices."""
        with self.transaction() as db:
            db.execute("UPDATE person SET password = '' WHERE id = ?", (person.id,))
            self._end_all(db, person.id, "session", "link", "device", "challenge")

    def set_password(self, person: Person, kept: str, now: float) -> None:
        """Keep a new password, which ends all that the old one opened."""
        with self.transaction() as db:
            db.execute(
                "UPDATE person SET password = ?, password_at = ? WHERE id = ?",
                (kept, now, person.id),
            )
            self._end_all(db, person.id, "session", "link", "device", "challenge")

    def drop_step(self, person: Person) -> None:
        """Take the codes of somebody away."""
        with self.transaction() as db:
            db.execute("UPDATE person SET totp = '', totp_new = '' WHERE id = ?", (person.id,))

    def forget(self, person: Person) -> None:
        """Drop a person and all that is kept of them here.

        Raises:
            LastAdminError: nobody would be left who gives roles.
        """
        with self.transaction() as db:
            before = self.of(person.id)
            if before is not None:
                self._keep_admin(before, None)
            self._end_all(db, person.id, *_THEIRS)
            db.execute("DELETE FROM person WHERE id = ?", (person.id,))

    def person_of(self, row: Sequence[Any]) -> Person:
        """Return a person out of the columns `COLUMNS`.

        Raises:
            StoreError: somebody wrote what can't be.
        """
        fields = list(row[:_COUNT])
        try:
            fields[3:6] = (frozenset(str(field).split()) for field in fields[3:6])
            pairs = zip(Person.__struct_fields__, fields, strict=True)
            return msgspec.convert(dict(pairs), Person)
        except msgspec.ValidationError as error:
            raise StoreError(
                f"{self.path}: what is kept of person {row[0]} was changed, or written by a newer "
                f"Oborona ({error})"
            ) from error

    def _one(self, where: str, value: object) -> Person | None:
        asked = f"SELECT {COLUMNS} FROM person WHERE {where}"  # noqa: S608 - our own names
        found = self.rows(asked, (value,))
        return self.person_of(found[0]) if found else None

    def _keep_admin(self, before: Person, after: Person | None) -> None:
        """Refuse to lose the last one who gives roles."""
        if not before.keeps_site or (after is not None and after.keeps_site):
            return
        if not any(other.keeps_site for other in self.all() if other.id != before.id):
            raise LastAdminError(
                f"{before.name} is the last admin who can log in; give another one the role first"
            )

    def _end_all(self, db: sqlite3.Connection, person: int, *tables: str) -> None:
        for table in tables:
            db.execute(f"DELETE FROM {table} WHERE person = ?", (person,))  # noqa: S608 - our own names


def new_person(
    name: str,
    *,
    roles: frozenset[Role],
    domains: frozenset[str],
    addresses: frozenset[str],
    language: str,
    made_by: str,
    now: float,
) -> Person:
    """Return somebody who is not kept yet, and has no password."""
    return Person(
        id=0, name=name, password="", roles=roles, domains=domains, addresses=addresses,
        language=language, state=PersonState.ACTIVE, totp="", made=now, password_at=0.0, came=0.0,
        made_by=made_by,
    )  # fmt: skip


def _values(person: Person) -> tuple[Any, ...]:
    """Return a person as their row has them."""
    return tuple(_value(value) for value in msgspec.structs.astuple(person))


def _value(value: Any) -> Any:
    return " ".join(sorted(value)) if isinstance(value, frozenset) else value
