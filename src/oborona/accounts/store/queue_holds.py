"""Messages that are held because their account is banned: the file of one machine, for they lie in
its own mail server's queue.

A ban is common to the machines of a site; what it holds is written down before it is held, and is
let go, whether the others can be reached or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.accounts.account import AccountBlock, AccountState
from oborona.accounts.queue_holds import QueueHold
from oborona.accounts.store.accounts import AccountStore
from oborona.sqlite_file import SharedSqliteFile, SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425148  # "OBQH"
MIGRATIONS: Final = (
    (
        """
        CREATE TABLE queue_hold (
            queue_id TEXT PRIMARY KEY,    -- of the mail server
            since REAL NOT NULL,          -- when the message came, Unix seconds
            account TEXT NOT NULL,        -- may be forgotten: then the message is let go
            seen INTEGER NOT NULL         -- 1: it was on hold
        ) WITHOUT ROWID
        """,
        # what an older Oborona has written into the file of accounts is here
        "CREATE TABLE taken_over (done INTEGER NOT NULL)",
        "INSERT INTO taken_over VALUES (0)",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of messages held by bans"),
    absent="no ban has held a message yet",
    left="; what is on hold stays so until a person lets it go",
    each=("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"),
)
_PUT: Final = "INSERT OR REPLACE INTO queue_hold VALUES (?, ?, ?, ?)"
_ALL: Final = "SELECT queue_id, since, account, seen FROM queue_hold ORDER BY queue_id"


class QueueHoldStore(SharedSqliteFile):
    """One process's access to the file of a state folder; see `SharedSqliteFile`.

    Args:
        path: the file; that of accounts is beside it.
    """

    shared = SHARED

    def __init__(self, path: Path, *, make: bool = True) -> None:
        super().__init__(path, make=make)
        if self.rows("SELECT 1 FROM taken_over WHERE done = 0"):
            self._take_over(path.with_name(state_files.ACCOUNTS))

    def holds(self) -> list[QueueHold]:
        """Return what is written down."""
        return _holds(self)

    def put(self, holds: Sequence[QueueHold]) -> None:
        """Write down messages, in place of what was written of their ids."""
        rows = [(hold.queue_id, hold.since, hold.account, hold.seen) for hold in holds]
        with self.transaction() as db:
            db.executemany(_PUT, rows)

    def drop(self, queue_ids: Sequence[str]) -> None:
        """Drop what is written of messages."""
        with self.transaction() as db:
            db.executemany(
                "DELETE FROM queue_hold WHERE queue_id = ?", [(one,) for one in queue_ids]
            )

    def _take_over(self, accounts: Path) -> None:
        """Take over what was held before each machine had a file of it, once."""
        known = []
        if accounts.exists():
            with AccountStore(accounts, make=False) as store:
                known = store.rows(_ALL)
        with self.transaction() as db:
            if db.execute("UPDATE taken_over SET done = 1 WHERE done = 0").rowcount:
                db.executemany(_PUT, known)


def queue_holds(state: Path) -> list[QueueHold]:
    """Return what is written down in a state folder.

    Raises:
        StoreError: it can't be read.
    """
    path, accounts = state / state_files.QUEUE_HOLDS, state / state_files.ACCOUNTS
    if path.exists():
        with QueueHoldStore(path, make=False) as store:
            return store.holds()
    if accounts.exists():  # where an older Oborona has them
        with AccountStore(accounts, make=False) as store:
            return _holds(store)
    return []


def banned_logins(blocks: Mapping[str, AccountBlock], now: float) -> dict[str, str]:
    """Return the accounts that are banned at Unix time `now`, by login in lower case.

    Args:
        blocks: as of `AccountStore.blocked`.
        now: Unix seconds.
    """
    return {
        login: block.account
        for login, block in blocks.items()
        if block.state is AccountState.BANNED and block.in_force(now)
    }


def _holds(store: SharedSqliteFile) -> list[QueueHold]:
    return [
        QueueHold(queue_id=queue_id, since=since, account=account, seen=bool(seen))
        for queue_id, since, account, seen in store.rows(_ALL)
    ]
