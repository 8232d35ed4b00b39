"""The file of accounts: its tables and their versions, and how it is opened.

    customer      who answers for accounts
    account       one row each, with its rating, a person's trust, and what it may do
    login         SASL logins, each of one account
    network       networks whose machines are an account's
    network_time  when which network was whose
    registration  how an account came to be: personal data
    penalty       what speaks against an account, as it was rated last
    rating_change how its rating went
    incident      excesses of accounts, with what shows them, what was decided, and what people said
    action        what is done because of an incident, written in its transaction: an outbox
    deed          what people did to accounts, when and why
    handover      of each machine: how far the excesses that its workers hand over are judged
    queue_hold    no more used: `queue_holds` is a file of its own
    answer        what was answered to requests of a day, which do nothing when they come again
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
            source TEXT NOT NULL,
            network TEXT NOT NULL         -- of the address: IPv4 /24, IPv6 /48; empty: not known
        ) WITHOUT ROWID
        """,
        "CREATE INDEX registration_network ON registration (network, time) WHERE network <> ''",
        """
        CREATE TABLE penalty (
            account TEXT NOT NULL REFERENCES account (id),
            test TEXT NOT NULL,
            points INTEGER NOT NULL,
            say TEXT NOT NULL,
            mode TEXT NOT NULL,           -- live, shadow
            at REAL NOT NULL,             -- when it was first found, Unix seconds
            until REAL NOT NULL,          -- 0: while the condition holds
            PRIMARY KEY (account, test)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE rating_change (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL REFERENCES account (id),
            at REAL NOT NULL,             -- Unix seconds
            before INTEGER NOT NULL,
            after INTEGER NOT NULL,
            say TEXT NOT NULL             -- the tests whose penalties are in force
        )
        """,
        "CREATE INDEX rating_change_account ON rating_change (account)",
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
        """
        CREATE TABLE incident (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL REFERENCES account (id),
            address TEXT NOT NULL,
            "limit" TEXT NOT NULL,
            metric TEXT NOT NULL,
            "window" TEXT NOT NULL,
            opened REAL NOT NULL,         -- Unix seconds
            last REAL NOT NULL,           -- of the latest excess
            excesses INTEGER NOT NULL,
            value REAL NOT NULL,          -- the largest
            most REAL NOT NULL,
            usual REAL,
            "then" TEXT NOT NULL,         -- what the limit itself did
            rating INTEGER NOT NULL,
            line TEXT NOT NULL,           -- trusted, confident, duty, ban
            say TEXT NOT NULL,
            evidence TEXT NOT NULL,       -- JSON
            idents TEXT NOT NULL,         -- JSON: of the journal
            taken_by TEXT NOT NULL,
            verdict TEXT NOT NULL,        -- spam, not-spam; empty: open
            verdict_by TEXT NOT NULL,
            closed REAL NOT NULL,
            note TEXT NOT NULL
        )
        """,
        "CREATE INDEX incident_account ON incident (account, last)",
        "CREATE INDEX incident_opened ON incident (opened)",
        """
        CREATE TABLE action (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            incident INTEGER REFERENCES incident (id), -- NULL: a person did it
            kind TEXT NOT NULL,           -- alert, limit, ban, hook
            target TEXT NOT NULL REFERENCES account (id),
            state TEXT NOT NULL,          -- wanted, done, shadow, undone, skipped
            wanted_at REAL NOT NULL,
            done_at REAL NOT NULL,
            undone_by TEXT NOT NULL,
            body TEXT NOT NULL,           -- of a hook, JSON
            attempts INTEGER NOT NULL,    -- that failed
            retry_at REAL NOT NULL,
            answer TEXT NOT NULL          -- of the last attempt that failed
        )
        """,
        "CREATE INDEX action_incident ON action (incident)",
        "CREATE INDEX action_target ON action (target)",
        "CREATE INDEX action_kind ON action (kind, wanted_at)",
        "CREATE INDEX action_wanted ON action (id) WHERE state = 'wanted'",
        "CREATE TABLE version (number INTEGER NOT NULL)",
        "INSERT INTO version VALUES (0)",
    ),
    (
        """
        CREATE TABLE handover (
            file TEXT NOT NULL,           -- of excesses, the latest
            place INTEGER NOT NULL        -- octets of it that were judged
        )
        """,
        "INSERT INTO handover VALUES ('', 0)",
    ),
    (
        """
        CREATE TABLE queue_hold (
            queue_id TEXT PRIMARY KEY,    -- of the mail server
            since REAL NOT NULL,          -- when the message came, Unix seconds
            account TEXT NOT NULL,        -- may be forgotten: then the message is let go
            seen INTEGER NOT NULL         -- 1: it was on hold
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE network_time (
            network TEXT NOT NULL,
            account TEXT NOT NULL,
            begun REAL NOT NULL,          -- when it was first told, Unix seconds
            ended REAL NOT NULL           -- when it was told no more; 0: it is the account's now
        )
        """,
        "CREATE INDEX network_time_account ON network_time (account)",
        "CREATE UNIQUE INDEX network_time_now ON network_time (network) WHERE ended = 0",
        """
        INSERT INTO network_time SELECT network, account, first_seen, 0 FROM network
            JOIN account ON account.id = network.account
        """,
    ),
    (
        # number of the change that followers learn of next
        "ALTER TABLE account ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX account_changed ON account (changed)",
        # of the latest change that dropped an account: who knows an older one reads all
        "ALTER TABLE version ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0",
    ),
    (
        """
        CREATE TABLE answer (
            asker TEXT NOT NULL,
            customer TEXT NOT NULL,       -- whose accounts the asker is for; empty: all
            key TEXT NOT NULL,            -- that the asker gave to the request
            request BLOB NOT NULL,        -- digest of it
            at REAL NOT NULL,             -- Unix seconds
            account TEXT NOT NULL,        -- that it is about; empty: several
            body BLOB NOT NULL,
            PRIMARY KEY (asker, customer, key)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX answer_at ON answer (at)",
        "CREATE INDEX answer_account ON answer (account)",
    ),
    (
        # whose file it is, in a site of several machines; empty: of a machine alone
        "ALTER TABLE handover ADD COLUMN machine TEXT NOT NULL DEFAULT ''",
        "DELETE FROM handover WHERE file = ''",
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
