"""Orders that were given with a key of their own: one that comes again is answered, and not done
again.

    desk.db    orders   (person, key) → the call, what it was told, and its answer when it was done

An order that was begun and never ended was killed: whether it was done is not known, so that it is
not done again; the audit log has how far it came.
"""

from __future__ import annotations

import hashlib
import time
from typing import Final

from oborona.desk.call import CallError
from oborona.sqlite_file import SharedSqliteFile, SqliteFileKind, SqliteFormat

KEEP_S: Final = 86_400.0
LONGEST_KEY: Final = 100  # letters
APPLICATION_ID: Final = 0x4F42444B  # "OBDK"
MIGRATIONS: Final = (
    (
        """
        CREATE TABLE orders (
            person TEXT NOT NULL,
            key TEXT NOT NULL,
            call TEXT NOT NULL,
            told BLOB NOT NULL,         -- a hash of what it was told
            begun REAL NOT NULL,        -- Unix seconds
            answer BLOB,                -- JSON; NULL = it has not ended
            PRIMARY KEY (person, key)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX orders_begun ON orders (begun)",
    ),
)
KIND: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a book of orders"),
    absent="no order was given here yet",
    left=", which knows no order that was given before",
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"),
)


class OrderConflict(CallError):  # noqa: N818 - reads as what happened
    """An order with this key was given before, and is another one, or has no end."""

    status = 409


class OrderBook(SharedSqliteFile):
    """The book of orders of a site; the file is closed by `close`."""

    shared = KIND

    def begin(self, person: str, key: str, call: str, told: bytes) -> bytes | None:
        """Write that an order begins; return the answer where it was done before.

        Args:
            person: who gives it.
            key: their own name of it.
            call: what is to be done.
            told: with what, as it came.

        Raises:
            OrderConflict: it was begun and has no end, or the key was another order's.
            CallError: the key is no key.
            StoreError: it can't be written.
        """
        if len(key) > LONGEST_KEY:
            raise CallError(f"key: at most {LONGEST_KEY} letters")
        digest = hashlib.blake2b(told, digest_size=32).digest()
        with self.transaction() as db:
            db.execute("DELETE FROM orders WHERE begun < ?", (time.time() - KEEP_S,))
            found = db.execute(
                "SELECT call, told, answer FROM orders WHERE person = ? AND key = ?", (person, key)
            ).fetchone()
            if found is None:
                db.execute(
                    "INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL)",
                    (person, key, call, digest, time.time()),
                )
                return None
        if (found[0], found[1]) != (call, digest):
            raise OrderConflict("key: it was another order's")
        if found[2] is None:
            raise OrderConflict(
                "this order was begun and has no end yet; where it was killed, the audit log has "
                "how far it came"
            )
        return bytes(found[2])

    def end(self, person: str, key: str, answer: bytes) -> None:
        """Write what an order was answered.

        Raises:
            StoreError: it can't be written.
        """
        with self.transaction() as db:
            db.execute(
                "UPDATE orders SET answer = ? WHERE person = ? AND key = ?", (answer, person, key)
            )

    def drop(self, person: str, key: str) -> None:
        """Take out an order of which nothing was done, so that it can be given again.

        Raises:
            StoreError: it can't be written.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM orders WHERE person = ? AND key = ?", (person, key))
