"""Accounts: who they are, whom people trust, and whose mail is not taken; any number of processes
use one file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from oborona.accounts.account import (
    Account,
    AccountBlock,
    AccountRecord,
    AccountState,
    Trust,
)
from oborona.accounts.store.hook_outbox import put_hook
from oborona.accounts.store.records import put_record, read_accounts
from oborona.accounts.store.rows import (
    BLOCK_COLUMNS,
    CHANGED,
    SENDING_COLUMNS,
    AccountDeed,
    DeedKind,
    FollowedChanges,
    block_of,
    sending_account_of,
)
from oborona.accounts.store.schema import SHARED
from oborona.accounts.waiting_blocks import WaitingBlocks, with_waiting
from oborona.errors import StoreError
from oborona.stores.followed_store import FollowedStore

MAX_REASON: Final = 200  # characters: it is told in a line of SMTP
OF_ACCOUNT: Final = (
    "login", "network", "network_time", "registration", "penalty", "rating_change", "incident", "deed",
    "answer",
)  # fmt: skip
"""Tables that go with an account."""
_BLOCK: Final = (
    "UPDATE account SET state = ?, state_until = ?, state_why = ?, state_by = ?, incident = ?"
    " WHERE id = ?"
)
_TRUST: Final = (
    "UPDATE account SET trusted_by = ?, trusted_at = ?, trusted_until = ?, trusted_why = ?,"  # noqa: S608 - a literal
    f" changed = {CHANGED} WHERE id = ?"
)
_BLOCKED: Final = (
    f"SELECT login, {BLOCK_COLUMNS} FROM account JOIN login ON account = id"  # noqa: S608 - literals
    " WHERE state <> 'open' AND (state_until = 0 OR state_until > ?)"
)
_ENDS: Final = "SELECT id, state_until FROM account WHERE state <> 'open' AND state_until > 0"
_CHANGED: Final = f"SELECT {SENDING_COLUMNS} FROM account a WHERE a.changed > ?"  # noqa: S608 - literals
_ALL: Final = f"SELECT {SENDING_COLUMNS} FROM account a WHERE ? IS NOT NULL"  # noqa: S608 - literals


class AccountStore(FollowedStore):
    """One process's access to the file of accounts; see `FollowedStore`."""

    shared = SHARED

    def put(self, records: Sequence[AccountRecord], *, by: str, now: float) -> int:
        """Write down accounts; all of them or none.

        What is told of an account replaces what was known of it. Its rating, the trust in it and
        its state stay, and so does its registration where none is told.

        Args:
            records: any number.
            by: who does it.
            now: Unix seconds.

        Returns:
            How many of them are new.

        Raises:
            NameTaken: a login or network is another account's; nothing is done.
        """
        new = 0
        with self.changing():
            for record in records:
                new += put_record(self._db, record, now)
                self._log(record.id, AccountDeed(at=now, by=by, what=DeedKind.IMPORT))
        return new

    def find(self, name: str) -> Account | None:
        """Return an account by its id, or by a login of it; None: there is none."""
        with self.told():
            key = self._id_of(name)
            if key is None:
                return None
            (account,) = read_accounts(self._db, "WHERE a.id = ?", (key,))
            return account

    def accounts(
        self,
        *,
        now: float,
        state: AccountState | None = None,
        customer: str | None = None,
        after: str = "",
        most: int = -1,
    ) -> list[Account]:
        """Return accounts in the order of their ids.

        Args:
            now: Unix seconds.
            state: only those in it now.
            customer: only his.
            after: only those whose ids come after it.
            most: at most so many; -1 = all.
        """
        wanted: list[str] = []
        values: list[Any] = []
        if state is AccountState.OPEN:
            wanted.append("(a.state = 'open' OR (a.state_until > 0 AND a.state_until <= ?))")
            values.append(now)
        elif state is not None:
            wanted.append("a.state = ? AND (a.state_until = 0 OR a.state_until > ?)")
            values += state, now
        if customer is not None:
            wanted.append("a.customer = ?")
            values.append(customer)
        if after:
            wanted.append("a.id > ?")
            values.append(after)
        where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
        with self.told():
            return read_accounts(self._db, f"{where}ORDER BY a.id LIMIT ?", (*values, most))

    def trust(self, account: str, trust: Trust) -> None:
        """Note a person's trust in an account.

        Raises:
            StoreError: there is no such account; or as of `check_reason`.
        """
        check_reason(trust.why, trust.until)
        deed = AccountDeed(
            at=trust.at, by=trust.by, what=DeedKind.TRUST, until=trust.until, why=trust.why
        )
        with self.changing():
            self._update(_TRUST, (trust.by, trust.at, trust.until, trust.why), account)
            self._log(account, deed)

    def untrust(self, account: str, *, by: str, why: str, now: float) -> None:
        """Have nobody trust an account.

        Raises:
            StoreError: there is no such account; or as of `check_reason`.
        """
        check_reason(why, 0.0)
        with self.changing():
            self._update(_TRUST, ("", 0.0, 0.0, ""), account)
            self._log(account, AccountDeed(at=now, by=by, what=DeedKind.UNTRUST, why=why))

    def block(self, block: AccountBlock, *, now: float) -> None:
        """Take no mail of an account; what was said before of its state is replaced.

        Raises:
            StoreError: there is no such account; or as of `check_reason`.
        """
        check_reason(block.why, block.until)
        with self.changing():
            self._block(block, now)
            what = DeedKind.BAN if block.state is AccountState.BANNED else DeedKind.LIMIT
            self._log(
                block.account,
                AccountDeed(at=now, by=block.by, what=what, until=block.until, why=block.why),
            )

    def unblock(self, account: str, *, by: str, why: str, now: float) -> AccountBlock | None:
        """Take mail of an account again.

        Returns:
            Why it was not taken; None where it was, and nothing is done.
        """
        check_reason(why, 0.0)
        with self.changing():
            block = self._block_of(account)
            if block is None or not block.in_force(now):
                return None
            self._open(account, now)
            self._log(account, AccountDeed(at=now, by=by, what=DeedKind.UNBAN, why=why))
        return block

    def open_ended(self, now: float) -> float:
        """Open the accounts whose block is over, and have other systems told.

        Returns:
            When the next one is over, Unix seconds; infinity: none is by itself.
        """
        ends = self.rows(_ENDS)
        if any(until <= now for _, until in ends):
            with self.changing():
                for account, until in self._db.execute(_ENDS).fetchall():
                    if until <= now:
                        self._open(account, now)
        return min((until for _, until in ends if until > now), default=math.inf)

    def forget(self, account: str, *, now: float) -> bool:
        """Drop all that is known of an account.

        Returns:
            Whether there was one.

        Raises:
            StoreError: its mail is not taken; forgotten, it would be.
        """
        with self.changing():
            if self._id_of(account) != account:
                return False
            block = self._block_of(account)
            if block is not None and block.in_force(now):
                raise StoreError(f"{account} is {block.state}; unban it before it is forgotten")
            self._db.execute("DELETE FROM action WHERE target = ?", (account,))
            for table in OF_ACCOUNT:
                self._db.execute(f"DELETE FROM {table} WHERE account = ?", (account,))  # noqa: S608 - names above
            self._db.execute("DELETE FROM account WHERE id = ?", (account,))
            self._db.execute("UPDATE version SET dropped = number")
            self._db.execute(
                "DELETE FROM customer WHERE id NOT IN"
                " (SELECT customer FROM account WHERE customer IS NOT NULL)"
            )
        return True

    def deeds(self, account: str) -> list[AccountDeed]:
        """Return what people did to an account, oldest first."""
        rows = self.rows(
            "SELECT at, by, what, until, why FROM deed WHERE account = ? ORDER BY id", (account,)
        )
        return [
            AccountDeed(at=at, by=by, what=DeedKind(what), until=until, why=why)
            for at, by, what, until, why in rows
        ]

    def blocked(self, now: float) -> dict[str, AccountBlock]:
        """Return the logins in lower case whose mail is not taken, on this machine alone included;
        some blocks may be over.
        """
        return with_waiting(self.stored_blocks(now), WaitingBlocks(self.path).now(), now)

    def stored_blocks(self, now: float) -> dict[str, AccountBlock]:
        """Return those of them that are written down."""
        with self.told() as db:
            return _blocks(db.execute(_BLOCKED, (now,)))

    def followed(self, version: int, now: float) -> FollowedChanges:
        """Return what workers know of accounts: those that have changed since a version, and all
        blocked logins, of one moment.

        Args:
            version: that is known; `READ_WHOLE` = none.
            now: Unix seconds.
        """
        with self.rows_since(version, changed=_CHANGED, whole=_ALL, now=now) as (number, rows):
            (dropped,) = self._db.execute("SELECT dropped FROM version").fetchone()
            anew = version < dropped
            told = self._select(_ALL, now) if anew else rows
            return FollowedChanges(
                version=number,
                accounts=[sending_account_of(row) for row in told],
                anew=anew,
                blocks=_blocks(self._select(_BLOCKED, now)),
            )

    def _id_of(self, name: str) -> str | None:
        row = self._db.execute(
            "SELECT id FROM account WHERE id = ?1"
            " UNION ALL SELECT account FROM login WHERE login = ?2 LIMIT 1",
            (name, name.lower()),
        ).fetchone()
        return None if row is None else str(row[0])

    def _block_of(self, account: str) -> AccountBlock | None:
        row = self._db.execute(
            f"SELECT {BLOCK_COLUMNS} FROM account WHERE id = ?",  # noqa: S608 - names of columns
            (account,),
        ).fetchone()
        return None if row is None else block_of(row)

    def _block(self, block: AccountBlock, now: float) -> None:
        self._update(
            _BLOCK, (block.state, block.until, block.why, block.by, block.incident), block.account
        )
        put_hook(self._db, block.account, block, now)

    def _open(self, account: str, now: float) -> None:
        self._update(_BLOCK, (AccountState.OPEN, 0.0, "", "", 0), account)
        put_hook(self._db, account, None, now)

    def _update(self, sql: str, values: tuple[Any, ...], account: str) -> None:
        if not self._db.execute(sql, (*values, account)).rowcount:
            raise StoreError(f"there is no account {account!r}")

    def _log(self, account: str, deed: AccountDeed) -> None:
        self._db.execute(
            "INSERT INTO deed (account, at, by, what, until, why) VALUES (?, ?, ?, ?, ?, ?)",
            (account, deed.at, deed.by, deed.what, deed.until, deed.why),
        )


def _blocks(rows: Iterable[tuple[Any, ...]]) -> dict[str, AccountBlock]:
    found = ((login, block_of(tuple(row))) for login, *row in rows)
    return {login: block for login, block in found if block is not None}


def check_reason(why: str, until: float) -> None:
    """Refuse what no file should hold.

    Raises:
        StoreError: a reason is too long or can't be printed, or a time is none.
    """
    if len(why) > MAX_REASON or not why.isprintable():
        raise StoreError(f"a reason is one line of at most {MAX_REASON} printable characters")
    if not (math.isfinite(until) and until >= 0):
        raise StoreError("a time is none")
