"""What another system hears of an account's state: written in the transaction that changes it."""

from __future__ import annotations

import sqlite3

import msgspec

from oborona.accounts.account import AccountBlock, AccountState


class HookBody(msgspec.Struct, frozen=True, kw_only=True):
    """What an account may do from now on; a later word on the same account replaces it."""

    account: str
    state: AccountState
    networks: list[str]  # of its machines; relays and mail exchangers are left out
    reason: str
    until: float  # Unix seconds, when the state ends by itself; 0 = it does not
    incident: int  # 0 = a person did it
    at: float  # Unix seconds


def put_hook(db: sqlite3.Connection, account: str, block: AccountBlock | None, now: float) -> None:
    """Have other systems told, by a post and by a command; within a transaction.

    Args:
        db: of the file of accounts.
        account: whose state has changed.
        block: its state; None = it is open.
        now: Unix seconds.
    """
    networks = db.execute(
        "SELECT network FROM network WHERE account = ? AND role NOT IN ('relay', 'mx')"
        " ORDER BY network",
        (account,),
    ).fetchall()
    body = HookBody(
        account=account,
        state=AccountState.OPEN if block is None else block.state,
        networks=[network for (network,) in networks],
        reason="" if block is None else block.why,
        until=0.0 if block is None else block.until,
        incident=0 if block is None else block.incident,
        at=now,
    )
    # a later word on an account says it all
    db.execute(
        "UPDATE action SET state = 'skipped' WHERE target = ? AND kind IN ('hook', 'command')"
        " AND state = 'wanted'",
        (account,),
    )
    incident = None if block is None else block.incident or None
    written = msgspec.json.encode(body).decode()
    db.executemany(
        "INSERT INTO action VALUES (NULL, ?, ?, ?, 'wanted', ?, 0, '', ?, 0, 0, '')",
        [(incident, kind, account, now, written) for kind in ("hook", "command")],
    )
