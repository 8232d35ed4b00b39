"""The file of accounts: its tables and their versions, and how it is opened.

    customer      who answers for accounts
    account       one row each, with its rating, a person's trust, and what it may do
    login         SASL logins, each of one account
    network       networks whose machines are an account's
    registration  how an account came to be: personal data
    deed          what people did to accounts, when and why
    version       one row: how many changes there were that workers follow

WAL with synchronous=FULL: a ban that was confirmed is on the disk.  A damaged file is left where it
is, for it holds people's work: mail goes on with the states last known, and the error says how it
is mended.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424143  # "OBAC"
PRIVATE: Final = 0o600  # registrations are personal data

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE customer (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            contact TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE account (
            id TEXT PRIMARY KEY,
            customer TEXT REFERENCES customer (id),
            name TEXT NOT NULL,
            since REAL NOT NULL,          -- Unix seconds; 0: not known
            first_seen REAL NOT NULL,     -- Unix seconds
            rating INTEGER NOT NULL,      -- 0 to 100
            trusted_by TEXT NOT NULL,     -- empty: nobody trusts it
            trusted_at REAL NOT NULL,
            trusted_until REAL NOT NULL,  -- 0: for ever
            trusted_why TEXT NOT NULL,
            state TEXT NOT NULL,          -- open, limited, banned
            state_until REAL NOT NULL,    -- 0: until a person says
            state_why TEXT NOT NULL,
            state_by TEXT NOT NULL,
            incident INTEGER NOT NULL     -- 0: a person did it
        ) WITHOUT ROWID
        """,
        "CREATE INDEX account_customer ON account (customer)",
        "CREATE INDEX account_state ON account (state) WHERE state <> 'open'",
        """
        CREATE TABLE login (
            login TEXT PRIMARY KEY,       -- lower case
            account TEXT NOT NULL REFERENCES account (id)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX login_account ON login (account)",
        """
        CREATE TABLE network (
            network TEXT PRIMARY KEY,
            account TEXT NOT NULL REFERENCES account (id),
            role TEXT NOT NULL            -- host, relay, mx, nat
        ) WITHOUT ROWID
        """,
        "CREATE INDEX network_account ON network (account)",
        """
        CREATE TABLE registration (
            account TEXT PRIMARY KEY REFERENCES account (id),
            time REAL NOT NULL,           -- Unix seconds; 0: not known
            address TEXT NOT NULL,
            country TEXT NOT NULL,
            mail TEXT NOT NULL,
            phone TEXT NOT NULL,
            user_name TEXT NOT NULL,
            payment TEXT NOT NULL,
            payment_country TEXT NOT NULL,
            source TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE deed (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL REFERENCES account (id),
            at REAL NOT NULL,             -- Unix seconds
            by TEXT NOT NULL,
            what TEXT NOT NULL,           -- import, trust, untrust, limit, ban, unban
            until REAL NOT NULL,          -- 0: for ever
            why TEXT NOT NULL
        )
        """,
        "CREATE INDEX deed_account ON deed (account)",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
    ),
)

SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a file of accounts"),
    absent="no account was imported yet",
    left="; accounts are imported again from where they came from",
    each=(
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
    ),
    mode=PRIVATE,
)
