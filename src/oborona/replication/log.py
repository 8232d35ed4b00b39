"""The log in PostgreSQL: changes of the common stores, each store's numbered from 1 on without a
gap.

    site      one row: mark and check value of the secret
    store     its head: the number of its last change; who writes has the row locked
    change    what was done, by whom
    snapshot  a store as it was at a number, in parts: what a machine begins with
    machine   who follows, and how far it is

Guaranteed: what `append` returned from is on PostgreSQL's disk (and on its synchronous standbys, as
they are set there).
Source: Schneider, Implementing fault-tolerant services using the state machine approach, ACM
Computing Surveys 22(4), 1990.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple

from oborona.errors import StoreBusy, StoreError
from oborona.replication.link import ReplicationLink
from oborona.replication.schema import CHANNEL, MIGRATIONS
from oborona.sqlite_file import BUSY_S

if TYPE_CHECKING:
    import psycopg

CONNECT_S: Final = 3  # seconds; libpq takes 2 at least
STATEMENT_S: Final = 10.0  # that PostgreSQL may take for a change
TURN_S: Final = 30.0  # that a machine may take for one: who stands still then has lost its turn
AT_ONCE: Final = 200  # changes that are read at once
AT_ONCE_OCTETS: Final = 16 << 20  # of them, but one larger one
# a machine that is cut off is known as gone by PostgreSQL within so long: its locks are let go
_KEEPALIVES: Final = (
    "-c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2"
)


class LogUnreachableError(StoreError):
    """The site's log can't be reached: what is known here stays, and nothing is written."""


class LogForeignError(StoreError):
    """The log is another site's, or was begun anew."""


class StoreHead(NamedTuple):
    """How far a store is."""

    number: int  # of its last change; 0 = none
    version: int  # of the file's format after it


class LoggedChange(NamedTuple):
    """A change of a store."""

    number: int
    version: int  # of the file's format after it
    token: bytes  # made by who wrote it
    rows: int  # that it changed, triggers included
    statements: bytes


class ReplicaPlace(NamedTuple):
    """How far a store is on a machine, by its last word."""

    store: str
    number: int  # of the last change that was done there
    behind: int  # changes that were not
    trouble: str  # why it goes no further; empty = it does


class LoggedMachine(NamedTuple):
    """A machine that follows."""

    name: str
    version: str  # of its Oborona
    silent_s: float  # seconds since its last word
    stores: list[ReplicaPlace]
    mark: str  # of its state folder


def postgresql_library() -> ModuleType:
    """Return psycopg, which takes 60 ms to load and is for those alone who need it.

    Raises:
        StoreError: it is missing.
    """
    try:
        return import_module("psycopg")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"the site's log: {error.name} is missing: ./setup machines, or the package "
            "oborona-machines"
        ) from error


def known_machines(link: ReplicationLink) -> list[LoggedMachine]:
    """Return the machines of a site, by name, each with its stores, as the log knows them.

    Raises:
        StoreError: the log can't be reached, or is another one.
    """
    with closing(ReplicationLog(link.address, link.machine)) as log:
        log.check(link.site)
        return log.machines()


