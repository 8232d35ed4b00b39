"""A task that one machine of a site does at a time: who trains, who believes.

The lock is PostgreSQL's, of a session of its own, which ends with its holder. Three rules make that
two machines never believe at once that they have it:

    lease  who has it asks each second, and believes it for `LEASE_S` from when he asked, by his own
           clock: who is cut off or stands still stops believing by himself
    idle   PostgreSQL ends a session that has asked nothing for `IDLE_S`
    wait   who gets it after another waits `WAIT_S` before he believes it: what the other believed
           is over then, whatever became of his session; who gives it up in order spares that

A process can stand still between a look at `held` and what it does next. So each holder has a
higher number than all before, and a write that must not come too late compares it (`check_fence`).
Source: Gray and Cheriton, Leases, SOSP 1989.
"""

from __future__ import annotations

import select
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final, LiteralString, Self

from oborona.errors import StoreError
from oborona.replication.link import ReplicationLink
from oborona.replication.log import CONNECT_S, ReplicationLog, postgresql_library

if TYPE_CHECKING:
    import psycopg

LOOK_S: Final = 1.0  # between questions
LEASE_S: Final = 3.0
IDLE_S: Final = 3.5
WAIT_S: Final = 3.5  # more than the lease, for clocks that run at different speeds
ANSWER_S: Final = 2.5  # that PostgreSQL may take
_SPACE: Final = 0x4F42  # of advisory locks: "OB"


class LockLostError(StoreError):
    """Another machine has had the lock since: what its former holder was to write is refused."""


