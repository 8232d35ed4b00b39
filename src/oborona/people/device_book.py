"""Browsers from which somebody has logged in before: they go past what others fail."""

from __future__ import annotations

from typing import Final

from oborona.people.person import Person
from oborona.people.store import PeopleStore
from oborona.people.token import new_token, token_hash

DEVICE_S: Final = 180 * 86_400.0  # a browser that did not come for so long is a stranger
MOST: Final = 20  # of a person; then the one goes that did not come for longest


class DeviceBook:
    """The known browsers of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def is_known(self, device: str, person: Person | None) -> bool:
        """Whether this person has logged in from a browser with this token.

        Args:
            device: as it came; any text.
            person: who; None = nobody, which is looked for all the same and costs the same.
        """
        asked = "SELECT 1 FROM device WHERE token = ? AND person = ?"
        return bool(
            self._store.rows(asked, (token_hash(device), 0 if person is None else person.id))
        )

    def know(self, person: Person, before: str, now: float) -> str:
        """Return a new token for a browser, in place of that which it came with.

        Args:
            person: who has shown who they are by it.
            before: the token that it came with; empty = none.
            now: Unix seconds.
        """
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
                (person.id, MOST),
            )
        return device
