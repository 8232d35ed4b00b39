"""One machine at a time has a lock of the site, and another has it soon after its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import ReplicationLog
from oborona.replication.site_lock import LockLostError, SiteLock, check_fence
from tests.peers.postgresql import Postgresql
from tests.replication.cut_line import CutLine
from tests.replication.machines import site_of
from tests.whole.gate import eventually

TAKEN_OVER_S = 10.0
HOLDER = """
import sys, time
import msgspec
from oborona.replication.link import ReplicationLink
from oborona.replication.site_lock import SiteLock
link = msgspec.json.decode(sys.argv[1], type=ReplicationLink)
with SiteLock(link, "trainer") as lock, open(sys.argv[2], "a", buffering=1) as notes:
    while True:
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        fence = lock.fence
        if lock.held():
            notes.write(f"{now} {link.machine} {fence}\\n")
        time.sleep(0.02)
"""


class Holders:
    """Processes that write down when they believe that they have the lock."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, link: ReplicationLink) -> None:
        self.processes[link.machine] = subprocess.Popen(
            [sys.executable, "-c", HOLDER, msgspec.json.encode(link).decode(), str(self._notes)]
        )

    def signal(self, name: str, number: int) -> None:
        os.kill(self.processes[name].pid, number)

    def notes(self) -> list[tuple[float, str, int]]:
        """Return when who believed, and his number, by time."""
        if not self._notes.exists():
            return []
        lines = [line.split() for line in self._notes.read_text().splitlines(keepends=True)]
        return sorted((float(at), name, int(fence)) for at, name, fence in lines)

    def after(self, at: float) -> set[str]:
        """Return who has believed since a time."""
        return {name for when, name, _ in self.notes() if when > at}


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def through(link: ReplicationLink, line: CutLine) -> ReplicationLink:
    address = f"postgresql://postgres@127.0.0.1:{line.port}/postgres"
    return msgspec.structs.replace(link, address=address)


@contextmanager
def two_holders(
    tmp_path: Path, postgresql: Postgresql, line: CutLine
) -> Iterator[tuple[Holders, ReplicationLink]]:
    """Run mx1, which has the lock, by a line, and mx2, which waits."""
    links = [read_link(state) for state in site_of(tmp_path, postgresql.address, 2)]
    first, second = (link for link in links if link is not None)
    holders = Holders(tmp_path / "notes")
    try:
        holders.start(through(first, line))
        eventually(lambda: bool(holders.notes()))
        holders.start(second)
        yield holders, first
    finally:
        for process in holders.processes.values():
            process.kill()
            process.wait()


def kill(holders: Holders, _: CutLine, __: Postgresql) -> None:
    holders.signal("mx1", signal.SIGKILL)


def stand_still(holders: Holders, _: CutLine, __: Postgresql) -> None:
    holders.signal("mx1", signal.SIGSTOP)


def cut(_: Holders, line: CutLine, __: Postgresql) -> None:
    line.silent = True


def cut_and_restart(_: Holders, line: CutLine, postgresql: Postgresql) -> None:
    """The holder does not hear that its session ended."""
    line.silent = True
    postgresql.kill()
    postgresql.start()


@pytest.mark.parametrize("fault", [kill, stand_still, cut, cut_and_restart])
def test_taken_over_soon_and_never_two_at_once(
    tmp_path: Path,
    postgresql: Postgresql,
    fault: Callable[[Holders, CutLine, Postgresql], None],
) -> None:
    with CutLine(postgresql.port) as line, two_holders(tmp_path, postgresql, line) as (holders, _):
        eventually(lambda: bool(postgresql.rows(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'oborona mx2 lock'"
        )))  # fmt: skip
        at = now()
        fault(holders, line, postgresql)
        there = now()  # a server that was begun again is, from here on
        eventually(lambda: "mx2" in holders.after(at))
        taken = next(when for when, name, _ in holders.notes() if name == "mx2")
        assert taken - there < TAKEN_OVER_S
        print(f"taken over after {taken - at:.1f} s")
        holders.signal("mx1", signal.SIGCONT)  # whoever is killed does not hear it
        line.silent = False
        later = now()
        eventually(lambda: now() > later + 1.5 and bool(holders.after(now() - 0.5)))
        assert holders.after(later) == {"mx2"}, "who comes back does not take it away"
        names = [name for _, name, _ in holders.notes()]
        assert names == sorted(names), "mx1, then mx2, and never both"
        assert {(name, fence) for _, name, fence in holders.notes()} == {("mx1", 1), ("mx2", 2)}


def test_postgresql_restarts_and_one_has_it(tmp_path: Path, postgresql: Postgresql) -> None:
    with CutLine(postgresql.port) as line, two_holders(tmp_path, postgresql, line) as (holders, _):
        postgresql.kill()
        postgresql.start()
        at = now()
        eventually(lambda: any(fence > 1 for _, _, fence in holders.notes()), TAKEN_OVER_S)
        believed = [(fence, name) for _, name, fence in holders.notes()]
        assert believed == sorted(believed), "the second began when the first had ended"
        assert len(holders.after(at + 3.5)) == 1


def test_who_gives_up_in_order_spares_the_wait_and_writes_no_more(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    links = [read_link(state) for state in site_of(tmp_path, postgresql.address, 2)]
    first, second = (link for link in links if link is not None)
    with (
        ExitStack() as late,
        closing(ReplicationLog(second.address, "mx2")) as log,
        log.connected() as db,
    ):
        with SiteLock(first, "trainer") as lock, SiteLock(first, "believer") as other:
            eventually(lambda: lock.held() and other.held())
            waiting = late.enter_context(SiteLock(second, "trainer"))
            fence = lock.fence
            with db.transaction():
                check_fence(db, "trainer", fence)
            assert not waiting.held()
        assert not lock.held()
        at = now()
        eventually(waiting.held)
        assert now() - at < 2.5, "less than the lease"
        with pytest.raises(LockLostError), db.transaction():
            check_fence(db, "trainer", fence)


def test_of_a_database_that_holds_another_site_nothing_is_held(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    (state,) = site_of(tmp_path, postgresql.address, 1)
    link = read_link(state)
    assert link is not None
    with SiteLock(msgspec.structs.replace(link, site="other"), "trainer") as lock:
        eventually(lambda: "another one" in lock.trouble)
        assert not lock.held()