class SiteLock:
    """Tries to get a lock, and keeps it, as long as it is entered.

    Args:
        link: the site's log.
        name: of what is done by one machine.

    Attributes:
        fence: number of the holder, higher than that of all before; 0 = not held.
        trouble: why PostgreSQL can't be asked; empty = it answers.
    """

    def __init__(self, link: ReplicationLink, name: str) -> None:
        self.name = name
        self.fence = 0
        self.trouble = ""
        self._link = link
        self._until = 0.0  # what is believed, by `_now`
        self._since = 0.0  # when the lock was got
        self._wait_s = 0.0  # before it is believed
        self._connection: psycopg.Connection[Any] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lock {name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(ANSWER_S + CONNECT_S)

    def held(self) -> bool:
        """Whether this process has the lock, and nobody else can have it now."""
        return _now() < self._until and not self._stop.is_set()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._look()
                    self.trouble = ""
                except StoreError as error:
                    self._let_go()
                    self.trouble = str(error)
                # whether it is believed is seen as soon as that may be
                left = self._since + self._wait_s - _now() if self.fence else LOOK_S
                self._stop.wait(left if 0 < left < LOOK_S else LOOK_S)
            self._give_up()
        finally:
            self._let_go()

    def _look(self) -> None:
        """Get the lock, or see that it is still there."""
        if self._connection is None:
            self._connection = _connected(self._link)
        asked = _now()
        if self.fence:
            if self._ask("SELECT fence FROM lock WHERE name = $1", self.name) != [str(self.fence)]:
                raise LockLostError(f"the site's lock {self.name} is another machine's")
            if asked >= self._since + self._wait_s:
                self._until = asked + LEASE_S
        elif self._ask(
            "SELECT pg_try_advisory_lock($1, $2)", str(_SPACE), str(_number(self.name))
        ) == ["t"]:
            self._take()

    def _take(self) -> None:
        """Become the holder; what those before write is refused from now on."""
        fence, given_up = self._ask(
            "WITH before AS (SELECT given_up FROM lock WHERE name = $1)"
            " INSERT INTO lock (name, fence, machine) VALUES ($1, 1, $2)"
            " ON CONFLICT (name) DO UPDATE SET fence = lock.fence + 1,"
            " machine = excluded.machine, at = now(), given_up = false"
            " RETURNING fence, coalesce((SELECT given_up FROM before), true)",
            self.name,
            self._link.machine,
        )
        self._since = _now()
        self._wait_s = 0.0 if given_up == "t" else WAIT_S
        self.fence = int(fence)
        if not self._wait_s:
            self._look()

    def _give_up(self) -> None:
        """Say that nothing is believed here any more, so that the next one need not wait."""
        fence, self._until = self.fence, 0.0
        if fence:
            with suppress(StoreError):
                self._ask(
                    "UPDATE lock SET given_up = true WHERE name = $1 AND fence = $2::bigint",
                    self.name,
                    str(fence),
                )

    def _let_go(self) -> None:
        self._until, self.fence = 0.0, 0
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None

    def _ask(self, sql: LiteralString, *values: str) -> list[str]:
        """Return the first row of an answer, empty where there is none.

        psycopg itself would wait for an answer without end, where a line is cut in silence.
        """
        psycopg = postgresql_library()
        assert self._connection is not None
        line = self._connection.pgconn
        try:
            line.send_query_params(sql.encode(), [value.encode() for value in values])
            line.flush()
            until = time.monotonic() + ANSWER_S
            while line.is_busy():
                left = until - time.monotonic()
                if left <= 0 or not select.select([line.socket], [], [], left)[0]:
                    raise StoreError(f"the site's lock {self.name}: PostgreSQL does not answer")
                line.consume_input()
            rows: Sequence[str] = ()
            while (answer := line.get_result()) is not None:
                if answer.status not in {
                    psycopg.pq.ExecStatus.TUPLES_OK,
                    psycopg.pq.ExecStatus.COMMAND_OK,
                }:
                    raise StoreError(f"the site's lock {self.name}: {_told(answer.error_message)}")
                if answer.ntuples:
                    columns = (answer.get_value(0, column) for column in range(answer.nfields))
                    rows = [(value or b"").decode() for value in columns]
        except (psycopg.Error, OSError) as error:
            raise StoreError(
                f"the site's lock {self.name}: {_told(str(error).encode())}"
            ) from error
        return list(rows)


def check_fence(db: psycopg.Connection[Any], name: str, fence: int) -> None:
    """Look, within a transaction that writes, whether a holder is still the last one.

    Nobody becomes the next before the transaction ends.

    Raises:
        LockLostError: it is not.
    """
    row = db.execute("SELECT fence FROM lock WHERE name = %s FOR SHARE", (name,)).fetchone()
    if row is None or row[0] != fence:
        raise LockLostError(f"the site's lock {name} is another machine's now")


def check_holder(db: psycopg.Connection[Any], name: str, machine: str) -> None:
    """Look, within a transaction that writes, whether a machine is still the last holder, by
    whatever process of it.

    Nobody becomes the next before the transaction ends.

    Raises:
        LockLostError: it is not.
    """
    row = db.execute("SELECT machine FROM lock WHERE name = %s FOR SHARE", (name,)).fetchone()
    if row is None or row[0] != machine:
        raise LockLostError(f"the site's lock {name} is another machine's now")


def lock_holder(log: ReplicationLog, name: str) -> str:
    """Return the machine that had a lock last, empty where nobody has it any more.

    A machine that died is named until another one has the lock.

    Raises:
        StoreError: the log can't be reached.
    """
    rows = log.question("SELECT machine FROM lock WHERE name = %s AND NOT given_up", (name,))
    return str(rows[0][0]) if rows else ""


def _connected(link: ReplicationLink) -> psycopg.Connection[Any]:
    with closing(ReplicationLog(link.address, link.machine)) as log:
        log.check(link.site)
        log.prepare()
    library = postgresql_library()
    try:
        connection: psycopg.Connection[Any] = library.connect(
            link.address,
            connect_timeout=CONNECT_S,
            target_session_attrs="read-write",
            options=(
                f"-c idle_session_timeout={int(IDLE_S * 1000)} "
                f"-c statement_timeout={int(ANSWER_S * 1000)} -c search_path=oborona"
            ),
            tcp_user_timeout=int(LEASE_S * 1000),
            application_name=f"oborona {link.machine} lock"[:60],
            autocommit=True,
        )
    except library.Error as error:
        raise StoreError(
            f"the site's log can't be reached: {_told(str(error).encode())}"
        ) from error
    return connection


def _now() -> float:
    """Return seconds by a clock that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _number(name: str) -> int:
    return zlib.crc32(name.encode()) - (1 << 31)


def _told(text: bytes) -> str:
    return " ".join(text.decode(errors="replace").split())[:300]
