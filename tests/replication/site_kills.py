"""Two machines of a site hear events and believe them in turn, while one is killed or stands still,
its line is cut, or PostgreSQL ends, whose standby takes its place: no acknowledged event is lost,
each is believed once.

    python -m tests.replication.site_kills ROUNDS [SEED]
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import msgspec

from oborona import state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.label_store import LabelStore
from oborona.replication.link import link_path, read_link
from tests.peers.postgresql import Postgresql
from tests.peers.postgresql_pair import PostgresqlPair
from tests.replication.cut_line import CutLine
from tests.replication.machines import dump, site_of
from tests.replication.site_machine import first_number
from tests.waiting import wait_so

ROOT = Path(__file__).resolve().parents[2]
TAKEN_OVER_S = 10.0
HEALED_S = 60.0
_FILES = {EventLog: state_files.EVENTS, LabelStore: state_files.FEEDBACK}
EVENTS = 12  # that a machine hears in a round


class KilledMachine:
    """A machine with a line of its own to each PostgreSQL.

    Attributes:
        acknowledged: numbers of the events that it has.
        last: of those that it hears since its last start.
    """

    def __init__(self, state: Path, lines: list[CutLine]) -> None:
        self.state, self.lines = state, lines
        self.acknowledged: list[int] = []
        self.last = 0
        self.process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []

    def start(self, turn: int, events: int) -> None:
        """Let it run, and hear some events."""
        self.last = first_number(turn) + events - 1
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.replication.site_machine",
                str(self.state),
                str(turn),
                str(events),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        reader.start()
        self._readers.append(reader)

    def end(self, number: int = signal.SIGKILL) -> None:
        """End it by a signal."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(timeout=30)

    def close(self) -> None:
        """End it, and hear all that it has said."""
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.end()
        for reader in self._readers:
            reader.join()

    def _read(self, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                if line.endswith("\n"):
                    self.acknowledged.append(int(line))


class KilledSite:
    """A site of two machines, and what befalls it.

    Args:
        root: of the state folders.
        postgresql: the site's.
        seed: of what happens when.
    """

    def __init__(
        self, root: Path, postgresql: Postgresql | PostgresqlPair, seed: int, stack: ExitStack
    ) -> None:
        self._chance = random.Random(seed)
        self._postgresql = postgresql
        self._turn = 0
        self.machines = []
        for state in site_of(root, postgresql.address, 2):
            lines = [stack.enter_context(CutLine(port)) for port in postgresql.ports]
            link = read_link(state)
            assert link is not None
            address = postgresql.address
            for port, line in zip(postgresql.ports, lines, strict=True):
                address = address.replace(str(port), str(line.port))
            link_path(state).write_bytes(
                msgspec.json.encode(msgspec.structs.replace(link, address=address))
            )
            machine = KilledMachine(state, lines)
            stack.callback(machine.close)
            self.machines.append(machine)

    def believer(self) -> KilledMachine:
        """Return the machine whose turn it was last."""
        rows = self._postgresql.rows("SELECT machine FROM oborona.lock WHERE name = 'trainer'")
        name = rows[0][0] if rows else "mx1"
        return next(one for one in self.machines if one.state.name == name)

    def start(self, machine: KilledMachine, events: int) -> None:
        """Let a machine run, with numbers of its own."""
        self._turn += 1
        machine.start(self._turn, events)

    def suffer(self, fault: str) -> None:
        """Let something befall the machine that believes, and heal it."""
        machine = self.believer()
        assert machine.process is not None
        time.sleep(self._chance.uniform(0.2, 1.2))
        if fault == "killed":
            machine.end()
            self.start(machine, EVENTS)
        elif fault == "stopped":
            os.kill(machine.process.pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(4.0, 6.0))
            os.kill(machine.process.pid, signal.SIGCONT)
        elif fault == "cut":
            for line in machine.lines:
                line.held = True
            time.sleep(self._chance.uniform(4.0, 6.0))
            for line in machine.lines:
                line.held = False
        elif isinstance(self._postgresql, PostgresqlPair):
            self._postgresql.fail_over()
            time.sleep(self._chance.uniform(0.5, 2.0))
            self._postgresql.rejoin()
        else:
            self._postgresql.kill()
            time.sleep(self._chance.uniform(0.5, 2.0))
            self._postgresql.start()

    def run(self, faults: list[str]) -> None:
        """Let faults befall it under load, and look at what is left.

        Raises:
            AssertionError: an event is lost, or believed twice.
        """
        for machine in self.machines:
            self.start(machine, EVENTS * (len(faults) + 1))
        wait_so("a machine believes", lambda: bool(self._believed(self.machines[0])), HEALED_S)
        for fault in faults:
            self.suffer(fault)
        wait_so("each event is believed everywhere", self._settled, HEALED_S)
        for machine in self.machines:
            machine.close()
        for machine in self.machines:  # what one wrote just before it was ended, the other may lack
            for store in (EventLog, LabelStore):
                with store(machine.state / _FILES[store]) as opened, opened.transaction():
                    pass
            self._check(machine)
        for name in (state_files.EVENTS, state_files.FEEDBACK):
            first, second = (dump(machine.state, name) for machine in self.machines)
            assert first == second, name

    def acknowledged(self) -> set[int]:
        """Return the events that somebody was told are written down."""
        return {number for machine in self.machines for number in machine.acknowledged}

    def _settled(self) -> bool:
        wanted = self.acknowledged() | {machine.last for machine in self.machines}
        return all(
            wanted <= {number for number, *_ in self._believed(machine)}
            for machine in self.machines
        )

    def _believed(self, machine: KilledMachine) -> list[tuple[int, int, int, int]]:
        """Return number, turn, turn done, and label of each event that is believed."""
        path = machine.state / state_files.EVENTS
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
                rows = db.execute(
                    "SELECT key, turn, done, word FROM event WHERE done > 0"
                ).fetchall()
        except sqlite3.OperationalError:  # it is not there yet
            return []
        return [(int(key.split()[1]), turn, done, word) for key, turn, done, word in rows]

    def _check(self, machine: KilledMachine) -> None:
        believed = self._believed(machine)
        lost = self.acknowledged() - {number for number, *_ in believed}
        assert not lost, f"{machine.state.name} has lost {sorted(lost)}"
        words = [word for _, _, _, word in believed]
        assert 0 not in words
        assert len(set(words)) == len(words), "two events have one label"
        with closing(sqlite3.connect(machine.state / state_files.FEEDBACK)) as db:
            (labels,) = db.execute("SELECT count(*) FROM word").fetchone()
        with closing(sqlite3.connect(machine.state / state_files.EVENTS)) as db:
            (events,) = db.execute("SELECT count(*) FROM event").fetchone()
        assert labels <= events, "an event is believed twice"


def main() -> None:
    """Run rounds, each with a seed of its own."""
    rounds, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for number in range(seed, seed + rounds):
        faults = random.Random(number).choices(("killed", "stopped", "cut", "postgresql"), k=4)
        with (
            tempfile.TemporaryDirectory(prefix="oborona-site-") as folder,
            PostgresqlPair() as postgresql,
            ExitStack() as stack,
        ):
            site = KilledSite(Path(folder), postgresql, number, stack)
            site.run(faults)
            print(
                f"seed {number}: {', '.join(faults)}: {len(site.acknowledged())} events", flush=True
            )


if __name__ == "__main__":
    main()
