"""The file of people: its tables and their versions, and how it is opened.

    person    who may log in, with what they may
    link      one-time links by which a password is set, by hash
    session   who is logged in, by hash of the token
    device    browsers from which somebody has logged in before, by hash of the token
    api_key   keys of programs, by hash
    attempt   tries to log in, kept for `logins.TRIES_S`
    outside   whom somebody else vouches for: as whom they know them, by hash
    mail_link links that were sent to readers, by hash
    mailing   when links were sent, for limits; by hash
    passkey   keys that authenticators of people hold: what is kept of them is public
    challenge what an authenticator is asked to sign, until it has
    wait      how often a login has failed for a name, a network, a device or a session

Tokens stand here as hashes alone: who reads the file can't log in with it.  The secret of a second
step stands as it is, for codes are made of it.
"""

from __future__ import annotations

from typing import Final

from oborona.sqlite_file import SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F425045  # "OBPE"

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE person (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
            name TEXT NOT NULL UNIQUE,  -- as people.person.normal_name
            password TEXT NOT NULL,     -- argon2id in its own writing; empty: none was set yet
            roles TEXT NOT NULL,        -- with spaces between; so are the next two
            domains TEXT NOT NULL,      -- empty: none is named
            addresses TEXT NOT NULL,
            language TEXT NOT NULL,
            state TEXT NOT NULL,        -- active, off
            totp TEXT NOT NULL,         -- secret of the second step; empty: there is none
            totp_new TEXT NOT NULL,     -- one that was shown, and no code of it was given yet
            totp_step INTEGER NOT NULL, -- the last step whose code was taken
            made REAL NOT NULL,         -- Unix seconds; so are the next two
            password_at REAL NOT NULL,  -- when it was set; 0: never
            came REAL NOT NULL,         -- when they logged in last; 0: never
            made_by TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE link (
            token BLOB PRIMARY KEY,
            person INTEGER NOT NULL,
            until REAL NOT NULL         -- Unix seconds
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE session (
            token BLOB PRIMARY KEY,
            ident TEXT NOT NULL UNIQUE, -- as lists name it
            person INTEGER NOT NULL,
            made REAL NOT NULL,         -- Unix seconds; so are the next two
            last REAL NOT NULL,         -- when it was used
            fresh REAL NOT NULL,        -- when the password was given last
            place TEXT NOT NULL,
            agent TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX session_person ON session (person)",
        """
        CREATE TABLE device (
            token BLOB PRIMARY KEY,
            person INTEGER NOT NULL,
            last REAL NOT NULL          -- Unix seconds
        ) WITHOUT ROWID
        """,
        "CREATE INDEX device_person ON device (person)",
        """
        CREATE TABLE api_key (
            token BLOB PRIMARY KEY,
            person INTEGER NOT NULL,
            name TEXT NOT NULL,
            rights TEXT NOT NULL,       -- with spaces between
            domains TEXT NOT NULL,      -- the same; empty: all that its maker has
            made REAL NOT NULL,         -- Unix seconds; so are the next two
            until REAL NOT NULL,
            last REAL NOT NULL,         -- when it was used; 0: never
            place TEXT NOT NULL,        -- from where
            UNIQUE (person, name)
        )
        """,
        """
        CREATE TABLE attempt (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,           -- Unix seconds
            person INTEGER,             -- none: nobody has the name, which is not kept
            place TEXT NOT NULL,
            agent TEXT NOT NULL,
            outcome TEXT NOT NULL
        )
        """,
        "CREATE INDEX attempt_person ON attempt (person, at)",
        "CREATE INDEX attempt_at ON attempt (at)",
        """
        CREATE TABLE wait (
            whose BLOB PRIMARY KEY,     -- hash of the name, network, device or session
            failures INTEGER NOT NULL,
            last REAL NOT NULL          -- Unix seconds
        ) WITHOUT ROWID
        """,
        "CREATE INDEX wait_last ON wait (last)",
    ),
    (
        "ALTER TABLE session ADD COLUMN way TEXT NOT NULL DEFAULT 'password'",
        "ALTER TABLE attempt ADD COLUMN way TEXT NOT NULL DEFAULT 'password'",
        """
        CREATE TABLE outside (
            subject BLOB PRIMARY KEY,   -- hash of the way, and of whom it means
            person INTEGER NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX outside_person ON outside (person)",
        """
        CREATE TABLE mail_link (
            token BLOB PRIMARY KEY,
            address TEXT NOT NULL,      -- as people.person.checked_addresses
            until REAL NOT NULL         -- Unix seconds
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE mailing (
            id INTEGER PRIMARY KEY,
            whose BLOB NOT NULL,        -- hash of an address or a network
            at REAL NOT NULL            -- Unix seconds
        )
        """,
        "CREATE INDEX mailing_whose ON mailing (whose, at)",
    ),
    (
        """
        CREATE TABLE passkey (
            credential BLOB PRIMARY KEY, -- as the authenticator calls it
            ident TEXT NOT NULL UNIQUE, -- as lists name it
            person INTEGER NOT NULL,
            handle BLOB NOT NULL,       -- as the authenticator knows the person
            public_key BLOB NOT NULL,   -- COSE
            signed INTEGER NOT NULL,    -- how often, as it counts; 0: it does not
            name TEXT NOT NULL,
            made REAL NOT NULL,         -- Unix seconds; so is the next
            last REAL NOT NULL          -- when it was used; 0: never
        ) WITHOUT ROWID
        """,
        "CREATE INDEX passkey_person ON passkey (person)",
        """
        CREATE TABLE challenge (
            whose BLOB PRIMARY KEY,     -- hash of what it is for, and of the session or browser
            octets BLOB NOT NULL,
            person INTEGER,             -- none: who it is shows itself
            handle BLOB NOT NULL,       -- of a key that is to be made
            network BLOB NOT NULL,      -- hash of who asked for it
            until REAL NOT NULL         -- Unix seconds
        ) WITHOUT ROWID
        """,
        "CREATE INDEX challenge_until ON challenge (until)",
        "CREATE INDEX challenge_network ON challenge (network, until)",
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a store of people"),
    absent="nobody was added yet (`oborona people add NAME --role admin`)",
    left=", in which there is nobody: add people anew, or put it back from a backup",
    # a token that was ended, and who was forgotten, is gone from the file
    each=("PRAGMA journal_mode = WAL", "PRAGMA secure_delete = ON"),
    mode=0o600,
)
