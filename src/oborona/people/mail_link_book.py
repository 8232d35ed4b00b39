"""Links that are sent to mailboxes: who opens one has the mailbox; for a quarter of an hour, once.

How many are sent counts for the address, whether or not it has a mailbox here, and for the network
that asks: so that nobody fills a mailbox, or finds out which there are.
"""

from __future__ import annotations

import secrets
import sqlite3
from typing import Final

from oborona.people.store import PeopleStore
from oborona.people.token import token_hash
from oborona.people.wait import network_of

LINK_S: Final = 900.0
PERIOD_S: Final = 3600.0
MOST: Final = 10  # that are sent within a period, to an address or for a network
MAX_LINKS: Final = 10_000  # that are open; then the oldest go
_BYTES: Final = 16  # 128 random bits


class MailLinkBook:
    """The mailed links of a store of people.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: PeopleStore) -> None:
        self._store = store

    def charge(self, address: str, place: str, now: float) -> float:
        """Count that a link is asked for; return how long one has to wait for that, 0 = not.

        Args:
            address: of a mailbox, in its normal form.
            place: address of the client.
            now: Unix seconds.
        """
        keys = [
            token_hash(f"mailing {text.encode('unicode_escape').decode()}"[:200])
            for text in (f"address {address}", f"network {network_of(place)}")
        ]
        with self._store.transaction() as db:
            db.execute("DELETE FROM mailing WHERE at <= ? OR at > ?", (now - PERIOD_S, now))
            waits = max(_wait(db, key, now) for key in keys)
            if waits <= 0:
                db.executemany(
                    "INSERT INTO mailing (whose, at) VALUES (?, ?)", [(key, now) for key in keys]
                )
        return max(waits, 0.0)

    def make(self, address: str, now: float) -> str:
        """Return the token of a new link for a mailbox."""
        token = secrets.token_urlsafe(_BYTES)
        with self._store.transaction() as db:
            db.execute("DELETE FROM mail_link WHERE until <= ?", (now,))
            db.execute(
                "INSERT INTO mail_link VALUES (?, ?, ?)",
                (token_hash(token), address, now + LINK_S),
            )
            db.execute(
                "DELETE FROM mail_link WHERE token IN (SELECT token FROM mail_link"
                " ORDER BY until DESC, token LIMIT -1 OFFSET ?)",
                (MAX_LINKS,),
            )
        return token

    def use(self, token: str, now: float) -> str:
        """Use a link up; return the address of its mailbox, empty = it is none, too old, or used.

        Args:
            token: as it came; any text.
            now: Unix seconds.
        """
        hashed = token_hash(token)
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT address, until FROM mail_link WHERE token = ?", (hashed,)
            ).fetchone()
            db.execute("DELETE FROM mail_link WHERE token = ?", (hashed,))
        return str(row[0]) if row and now < row[1] <= now + LINK_S else ""


def _wait(db: sqlite3.Connection, key: bytes, now: float) -> float:
    """Return how long it is until one more may be sent."""
    times = db.execute(
        "SELECT at FROM mailing WHERE whose = ? ORDER BY at DESC LIMIT ?", (key, MOST)
    ).fetchall()
    return float(times[-1][0]) + PERIOD_S - now if len(times) >= MOST else 0.0
