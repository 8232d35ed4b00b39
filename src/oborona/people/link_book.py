"""One-time links: who follows one sets a password, within a day, and once."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.people.device_book import DeviceBook
from oborona.people.password import hash_password
from oborona.people.person import Person, PersonState
from oborona.people.store import PERSON_COLUMNS, PeopleStore
from oborona.people.token import new_token, token_hash

LINK_S: Final = 86_400.0
PATH: Final = "/link/"  # of the console, before the token


class UsedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A password was set by a link.

    Args:
        person: whose.
        device: token of the browser, with which its login goes past what others failed.
    """

    person: Person
    device: str


class LinkBook:
    """The links of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def make(self, person: Person, now: float) -> str:
        """Return the token of a new link for somebody; earlier ones of theirs are void."""
        token = new_token()
        with self._store.transaction() as db:
            db.execute("DELETE FROM link WHERE person = ? OR until < ?", (person.id, now))
            db.execute(
                "INSERT INTO link VALUES (?, ?, ?)", (token_hash(token), person.id, now + LINK_S)
            )
        return token

    def person_of(self, token: str, now: float) -> Person | None:
        """Return who may set a password by a link; None = it is none, over, or was used.

        Raises:
            StoreError: the store can't be read.
        """
        found = self._store.rows(
            f"SELECT {PERSON_COLUMNS}, link.until FROM link JOIN person"  # noqa: S608 - our own names
            " ON person.id = link.person WHERE link.token = ?",
            (token_hash(token),),
        )
        if not found or not now < found[0][-1] <= now + LINK_S:
            return None
        person = self._store.person_of(found[0])
        return person if person.state is PersonState.ACTIVE else None

    def use(self, token: str, password: str, now: float) -> UsedLink | None:
        """Set the password of who follows a link; None = the link is none.

        Their sessions end, and so does the link.  They are not logged in: who has a second step
        gives its code.

        Args:
            token: as it came; any text.
            password: the new one.
            now: Unix seconds.

        Raises:
            PasswordError: it is not good enough; the link stays.
            CrowdError: too many passwords are looked at; the link stays.
            StoreError: the store can't be written; the link stays.
        """
        person = self.person_of(token, now)
        if person is None:
            return None
        kept = hash_password(password, person.name)
        with self._store.transaction() as db:
            used = db.execute("DELETE FROM link WHERE token = ?", (token_hash(token),))
            if not used.rowcount:  # somebody was faster
                return None
            self._store.set_password(person, kept, now)
            device = DeviceBook(self._store).know(person, "", now)
        return UsedLink(person=person, device=device)