class ReplicationLog:
    """A connection to the log, for one thread at a time, in one process.

    Args:
        address: as libpq reads it.
        machine: name of this one.

    Attributes:
        known_stores: those whose last change here was seen to be the log's, by this connection.

    Raises:
        LogUnreachableError: every method, when it can't be reached.
    """

    def __init__(self, address: str, machine: str) -> None:
        self.machine = machine
        self._address = address
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self.known_stores: set[str] = set()
        self._checked = ""  # mark of the site that it was found to be

    def close(self) -> None:
        """Let the connection go."""
        self.known_stores.clear()
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def drop_ended(self) -> None:
        """Let a connection go that has rested, and that PostgreSQL has ended meanwhile: its failure
        would be taken for the log's.
        """
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):  # it is closed
                if not select.select([self._connection.fileno()], [], [], 0)[0]:
                    return
            self.close()

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield the connection, which is made anew where it was lost.

        What PostgreSQL says comes out as `StoreError`; after an error the connection is let go.
        """
        psycopg = postgresql_library()
        try:
            yield self._opened()
        except psycopg.errors.LockNotAvailable as error:
            self.close()
            raise StoreBusy(
                f"the site's log: another machine holds the store for over {BUSY_S:g} seconds"
            ) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()
            raise LogUnreachableError(f"the site's log can't be reached: {_told(error)}") from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            self.close()  # it was a primary when it was asked first
            raise LogUnreachableError(f"the site's log can't be written: {_told(error)}") from error
        except psycopg.Error as error:
            self.close()
            raise StoreError(f"the site's log: {_told(error)}") from error
        except BaseException:
            self.close()
            raise

    def _opened(self) -> psycopg.Connection[Any]:
        if self._process != os.getpid():  # it is the parent's
            self._connection = None
        if self._connection is None or self._connection.closed:
            # of those alone who ask: it loads psycopg
            from oborona.replication.bounded_connection import BoundedConnection  # noqa: PLC0415

            self.known_stores.clear()
            self._connection = BoundedConnection.connect(
                self._address,
                connect_timeout=CONNECT_S,
                # of several hosts the one that is the primary now; a standby alone is no log
                target_session_attrs="read-write",
                options=(
                    f"-c lock_timeout={int(BUSY_S * 1000)} "
                    f"-c statement_timeout={int(STATEMENT_S * 1000)} "
                    f"-c idle_in_transaction_session_timeout={int(TURN_S * 1000)} "
                    f"-c search_path=oborona {_KEEPALIVES}"
                ),
                keepalives_idle=3,
                keepalives_interval=2,
                keepalives_count=2,
                tcp_user_timeout=int(STATEMENT_S * 1000),
                application_name=f"oborona {self.machine}"[:60],
                autocommit=True,
            )
            self._process = os.getpid()
        return self._connection

    def prepare(self) -> None:
        """Make what is missing of the log's tables."""
        with self.connected() as db, db.transaction():
            if self._is_prepared(db):
                return  # nobody waits for a commit
            db.execute("CREATE SCHEMA IF NOT EXISTS oborona")
            db.execute("CREATE TABLE IF NOT EXISTS format (version integer NOT NULL)")
            db.execute("LOCK TABLE format IN EXCLUSIVE MODE")
            row = db.execute("SELECT version FROM format").fetchone()
            version = 0 if row is None else int(row[0])
            if version > len(MIGRATIONS):
                raise StoreError("the site's log was made by a newer Oborona")
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    db.execute(statement)
            db.execute("DELETE FROM format")
            db.execute("INSERT INTO format VALUES (%s)", (len(MIGRATIONS),))

    def _is_prepared(self, db: psycopg.Connection[Any]) -> bool:
        there = db.execute("SELECT to_regclass('oborona.format') IS NOT NULL").fetchone()
        if not there or not there[0]:
            return False
        return db.execute("SELECT version FROM format").fetchone() == (len(MIGRATIONS),)

    def site(self) -> tuple[str, str] | None:
        """Return mark and check value of the secret of the site that the log is of.

        None where there is none yet.
        """
        with self.connected() as db:
            there = db.execute("SELECT to_regclass('oborona.site') IS NOT NULL").fetchone()
            if not there or not there[0]:
                return None
            row = db.execute("SELECT mark, known FROM site").fetchone()
        return None if row is None else (str(row[0]), str(row[1]))

    def clear(self) -> None:
        """Take away what a begin has left that did not come to its end.

        Raises:
            LogForeignError: there is a site.
        """
        if self.site() is not None:
            raise LogForeignError("a site is begun in that database; `oborona site join` joins it")
        with self.connected() as db:
            db.execute(
                "TRUNCATE store, change, snapshot, snapshot_part, machine, position, policy_place"
            )

    def begin_site(self, mark: str, known: str) -> None:
        """Begin a site, whose stores are in the log.

        Args:
            mark: of the site.
            known: check value of its secret.

        Raises:
            LogForeignError: there is one.
        """
        with self.connected() as db:
            begun = db.execute(
                "INSERT INTO site (single, mark, known) VALUES (true, %s, %s) ON CONFLICT DO NOTHING",
                (mark, known),
            )
            if begun.rowcount != 1:
                raise LogForeignError("another machine has begun a site in that database just now")

    def check(self, site: str) -> None:
        """Look once for each connection whether the log is a site's.

        Raises:
            LogForeignError: it is not.
        """
        if self._checked != site or self._connection is None:
            found = self.site()
            if found is None or found[0] != site:
                raise LogForeignError(
                    "the site's log is another one than this machine follows: it was begun anew, or "
                    "the address leads elsewhere"
                )
            self._checked = site

    def add_store(self, name: str, version: int) -> None:
        """Begin a store that has no change yet, unless it is there.

        Args:
            name: of its file.
            version: of its format; 0 = there is no file yet.
        """
        with self.connected() as db:
            db.execute(
                "INSERT INTO store (name, number, version) VALUES (%s, 0, %s) ON CONFLICT DO NOTHING",
                (name, version),
            )

    def add_machine(self, mark: str, version: str) -> None:
        """Write down that this machine follows.

        Raises:
            LogForeignError: another one has its name, and was seen within a minute.
        """
        with self.connected() as db:
            added = db.execute(
                "INSERT INTO machine (name, mark, version) VALUES (%s, %s, %s)"
                " ON CONFLICT (name) DO UPDATE SET mark = excluded.mark, version = excluded.version,"
                " seen = now() WHERE machine.mark = excluded.mark"
                " OR machine.seen < now() - interval '1 minute'",
                (self.machine, mark, version),
            )
            if added.rowcount != 1:
                raise LogForeignError(
                    f"a machine of the name {self.machine} follows the site, and was seen within a "
                    "minute: stop it, or take another name by --name"
                )

    def forget_machine(self, machine: str, mark: str) -> bool:
        """Forget a machine; return whether there was one.

        Args:
            machine: its name.
            mark: of its state folder; empty = whatever it is.
        """
        with self.connected() as db:
            gone = db.execute(
                "DELETE FROM machine WHERE name = %s AND %s IN ('', mark)", (machine, mark)
            )
        return gone.rowcount == 1

    @contextmanager
    def turn(self, store: str) -> Iterator[StoreHead]:
        """Yield a store's head while nobody else may write it; what `append` wrote is committed at
        the end, or nothing of it.
        """
        with self.connected() as db, db.transaction():
            row = db.execute(
                "SELECT number, version FROM store WHERE name = %s FOR UPDATE", (store,)
            ).fetchone()
            if row is None:
                raise StoreError(f"the site's log knows no store {store}")
            yield StoreHead(*row)

    def append(self, store: str, change: LoggedChange) -> None:
        """Write a change, within the store's turn.

        It is durable when this returns, the turn over.
        """
        with self.connected() as db:
            db.execute(
                "WITH written AS (INSERT INTO change"
                " (store, machine, number, version, token, rows, statements)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING store, number, version),"
                " headed AS (UPDATE store SET number = w.number, version = w.version"
                " FROM written w WHERE name = w.store)"
                " SELECT pg_notify(%s, store) FROM written",
                (store, self.machine, *change, CHANNEL),
            )

    def changes(self, store: str, after: int, limit: int = AT_ONCE) -> list[LoggedChange]:
        """Return the changes of a store that follow a number, in their order, some at a time.

        At least one where there is any, else as many as memory is meant for.
        """
        with self.connected() as db:
            rows = db.execute(
                "SELECT number, version, token, rows, statements FROM"
                " (SELECT *, sum(length(statements)) OVER (ORDER BY number) - length(statements)"
                " AS before FROM (SELECT * FROM change WHERE store = %s AND number > %s"
                " ORDER BY number LIMIT %s) next) measured WHERE before < %s ORDER BY number",
                (store, after, limit, AT_ONCE_OCTETS),
            ).fetchall()
        return [LoggedChange(*row) for row in rows]

    def heads(self) -> dict[str, StoreHead]:
        """Return how far each store is, by its name."""
        with self.connected() as db:
            rows = db.execute("SELECT name, number, version FROM store").fetchall()
        return {name: StoreHead(number, version) for name, number, version in rows}

    def listen(self, channel: str) -> None:
        """Be told of changes, by `wait`."""
        import psycopg  # noqa: PLC0415 - as above

        with self.connected() as db:
            db.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))

    def wait(self, seconds: float) -> None:
        """Return when a change is told of, or after some seconds."""
        with self.connected() as db:
            if any(True for _ in db.notifies(timeout=0)):
                return
            # psycopg would look ten times a second whether it was interrupted
            told = select.poll()
            told.register(db.fileno(), select.POLLIN)
            told.poll(seconds * 1000)
            for _ in db.notifies(timeout=0):
                pass

    def report(self, mark: str, version: str, stores: Mapping[str, tuple[int, str]]) -> None:
        """Say how far this machine is.

        Args:
            mark: of its state folder.
            version: of its Oborona.
            stores: number of the last change, and trouble, of each.

        Raises:
            LogForeignError: another machine has its name now, or it was forgotten.
        """
        with self.connected() as db, db.transaction():
            seen = db.execute(
                "UPDATE machine SET seen = now(), version = %s WHERE name = %s AND mark = %s",
                (version, self.machine, mark),
            )
            if seen.rowcount != 1:
                raise LogForeignError(
                    f"the site knows this machine ({self.machine}) no more: `oborona site join` "
                    "joins it again"
                )
            db.execute(
                "INSERT INTO position (machine, store, number, trouble)"
                " SELECT %s, * FROM unnest(%s::text[], %s::bigint[], %s::text[])"
                " ON CONFLICT (machine, store) DO UPDATE"
                " SET number = excluded.number, trouble = excluded.trouble",
                (
                    self.machine,
                    list(stores),
                    [number for number, _ in stores.values()],
                    [trouble for _, trouble in stores.values()],
                ),
            )

    def machines(self) -> list[LoggedMachine]:
        """Return the machines that follow, by name, each with its stores."""
        with self.connected() as db:
            machines = db.execute(
                "SELECT name, version, extract(epoch FROM now() - seen)::float8, mark FROM machine"
                " ORDER BY name"
            ).fetchall()
            positions = db.execute(
                "SELECT p.machine, p.store, p.number, greatest(s.number - p.number, 0), p.trouble"
                " FROM position p JOIN store s ON s.name = p.store ORDER BY p.store"
            ).fetchall()
        return [
            LoggedMachine(
                name,
                version,
                silent_s,
                [ReplicaPlace(*place) for machine, *place in positions if machine == name],
                mark,
            )
            for name, version, silent_s, mark in machines
        ]

    def question(self, sql: LiteralString, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a question."""
        with self.connected() as db:
            return db.execute(sql, values).fetchall()


def _told(error: Exception) -> str:
    """Return what a library says in one line; it may quote the address, and never the password."""
    return " ".join(str(error).split())[:300] or type(error).__name__
