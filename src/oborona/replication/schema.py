"""The tables of the log in PostgreSQL, and their versions.

A migration that was released is never changed; the next one is added below it.
"""

from __future__ import annotations

from typing import Final, LiteralString

CHANNEL: Final = "oborona_change"
"""Of LISTEN and NOTIFY: the payload is the store that was changed."""

MIGRATIONS: Final[tuple[tuple[LiteralString, ...], ...]] = (
    (
        """
        CREATE TABLE site (
            single boolean PRIMARY KEY CHECK (single),
            mark text NOT NULL,
            known text NOT NULL,          -- check value of the site's secret
            begun timestamptz NOT NULL DEFAULT now()
        )
        """,
        """
        CREATE TABLE store (
            name text PRIMARY KEY,
            number bigint NOT NULL,       -- of its last change
            version integer NOT NULL      -- of the file's format after it
        )
        """,
        """
        CREATE TABLE change (
            store text NOT NULL REFERENCES store (name),
            number bigint NOT NULL,
            version integer NOT NULL,
            machine text NOT NULL,        -- that made it
            at timestamptz NOT NULL DEFAULT now(),
            token bytea NOT NULL,         -- made by who wrote it, to know it again
            rows bigint NOT NULL,         -- that it changed, triggers included
            statements bytea NOT NULL,
            PRIMARY KEY (store, number)
        )
        """,
        """
        CREATE TABLE snapshot (
            store text NOT NULL REFERENCES store (name),
            number bigint NOT NULL,       -- of the last change that is in it
            version integer NOT NULL,
            machine text NOT NULL,
            at timestamptz NOT NULL DEFAULT now(),
            octets bigint NOT NULL,       -- of the file
            digest bytea NOT NULL,        -- SHA-256 of the file
            PRIMARY KEY (store, number)
        )
        """,
        """
        CREATE TABLE snapshot_part (
            store text NOT NULL,
            number bigint NOT NULL,
            part integer NOT NULL,
            octets bytea NOT NULL,        -- compressed by zlib
            PRIMARY KEY (store, number, part),
            FOREIGN KEY (store, number) REFERENCES snapshot (store, number) ON DELETE CASCADE
        )
        """,
        """
        CREATE TABLE machine (
            name text PRIMARY KEY,
            mark text NOT NULL,           -- of the state folder that has the name
            version text NOT NULL,        -- of Oborona
            joined timestamptz NOT NULL DEFAULT now(),
            seen timestamptz NOT NULL DEFAULT now()
        )
        """,
        """
        CREATE TABLE position (
            machine text NOT NULL REFERENCES machine (name) ON DELETE CASCADE,
            store text NOT NULL REFERENCES store (name),
            number bigint NOT NULL,       -- of the last change that was done there
            trouble text NOT NULL,        -- why it goes no further; empty = it does
            PRIMARY KEY (machine, store)
        )
        """,
    ),
    (
        """
        CREATE TABLE lock (
            name text PRIMARY KEY,        -- of what one machine does at a time
            fence bigint NOT NULL,        -- of the last holder; higher than of all before
            machine text NOT NULL,
            at timestamptz NOT NULL DEFAULT now(),
            given_up boolean NOT NULL DEFAULT false -- nobody believes any more that he has it
        )
        """,
    ),
)
