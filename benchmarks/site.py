"""Several machines as one site: changes and events a second, and how long another one waits.

    benchmarks/site.py [--changes 2000] [--events 10000] [--machines 3]

A PostgreSQL of its own with `fsync`, state folders as machines, all on loopback. Wall and CPU: the
database's part is not in the CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oborona import state_files
from oborona.daemon.trainer.turn import TrainerTurn
from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.replication.replica import position_of
from oborona.stores.persons.store import PersonStore
from tests.peers.postgresql import Postgresql
from tests.replication.machines import following, new_state, site_of

WRITERS = 4
DOORS = 500  # events that are handed in at once
FRESH, AGAIN = 2_200, b"a b c " * 300  # octets of a raw copy: 2.3 kB when it is packed, as mail is
HOLDER = """
import sys, time
from pathlib import Path
from oborona.daemon.trainer.turn import TrainerTurn
with TrainerTurn(Path(sys.argv[1])) as turn:
    while not turn.is_mine():
        time.sleep(0.01)
    print("mine", flush=True)
    time.sleep(60)
"""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--machine", type=Path, help=argparse.SUPPRESS)  # be one
    asked = parser.parse_args()
    if asked.machine:
        _be_machine(asked.machine, asked.events)
        return
    with tempfile.TemporaryDirectory(prefix="oborona-site-") as folder:
        root = Path(folder)
        with PersonStore(new_state(root / "alone") / state_files.PERSONS) as alone:
            _tell("alone, one writer", *_written(alone, asked.changes))
        with Postgresql(sync=True) as server, ExitStack() as stack:
            machines = site_of(root, server.address, asked.machines)
            for state in machines:
                stack.enter_context(following(state))
            with PersonStore(machines[0] / state_files.PERSONS) as one:
                _tell("a site, one writer", *_written(one, asked.changes))
            _tell(f"a site, {WRITERS} writers of one machine", *_crowd(machines[:1], asked.changes))
            _tell("a site, a writer of each machine", *_crowd(machines, asked.changes))
            late = sorted(_late(machines, min(asked.changes, 500)))
            print(
                f"late on {asked.machines - 1} others, ms: p50 {late[len(late) // 2] * 1e3:.1f}, "
                f"p99 {late[int(len(late) * 0.99)] * 1e3:.1f}, most {late[-1] * 1e3:.1f}"
            )
        with Postgresql(sync=True) as server:
            machines = site_of(root / "events", server.address, asked.machines)
            _tell_events("one machine hears", machines, [asked.events])
            _tell_events("all hear", machines, [asked.events // len(machines)] * len(machines))
            for what, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
                print(f"{what}: another believes after {_taken_over(machines, number):.1f} s")


def _tell(what: str, changes: int, wall: float, cpu: float) -> None:
    print(f"{what}: {changes / wall:,.0f} changes/s, {cpu / changes * 1e6:,.0f} us of CPU each")


def _tell_events(what: str, machines: list[Path], events: list[int]) -> None:
    """Let each machine be a process that hears so many, and follows the others."""
    events += [0] * (len(machines) - len(events))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, __file__, "--machine", str(state), "--events", str(number)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            for state, number in zip(machines, events, strict=True)
        ]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        began = time.perf_counter()
        for process in running:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        wall = time.perf_counter() - began
        time.sleep(2)  # they follow
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"events, {what}: {sum(events) / wall:,.0f}/s acknowledged, "
        f"{cpu / sum(events) * 1e6:,.0f} us of CPU each on all {len(machines)} machines"
    )


def _be_machine(state: Path, number: int) -> None:
    with following(state):
        print("ready", flush=True)
        sys.stdin.readline()
        asyncio.run(hear(state, number))
        print("done", flush=True)
        sys.stdin.read()


async def hear(state: Path, number: int) -> None:
    """Have a machine hear so many reports."""
    doors = asyncio.Semaphore(DOORS)

    async def one(taking: EventWriter, place: int) -> None:
        async with doors:
            await taking.take(
                FeedbackEvent(
                    what=EventKind.COMPLAINT,
                    way=EventChannel.SIEVE,
                    time=time.time(),
                    person=f"p{place % 1000}@example.test",
                    ident=place,
                    raw=os.urandom(FRESH) + AGAIN,
                    mailbox="Junk",
                    key=os.urandom(16),
                )
            )

    async with EventWriter(state / state_files.EVENTS) as taking:
        await asyncio.gather(*(one(taking, place) for place in range(number)))


def _taken_over(machines: list[Path], number: int) -> float:
    """Return seconds from when the machine that believes is ended until another does."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(machines[0])], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with TrainerTurn(machines[1]) as turn:
            time.sleep(1.5)
            holder.send_signal(number)
            began = time.perf_counter()
            while not turn.is_mine():
                time.sleep(0.01)
            taken = time.perf_counter() - began
        holder.kill()
    return taken


def _written(store: PersonStore, changes: int) -> tuple[int, float, float]:
    with _clocks() as spent:
        for number in range(changes):
            store.strict(f"p{number % 100}@example.test", 1.0 + number % 9 / 10)
    return changes, spent[0], spent[1]


def _crowd(machines: list[Path], changes: int) -> tuple[int, float, float]:
    writers = machines if len(machines) > 1 else machines * WRITERS
    each = changes // len(writers)

    def write(state: Path) -> None:
        with PersonStore(state / state_files.PERSONS) as store:
            _written(store, each)

    threads = [threading.Thread(target=write, args=(state,)) for state in writers]
    with _clocks() as spent:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return each * len(writers), spent[0], spent[1]


def _late(machines: list[Path], changes: int) -> Iterator[float]:
    """Yield after how many seconds the last machine has a change, from when it is acknowledged."""
    files = [state / state_files.PERSONS for state in machines]
    with ExitStack() as stack:
        writer = stack.enter_context(PersonStore(files[0]))
        first, *others = (stack.enter_context(closing(sqlite3.connect(file))) for file in files)
        for number in range(changes):
            writer.strict("late@example.test", 1.0 + number % 9 / 10)
            at = time.perf_counter()
            wanted = position_of(first).number
            while any(position_of(db).number < wanted for db in others):
                time.sleep(0.0002)
            yield time.perf_counter() - at
            time.sleep(0.005)


@contextmanager
def _clocks() -> Iterator[list[float]]:
    spent = list[float]()
    wall, cpu = time.perf_counter(), time.process_time()
    yield spent
    spent += [time.perf_counter() - wall, time.process_time() - cpu]


if __name__ == "__main__":
    main()
