"""API keys: programs that call for a person, with at most what that person may at that time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from oborona.people.caller import Caller, CallWay, Scope
from oborona.people.person import NoPersonError, PeopleError, Person, PersonState
from oborona.people.rights import Right
from oborona.people.session_book import cut
from oborona.people.store import PERSON_COLUMNS, PeopleStore
from oborona.people.token import KEY_PREFIX, new_key, token_hash

LONGEST_S: Final = 400 * 86_400.0
MOST: Final = 50  # of a person
MAX_NAME: Final = 60
NOTED_S: Final = 60.0  # that a key was used is written this often
_COLUMNS: Final = (
    "api_key.name, api_key.rights, api_key.domains, api_key.made, api_key.until, api_key.last,"
    " api_key.place"
)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as lists show it.

    Args:
        person: whose it is.
        name: what it is for.
        rights: what it may, where its maker may it, too; rights of a newer Oborona are left out.
        domains: what narrows it; empty = its maker's scope alone.
        made: Unix seconds; so are the next two.
        until: when it ends.
        last: when it was used, to the minute; 0 = never.
        place: from where.
    """

    person: str
    name: str
    rights: frozenset[Right]
    domains: frozenset[str]
    made: float
    until: float
    last: float
    place: str


class KeyBook:
    """The keys of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def add(
        self,
        person: Person,
        name: str,
        *,
        rights: Iterable[Right],
        domains: frozenset[str],
        until: float,
        now: float,
    ) -> str:
        """Make a key and return it: it is shown once.

        Args:
            person: for whom it calls.
            name: what it is for.
            rights: what it may; all of them the person's.
            domains: what narrows it; empty = nothing does.
            until: when it ends, Unix seconds.
            now: Unix seconds.

        Raises:
            PeopleError: it can't be: its name, its end, a right that the person has not.
        """
        wanted = frozenset(rights)
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or not name.strip():
            raise PeopleError(f"a key has a name of at most {MAX_NAME} letters: what it is for")
        if not now < until <= now + LONGEST_S:
            raise PeopleError(f"a key ends within {LONGEST_S / 86_400:.0f} days")
        if not wanted:
            raise PeopleError("a key has one right at least")
        if beyond := sorted(wanted - person.rights):
            raise PeopleError(f"{person.name} has no right {', '.join(beyond)} to give to a key")
        theirs = person.scope.domains
        if theirs is not None and (more := sorted(domains - theirs)):
            raise PeopleError(f"{', '.join(more)}: beyond what {person.name} may see")
        key = new_key()
        with self._store.transaction() as db:
            (number,) = db.execute(
                "SELECT count(*) FROM api_key WHERE person = ?", (person.id,)
            ).fetchone()
            if number >= MOST:
                raise PeopleError(f"{person.name} has {MOST} keys; remove one first")
            row = (
                token_hash(key), person.id, name, " ".join(sorted(wanted)),
                " ".join(sorted(domains)), now, until, 0.0, "",
            )  # fmt: skip
            added = db.execute(
                "INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row
            )
            if not added.rowcount:
                raise PeopleError(f"{person.name} has a key {name!a} already")
        return key

    def caller_of(self, key: str, place: str, now: float) -> Caller | None:
        """Return who calls with a key; None = there is none such, or it is over.

        Args:
            key: as it came; any text.
            place: address of the client.
            now: Unix seconds.

        Raises:
            StoreError: the store can't be read.
        """
        if not key.startswith(KEY_PREFIX):
            return None
        hashed = token_hash(key)
        found = self._store.rows(
            f"SELECT {PERSON_COLUMNS}, {_COLUMNS} FROM api_key JOIN person"  # noqa: S608 - our own names
            " ON person.id = api_key.person WHERE api_key.token = ?",
            (hashed,),
        )
        if not found:
            return None
        person = self._store.person_of(found[0])
        api_key = _key(person.name, found[0][-7:])
        if person.state is not PersonState.ACTIVE or not api_key.made <= now < api_key.until:
            return None
        if not 0 <= now - api_key.last < NOTED_S:
            with self._store.transaction() as db:
                db.execute(
                    "UPDATE api_key SET last = ?, place = ? WHERE token = ?",
                    (now, cut(place), hashed),
                )
        return Caller(
            name=f"{person.name}/{api_key.name}",
            roles=person.roles,
            rights=api_key.rights & person.rights,
            scope=narrowed(person.scope, api_key.domains),
            way=CallWay.KEY,
            source=f"key={api_key.name}",
            place=cut(place),
        )

    def all(self) -> list[ApiKey]:
        """Return all keys, those that are over too, by person and name."""
        asked = (
            f"SELECT person.name, {_COLUMNS} FROM api_key JOIN person"  # noqa: S608 - our own names
            " ON person.id = api_key.person ORDER BY person.name, api_key.name"
        )
        return [_key(row[0], row[1:]) for row in self._store.rows(asked)]

    def remove(self, person: Person, name: str) -> None:
        """Remove a key of somebody.

        Raises:
            NoPersonError: they have none of that name.
        """
        with self._store.transaction() as db:
            removed = db.execute(
                "DELETE FROM api_key WHERE person = ? AND name = ?", (person.id, name)
            )
            if not removed.rowcount:
                raise NoPersonError(f"{person.name} has no key {name[:100]!a}")


def narrowed(scope: Scope, domains: frozenset[str]) -> Scope:
    """Return what of a scope lies within some domains; all of it where none is named."""
    if not domains:
        return scope
    return Scope(
        domains=domains if scope.domains is None else scope.domains & domains,
        addresses=frozenset(
            address for address in scope.addresses if address.rpartition("@")[2] in domains
        ),
    )


def _key(person: str, row: Any) -> ApiKey:
    name, rights, domains, made, until, last, place = row
    known = {right.value: right for right in Right}
    return ApiKey(
        person=person,
        name=name,
        rights=frozenset(known[right] for right in str(rights).split() if right in known),
        domains=frozenset(str(domains).split()),
        made=made,
        until=until,
        last=last,
        place=place,
    )
