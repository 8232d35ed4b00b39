"""A real PostgreSQL (Debian's) with a cluster of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.peers.daemon import STOP_S, Daemon
from tests.peers.ports import free_port

BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nonexistent"))
USER = "postgres"  # it refuses to be run by root


class Postgresql(Daemon):
    """One PostgreSQL on loopback.

    Args:
        sync: a commit is on the disk; off where a test asks for nothing of that and is faster.
        primary: that it is a standby of; None = it is a primary.
    """

    def __init__(self, *, sync: bool = False, primary: Postgresql | None = None) -> None:
        super().__init__("postgresql")
        self.port = free_port()
        self.address = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        self._data = self.root / "data"
        self._sync = sync
        if os.geteuid() == 0:
            shutil.chown(self.root, USER)
        if primary is None:
            data = str(self._data)
            self._run("initdb", "-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "-N")
            (self._data / "pg_hba.conf").write_text(
                "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"
            )
            self._configure()
        else:
            self.copy(primary)

    def copy(self, primary: Postgresql) -> None:
        """Become a standby of another one, whatever it was; it does not run meanwhile."""
        assert self.process is None
        shutil.rmtree(self._data, ignore_errors=True)
        data = str(self._data)
        self._run("pg_basebackup", "-D", data, "-R", "-c", "fast", "-d", primary.address)
        self._configure()

    def _configure(self) -> None:
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\n"
                f"unix_socket_directories = ''\nfsync = {'on' if self._sync else 'off'}\n"
                "shared_buffers = 32MB\nmax_connections = 100\nlog_min_messages = warning\n"
            )

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that its address names."""
        return (self.port,)

    def command(self) -> list[str]:
        """Return its command line."""
        return [*_as_user(), str(BIN / "postgres"), "-D", str(self._data)]

    def answers(self) -> bool:
        """Tell whether it is ready."""
        try:
            with psycopg.connect(self.address, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a question, or none of what has none."""
        with psycopg.connect(self.address, autocommit=True) as db:
            cursor = db.execute(sql.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def promote(self) -> None:
        """Make a standby a primary."""
        self._run("pg_ctl", "promote", "-D", str(self._data))

    def end(self) -> None:
        """Stop it in an orderly way; it can be started again."""
        if self.process is not None:
            self._signal(signal.SIGINT)
            self.process.wait(timeout=STOP_S)
            self.process = None

    def stop(self) -> None:
        """Stop it and remove the folder; what it has of shared memory goes with it."""
        with suppress(subprocess.TimeoutExpired):
            self.end()
        super().stop()

    def kill(self) -> None:
        """Kill it with all its processes at once, as a machine loses power."""
        children = self._children()
        super().kill()
        for one in children:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to it, or where it is to stand still or go on to all its processes: each is
        a group of its own.
        """
        children = self._children() if number in {signal.SIGSTOP, signal.SIGCONT} else []
        super()._signal(number)
        for one in children:
            with suppress(ProcessLookupError):
                os.kill(one, number)

    def _children(self) -> list[int]:
        if self.process is None:
            return []
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(one) for one in path.read_text().split()]

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [*_as_user(), str(BIN / program), *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _as_user() -> list[str]:
    if os.geteuid():
        return []
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
