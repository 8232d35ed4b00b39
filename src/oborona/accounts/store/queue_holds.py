"""Messages that are held because their account is banned, in the file of accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oborona.accounts.account import AccountBlock, AccountState
from oborona.accounts.queue_holds import QueueHold
from oborona.accounts.store.accounts import AccountStore


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


def queue_holds(store: AccountStore) -> list[QueueHold]:
    """Return what is written down."""
    return [
        QueueHold(queue_id=queue_id, since=since, account=account, seen=bool(seen))
        for queue_id, since, account, seen in store.rows(
            "SELECT queue_id, since, account, seen FROM queue_hold ORDER BY queue_id", ()
        )
    ]


def put_queue_holds(store: AccountStore, holds: Sequence[QueueHold]) -> None:
    """Write down messages, in place of what was written of their ids."""
    with store.transaction() as db:
        db.executemany(
            "INSERT OR REPLACE INTO queue_hold VALUES (?, ?, ?, ?)",
            [(hold.queue_id, hold.since, hold.account, hold.seen) for hold in holds],
        )


def drop_queue_holds(store: AccountStore, queue_ids: Sequence[str]) -> None:
    """Drop what is written of messages."""
    with store.transaction() as db:
        db.executemany("DELETE FROM queue_hold WHERE queue_id = ?", [(one,) for one in queue_ids])
