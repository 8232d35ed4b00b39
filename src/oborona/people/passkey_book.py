"""Passkeys: keys that authenticators of people hold, kept by what is public of them."""

from __future__ import annotations

import secrets
from typing import Final

import msgspec

from oborona.people.person import NoPersonError, PeopleError, Person
from oborona.people.store import PERSON_COLUMNS, PeopleStore
from oborona.people.token import new_ident

MOST: Final = 20  # of a person
LONGEST_NAME: Final = 60  # letters
MAX_CREDENTIAL: Final = 1023  # octets of what an authenticator calls a key (WebAuthn, section 4)
_HANDLE: Final = 32  # random octets: nothing of who somebody is goes to an authenticator
_COLUMNS: Final = (
    "passkey.ident, passkey.name, passkey.made, passkey.last, passkey.credential,"
    " passkey.handle, passkey.public_key, passkey.signed"
)
_COUNT: Final = len(_COLUMNS.split(","))


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey.

    Args:
        ident: names it in lists.
        name: that its person gave it.
        made: Unix seconds; so is the next.
        last: when it was used; 0 = never.
        credential: what its authenticator calls it.
        handle: as its authenticator knows its person.
        public_key: in COSE.
        signed: how often it has signed, as it counts; 0 = it does not count.
    """

    ident: str
    name: str
    made: float
    last: float
    credential: bytes
    handle: bytes
    public_key: bytes
    signed: int


class PasskeyBook:
    """The passkeys of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def of(self, person: Person) -> list[Passkey]:
        """Return those of somebody, the oldest first."""
        asked = f"SELECT {_COLUMNS} FROM passkey WHERE person = ? ORDER BY made, ident"  # noqa: S608 - our own names
        return [_passkey(row) for row in self._store.rows(asked, (person.id,))]

    def handle_of(self, person: Person) -> bytes:
        """Return as what authenticators know somebody, or are to know them from now on."""
        found = self.of(person)
        return found[0].handle if found else secrets.token_bytes(_HANDLE)

    def found(self, credential: bytes) -> tuple[Person, Passkey] | None:
        """Return the passkey that an authenticator calls so, and whose it is."""
        found = self._store.rows(
            f"SELECT {PERSON_COLUMNS}, {_COLUMNS} FROM passkey JOIN person"  # noqa: S608 - our own names
            " ON person.id = passkey.person WHERE passkey.credential = ?",
            (credential,),
        )
        if not found:
            return None
        return self._store.person_of(found[0]), _passkey(found[0][-_COUNT:])

    def add(
        self,
        person: Person,
        name: str,
        credential: bytes,
        handle: bytes,
        public_key: bytes,
        signed: int,
        now: float,
    ) -> Passkey:
        """Keep a new passkey of somebody.

        Raises:
            PeopleError: it is known already, there are too many, or the name can be none.
        """
        made = Passkey(
            ident=new_ident(), name=checked_passkey_name(name), made=now, last=0.0,
            credential=credential, handle=handle, public_key=public_key, signed=signed,
        )  # fmt: skip
        with self._store.transaction() as db:
            if self.found(credential) is not None:
                raise PeopleError("this passkey is known already")
            if len(self.of(person)) >= MOST:
                raise PeopleError(f"there are {MOST} passkeys; remove one first")
            db.execute(
                "INSERT INTO passkey VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (credential, made.ident, person.id, handle, public_key, signed, made.name, now),
            )
        return made

    def used(self, passkey: Passkey, signed: int, now: float) -> bool:
        """Note that a passkey has signed; return whether nobody was faster with that count."""
        with self._store.transaction() as db:
            done = db.execute(
                "UPDATE passkey SET signed = ?, last = ? WHERE credential = ? AND signed = ?",
                (signed, now, passkey.credential, passkey.signed),
            )
        return done.rowcount > 0

    def remove(self, person: Person, ident: str) -> Passkey:
        """Remove one of somebody's, and return it.

        Raises:
            NoPersonError: they have none of that name.
        """
        with self._store.transaction() as db:
            found = [one for one in self.of(person) if one.ident == ident]
            if not found:
                raise NoPersonError(f"{person.name} has no passkey {ident[:100]!a}")
            db.execute("DELETE FROM passkey WHERE credential = ?", (found[0].credential,))
        return found[0]

    def remove_all(self, person: Person) -> int:
        """Remove all of somebody's; return how many there were."""
        with self._store.transaction() as db:
            return db.execute("DELETE FROM passkey WHERE person = ?", (person.id,)).rowcount


def has_passkeys(store: PeopleStore, person: Person) -> bool:
    """Whether somebody has one at least."""
    return bool(store.rows("SELECT 1 FROM passkey WHERE person = ? LIMIT 1", (person.id,)))


def checked_passkey_name(text: str) -> str:
    """Return the name of a passkey.

    Raises:
        PeopleError: it can be none.
    """
    name = " ".join(text.split()) if len(text) <= 4 * LONGEST_NAME else text
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise PeopleError(f"a passkey has a name of at most {LONGEST_NAME} letters")
    return name


def _passkey(row: tuple[object, ...]) -> Passkey:
    return msgspec.convert(dict(zip(Passkey.__struct_fields__, row, strict=True)), Passkey)
