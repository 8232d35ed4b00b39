"""Two real PostgreSQL: a primary, and a standby that has what is committed before anybody hears so.

with PostgresqlPair() as pair:
    machines are given pair.address, which names both
    pair.fail_over()    the primary is killed, the standby takes its place
    pair.rejoin()       who was killed is a standby of it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

import psycopg

from tests.peers.postgresql import USER, Postgresql
from tests.waiting import wait_so

READY_S: Final = 30.0  # a standby has caught up within a second


class PostgresqlPair:
    """A primary and its standby, with an address that stays as it is when they change places.

    Attributes:
        primary: who takes what is written.
        standby: who has it as well; it may not be there.
    """

    def __init__(self) -> None:
        self.primary = Postgresql()
        self.standby: Postgresql | None = None
        self._both: tuple[Postgresql, ...] = (self.primary,)

    @property
    def address(self) -> str:
        """The address of both, as libpq reads it."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"postgresql://{USER}@{hosts}/postgres"

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that the address names."""
        return tuple(one.port for one in self._both)

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self.standby = Postgresql(primary=self.primary)
            self._both = (self.primary, self.standby)
            self.standby.start()
            self._follow()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        for one in self._both:
            one.stop()

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a question to the primary."""
        return self.primary.rows(sql, *values)

    def fail_over(self, *, killed: bool = True) -> None:
        """Let the standby take the place of the primary, as an admin does.

        Args:
            killed: the primary is killed; else it stands still, and must be killed later.
        """
        assert self.standby is not None
        old, new = self.primary, self.standby
        if killed:
            old.kill()
        else:
            old.hold()
        new.promote()
        self.primary, self.standby = new, None
        _wait_so(
            "it takes what is written", lambda: not new.rows("SELECT pg_is_in_recovery()")[0][0]
        )

    def rejoin(self) -> None:
        """Make the other one a standby of who is the primary now."""
        (other,) = (one for one in self._both if one is not self.primary)
        other.kill()
        other.copy(self.primary)
        other.start()
        self.standby = other
        self._follow()

    def _follow(self) -> None:
        """Have the primary wait for its standby from now on, which has all there is."""
        self.wait_for_standby(True)
        _wait_so(
            "the standby is in step",
            lambda: bool(
                self.rows(
                    "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
                    " AND state = 'streaming'"
                )
            ),
        )

    def wait_for_standby(self, waits: bool) -> None:
        """Say whether a commit is told of before the standby has it."""
        self.rows(f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if waits else ''}'")
        self.rows("SELECT pg_reload_conf()")


def _wait_so(what: str, happens: Callable[[], bool]) -> None:
    """Wait until something is so; PostgreSQL that does not answer counts as no."""

    def answered() -> bool:
        try:
            return happens()
        except psycopg.OperationalError:
            return False

    wait_so(what, answered, READY_S)
