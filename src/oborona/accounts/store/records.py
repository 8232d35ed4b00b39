"""Accounts as rows: how one that a source tells is written, and how they are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

import msgspec

from oborona.accounts.account import FULL_RATING, Account, AccountRecord
from oborona.accounts.store.rows import ACCOUNT_COLUMNS, CHANGED, REGISTRATION_COLUMNS, account_of
from oborona.errors import StoreError

V4_PREFIX, V6_PREFIX = 24, 48  # bits: whoever registers many accounts has one such network
_PUT: Final = (
    "INSERT INTO account VALUES (?, ?, ?, ?, ?, ?, '', 0, 0, '', 'open', 0, '', '', 0,"  # noqa: S608 - a literal
    f" {CHANGED})"
    " ON CONFLICT (id) DO UPDATE SET customer = excluded.customer, name = excluded.name,"
    " since = excluded.since, changed = excluded.changed"
)


class NameTaken(StoreError):  # noqa: N818 - what was found
    """A login or network is another account's."""


def put_record(db: sqlite3.Connection, record: AccountRecord, now: float) -> bool:
    """Write down an account; within a transaction. Return whether it is new.

    Raises:
        NameTaken: a login or network is another account's.
    """
    known = db.execute("SELECT 1 FROM account WHERE id = ?", (record.id,)).fetchone()
    if record.customer is not None:
        db.execute(
            "INSERT INTO customer VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
            " SET name = excluded.name, contact = excluded.contact",
            msgspec.structs.astuple(record.customer),
        )
    customer = None if record.customer is None else record.customer.id
    db.execute(_PUT, (record.id, customer, record.name, record.since, now, FULL_RATING))
    _own(db, "login", [(login,) for login in record.logins], record.id)
    _own(db, "network", [(of.network, of.role.value) for of in record.networks], record.id)
    _note_networks(db, record, now)
    if record.registration is not None:
        db.execute(
            "INSERT OR REPLACE INTO registration VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                record.id,
                *msgspec.structs.astuple(record.registration),
                registration_network(record.registration.address),
            ),
        )
    return known is None


def read_accounts(db: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[Account]:
    """Return accounts with all that belongs to them.

    Args:
        db: of the file of accounts.
        where: SQL that follows the tables `account a` and `customer c`.
        values: of its marks.
    """
    rows = db.execute(
        f"SELECT {ACCOUNT_COLUMNS} FROM account a LEFT JOIN customer c ON c.id = a.customer"  # noqa: S608 - literals
        f" {where}",
        values,
    ).fetchall()
    return [
        account_of(
            row,
            db.execute(
                "SELECT login FROM login WHERE account = ? ORDER BY login", row[:1]
            ).fetchall(),
            db.execute(
                "SELECT network, role FROM network WHERE account = ? ORDER BY network", row[:1]
            ).fetchall(),
            db.execute(
                f"SELECT {REGISTRATION_COLUMNS} FROM registration WHERE account = ?",  # noqa: S608 - names of columns
                row[:1],
            ).fetchone(),
        )
        for row in rows
    ]


def registration_network(address: str) -> str:
    """Return the network that an account was registered from; empty where it is not known."""
    if not address:
        return ""
    bits = V6_PREFIX if ":" in address else V4_PREFIX
    return str(ip_network(f"{address}/{bits}", strict=False))


def _note_networks(db: sqlite3.Connection, record: AccountRecord, now: float) -> None:
    """Note which networks are an account's from now on, and which are no more."""
    marks = ", ".join("?" * len(record.networks))
    networks = [of.network for of in record.networks]
    db.execute(
        "UPDATE network_time SET ended = ? WHERE account = ? AND ended = 0"  # noqa: S608 - marks alone
        f" AND network NOT IN ({marks})",
        (now, record.id, *networks),
    )
    db.executemany(
        "INSERT INTO network_time VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
        [(network, record.id, now) for network in networks],
    )


def _own(db: sqlite3.Connection, table: str, rows: Sequence[tuple[str, ...]], account: str) -> None:
    """Have logins or networks that are an account's, and no others of it."""
    db.execute(f"DELETE FROM {table} WHERE account = ?", (account,))  # noqa: S608 - names of ours
    for key, *rest in rows:
        owner = db.execute(
            f"SELECT account FROM {table} WHERE {table} = ?",  # noqa: S608 - names of ours
            (key,),
        ).fetchone()
        if owner is not None:
            raise NameTaken(f"{table} {key!r} of {account!r} is of {owner[0]!r}")
        marks = ", ".join("?" * (2 + len(rest)))
        db.execute(f"INSERT INTO {table} VALUES ({marks})", (key, account, *rest))  # noqa: S608 - names of ours
