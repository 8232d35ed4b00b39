"""Several machines of a site on loopback: each a desk as a process of its own with stores of its
own, and a journal of made-up mail.
"""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.search_journal import SearchedMail, fill
from oborona import state_files
from oborona.daemon.state import prepare_state
from oborona.desk.peers.identity import own_identity
from oborona.ident import to_text
from oborona.people.caller import Scope
from oborona.people.rights import Role
from oborona.people.session_book import SessionBook
from oborona.people.store import PeopleStore, new_person

START_S = 40.0
ROWS = 40  # messages of a machine
SPAN_S = 3_600.0

_RUN = """
import sys, time
ahead, *words = sys.argv[1:]
if float(ahead):
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + float(ahead)
    time.time_ns = lambda: real_ns() + int(float(ahead) * 1e9)
from oborona.cli import main
main(words)
"""


class Machine:
    """One of them.

    Args:
        folder: of its own.
        name: by which others know it.
        seed: of its mail.
        ahead: seconds that its clock is.
    """

    def __init__(self, folder: Path, name: str, *, seed: int = 1, ahead: float = 0.0) -> None:
        self.name, self.ahead = name, ahead
        self.state = folder / name
        self.port = _free_port()
        prepare_state(self.state)
        journal = self.state / state_files.JOURNAL
        fill(journal, SearchedMail(seed), time.time() - SPAN_S, SPAN_S, ROWS)
        self.identity = own_identity(self.state, f"{name}.example.org")
        self.process: subprocess.Popen[bytes] | None = None
        self.settings = {
            "console.enabled": "true",
            "console.listen": "",
            "paths.state": str(self.state),
            "site.name": f"{name}.example.org",
        }

    @property
    def socket(self) -> Path:
        """Of its desk."""
        return self.state / state_files.DESK_SOCKET

    def idents(self) -> list[str]:
        """Return the ids of its mail, the newest first."""
        with closing(sqlite3.connect(self.state / state_files.JOURNAL)) as db:
            found = db.execute("SELECT id FROM verdict ORDER BY id DESC").fetchall()
        return [to_text(ident) for (ident,) in found]

    def sign_in(self, name: str, role: Role = Role.ADMIN, scope: Scope | None = None) -> str:
        """Return the token of a session."""
        scope = scope or Scope()
        with PeopleStore(self.state / state_files.PEOPLE) as store:
            person = new_person(
                name, roles=frozenset({role}), domains=scope.domains or frozenset(),
                addresses=scope.addresses, language="en", made_by="test", now=time.time(),
            )  # fmt: skip
            sessions = SessionBook(store, step_required=False)
            return sessions.begin(store.add(person), "", "test", time.time())

    def answers_to(self, home: Machine) -> None:
        """Believe another machine."""
        trusted = self.state / "home.pem"
        trusted.write_bytes(home.identity.certificate)
        self.settings |= {
            "console.desk_listen": f"inet:127.0.0.1:{self.port}",
            "console.home_certificate": str(trusted),
        }

    def asks(self, others: Sequence[Machine], certificates: Mapping[str, bytes] = {}) -> None:
        """Be the home machine of others."""
        folder = self.state / "desks"
        folder.mkdir()
        for other in others:
            pem = certificates.get(other.name, other.identity.certificate)
            (folder / f"{other.name}.pem").write_bytes(pem)
        desks = " ".join(f"{one.name}=https://127.0.0.1:{one.port}" for one in others)
        self.settings |= {"console.desks": desks, "console.desk_certificates": str(folder)}

    def start(self) -> None:
        """Begin to answer."""
        sets = [f"--set={name}={value}" for name, value in self.settings.items()]
        command = [sys.executable, "-c", _RUN, str(self.ahead), *sets, "desk"]
        with (self.state / "desk.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def wait(self) -> None:
        """Return once it answers."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(str(self.socket))
                except OSError:
                    assert self.process is not None
                    assert self.process.poll() is None, (self.state / "desk.log").read_text()
                    time.sleep(0.05)
                    continue
            self.child()
            return
        raise TimeoutError((self.state / "desk.log").read_text())

    def child(self) -> int:
        """Return the pid of the desk itself, whose parent watches it."""
        assert self.process is not None
        pid = self.process.pid
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if found:
                return int(found[0])
            time.sleep(0.05)
        raise TimeoutError(self.name)

    def kill(self) -> None:
        """End it, and who would start it again, without a word."""
        assert self.process is not None
        child = self.child()
        self.process.kill()
        os.kill(child, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.process = None


@contextmanager
def running(machines: Sequence[Machine]) -> Iterator[None]:
    """Have machines run."""
    try:
        for machine in machines:
            machine.start()
        for machine in machines:
            machine.wait()
        yield
    finally:
        for machine in machines:
            machine.stop()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
