"""The supervisor with real child processes: starts, deaths, stops, reloads."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from oborona.daemon.hang_detector import ABORT_S
from oborona.daemon.supervisor import READY_WITHOUT_S, SAME_STOP_S
from oborona.heartbeat import LEAST_S

HUNG_S = 2.5  # of jobs with a heart, in the program

PROGRAM = Path(__file__).with_name("service_program.py")
PATIENCE_S = 20.0  # against hangs alone


class Event(NamedTuple):
    name: str
    what: str
    pid: int
    at: float


class Service:
    """The program under test, what its jobs wrote, and the service manager it reports to."""

    def __init__(
        self, folder: Path, *jobs: str, grace_s: float = 30.0, environ: dict[str, str] | None = None
    ) -> None:
        self._events = folder / "events"
        self._events.touch()
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(folder / "notify"))
        self._manager.setblocking(False)
        self._heard: list[str] = []
        self._log = (folder / "log").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, self._events, str(grace_s), *jobs],
            env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), **(environ or {})},
            stderr=self._log,
            start_new_session=True,
        )

    def events(self, name: str = "", what: str = "") -> list[Event]:
        lines = (
            line.split()
            for line in self._events.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        )
        found = [Event(one, does, int(pid), float(at)) for one, does, pid, at in lines]
        return [
            event
            for event in found
            if event.name == (name or event.name) and event.what == (what or event.what)
        ]

    def wait_for(self, name: str, what: str, times: int = 1) -> Event:
        self.until(lambda: len(self.events(name, what)) >= times, f"{name} {what}, {times} times")
        return self.events(name, what)[times - 1]

    def until(self, true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < deadline, (
                f"never: {what}\n{self.log()}\n{self._events.read_text()}"
            )
            time.sleep(0.01)

    def ready(self) -> None:
        self.wait_for("service", "ready")

    def notified(self) -> list[str]:
        with suppress(BlockingIOError):
            while True:
                self._heard.append(self._manager.recv(4096).decode())
        return self._heard

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read().decode()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.send(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        for pid in {self.process.pid, *(event.pid for event in self.events())}:
            if alive(pid) and (pid == self.process.pid or str(self._events) in command(pid)):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self._manager.close()
        self._log.close()


def state(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def alive(pid: int) -> bool:
    return state(pid) not in {"", "Z", "X"}


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    services: list[Service] = []

    def start(*jobs: str, grace_s: float = 30.0, environ: dict[str, str] | None = None) -> Service:
        services.append(Service(tmp_path, *jobs, grace_s=grace_s, environ=environ))
        return services[-1]

    yield start
    for service in services:
        service.close()


def test_ready_is_told_once_when_all_serve(start: Start) -> None:
    service = start("worker-0:serve", "writer:late")
    service.ready()
    first = next(index for index, said in enumerate(service.notified()) if "READY=1" in said)
    assert service.notified()[first] == "READY=1\nSTATUS=2 of 2 processes serve"
    assert all("READY" not in said for said in service.notified()[:first])
    assert service.end() == 0
    assert "STOPPING=1" in service.notified()
    assert len(service.events("service", "ready")) == 1
    assert sum("READY=1" in said for said in service.notified()) == 1


def test_one_child_killed_leaves_the_others_and_comes_back(start: Start) -> None:
    service = start("worker-0:serve", "worker-1:serve")
    service.ready()
    victim = service.wait_for("worker-0", "serves").pid
    os.kill(victim, signal.SIGKILL)
    again = service.wait_for("worker-0", "serves", 2)
    assert again.pid != victim
    assert state(victim) == ""  # no zombie
    assert service.end() == 0
    assert len(service.events("worker-1", "born")) == 1
    assert 'process=worker-0 how="was killed by SIGKILL"' in service.log()
    assert len(service.events("service", "ready")) == 1


def test_a_crash_is_logged_with_its_traceback_and_forges_no_line(start: Start) -> None:
    service = start("worker-0:crash_once")
    service.wait_for("worker-0", "serves")
    assert service.end() == 0
    assert "  | Traceback (most recent call last):" in service.log()
    assert "  | RuntimeError: a bug" in service.log()
    assert not any(line.startswith("level=info msg=forged") for line in service.log().splitlines())
    assert 'how="exited with status 70"' in service.log()


def test_who_never_served_is_started_again_after_growing_delays(start: Start) -> None:
    service = start("worker-0:fruitless", "worker-1:serve")
    service.wait_for("worker-0", "born", 4)
    at = [event.at for event in service.events("worker-0", "born")]
    assert at[2] - at[1] >= 0.5
    assert at[3] - at[2] >= 1.0
    assert service.end() == 0


def test_who_served_and_dies_is_started_again_once_a_second(start: Start) -> None:
    service = start("worker-0:crash", "worker-1:serve")
    service.wait_for("worker-0", "born", 5)
    at = [event.at for event in service.events("worker-0", "born")]
    assert all(0.5 <= after - before < 3.0 for before, after in pairwise(at)), (
        "they say it late on a busy machine"
    )
    assert service.end() == 0


def test_the_last_worker_waits_a_second_at_most(start: Start) -> None:
    """One that never served waits four seconds by now.

    Then the other, which stood in for it, goes and can't come back.
    """
    service = start("worker-0:fruitless", "worker-1:serve_once")
    died = service.wait_for("worker-0", "born", 5).at
    os.kill(service.wait_for("worker-1", "serves").pid, signal.SIGKILL)
    assert service.wait_for("worker-0", "born", 6).at - died < 3.0
    assert service.end() == 0


def test_nobody_serves_and_no_delay_grows(start: Start) -> None:
    service = start("worker-0:fruitless")
    service.wait_for("worker-0", "born", 6)
    at = [event.at for event in service.events("worker-0", "born")]
    assert at[-1] - at[-2] < 3.0, "it would be four seconds by now"
    assert service.end() == 0


def test_a_final_status_ends_the_service_with_it(start: Start) -> None:
    service = start("worker-0:serve", "writer:busy,last")
    assert service.process.wait(PATIENCE_S) == os.EX_CONFIG
    assert service.events("worker-0", "gone")
    assert len(service.events("writer", "born")) == 1
    line = next(line for line in service.log().splitlines() if 'msg="service stops"' in line)
    assert "level=critical" in line
    assert 'reason="counters.lock is held by oborona writer (pid 1)"' in line


def test_a_file_broken_from_the_start_ends_the_service(start: Start) -> None:
    service = start("worker-0:broken_file")
    assert service.process.wait(PATIENCE_S) == os.EX_CONFIG
    assert "10-rules.toml:3: unknown rule" in service.log()
    assert not service.events("service", "ready")


def test_a_file_broken_later_does_not(start: Start) -> None:
    service = start("worker-0:broken_file_later", "worker-1:serve")
    service.wait_for("worker-0", "serves")
    assert 'reason="10-rules.toml:3: unknown rule"' in service.log()
    assert service.end() == 0


def test_the_writer_is_told_when_the_workers_are_gone(start: Start) -> None:
    service = start("writer:serve,last", "worker-0:serve,slow", "worker-1:serve")
    service.ready()
    assert service.end() == 0
    told = service.events("writer", "told")[0].at
    assert all(event.at <= told for event in service.events(what="gone") if event.name != "writer")
    assert {event.name for event in service.events(what="gone")} == {
        "writer",
        "worker-0",
        "worker-1",
    }


def test_what_does_not_end_in_its_grace_is_killed(start: Start) -> None:
    service = start("worker-0:deaf", "worker-1:serve", "writer:serve,last", grace_s=0.5)
    service.ready()
    began = time.monotonic()
    assert service.end() == 0
    assert time.monotonic() - began >= 0.5
    assert service.events("worker-0", "told")
    assert service.events("worker-1", "gone")
    assert service.events("writer", "gone")
    assert 'msg="process killed" process=worker-0' in service.log()
    assert 'msg="process killed" process=worker-1' not in service.log()


def test_a_second_sigterm_kills_at_once(start: Start) -> None:
    service = start("worker-0:deaf", "writer:serve,last", grace_s=600)
    service.ready()
    service.send(signal.SIGTERM)
    service.wait_for("worker-0", "told")
    time.sleep(SAME_STOP_S)
    assert service.end(signal.SIGINT) == 0
    assert not service.events("writer", "gone")


def test_one_stop_that_comes_twice_kills_nothing(start: Start) -> None:
    service = start("worker-0:serve,slow", "writer:serve,last")
    service.ready()
    service.send(signal.SIGTERM)
    service.wait_for("worker-0", "told")  # it needs less than SAME_STOP_S to end
    assert service.end(signal.SIGINT) == 0
    assert service.events("worker-0", "gone")
    assert service.events("writer", "gone")
    assert len(service.events("service", "stops")) == 1


def test_stopping_is_told_before_any_child_is(start: Start) -> None:
    service = start("worker-0:serve", "writer:serve,last")
    service.ready()
    assert service.end() == 0
    [stops] = service.events("service", "stops")
    assert stops.pid == service.process.pid
    order = [event for event in service.events() if event.what in {"stops", "told"}]
    assert order[0] == stops


def test_sighup_reaches_every_child_as_the_signal_it_asked_for(start: Start) -> None:
    service = start("worker-0:serve", "worker-1:serve,usr2")
    service.ready()
    service.send(signal.SIGHUP)
    service.wait_for("worker-0", "hup")
    service.wait_for("worker-1", "usr2")
    assert not service.events("worker-1", "hup")
    told = next(
        index
        for index, said in enumerate(service.notified())
        if said.startswith("RELOADING=1\nMONOTONIC_USEC=")
    )
    assert int(service.notified()[told].rpartition("=")[2]) < time.monotonic_ns() // 1000
    service.until(lambda: "READY=1" in service.notified()[told + 1 :], "READY after RELOADING")
    assert service.end() == 0


def test_a_child_that_starts_is_reloaded_when_it_serves(start: Start) -> None:
    service = start("worker-0:serve", "worker-1:late")
    service.wait_for("worker-0", "serves")
    service.wait_for("worker-1", "born")
    service.send(signal.SIGHUP)
    service.wait_for("worker-1", "hup")
    os.kill(service.wait_for("worker-0", "hup").pid, signal.SIGKILL)
    # it was forked from a parent that has read the old files
    service.wait_for("worker-0", "hup", 2)
    assert len(service.events("worker-1", "born")) == 1
    assert service.end() == 0


def test_children_end_with_a_parent_that_was_killed(start: Start) -> None:
    service = start("worker-0:serve", "writer:serve,last")
    service.ready()
    service.wait_for("worker-0", "serves")
    service.wait_for("writer", "serves")
    service.send(signal.SIGKILL)
    service.wait_for("worker-0", "gone")
    service.wait_for("writer", "gone")
    service.until(
        lambda: not any(alive(event.pid) for event in service.events(what="born")), "all gone"
    )


def test_a_terminals_interrupt_is_for_the_parent_alone(start: Start) -> None:
    service = start("worker-0:serve,slow")
    service.ready()
    service.wait_for("worker-0", "serves")
    os.killpg(service.process.pid, signal.SIGINT)
    assert service.process.wait(PATIENCE_S) == 0
    assert service.events("worker-0", "gone")  # SIGTERM, not KeyboardInterrupt


def test_other_signals_are_ignored(start: Start) -> None:
    service = start("worker-0:serve")
    service.ready()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD):
        service.send(number)
    assert service.end() == 0
    assert len(service.events("worker-0", "born")) == 1


def test_no_signal_is_lost_or_doubled_around_forks(start: Start) -> None:
    """Children crash and are forked again while signals pour in.

    The others live, the parent obeys, nothing is left.
    """
    service = start("worker-1:serve", "worker-0:crash", "worker-2:crash")
    service.wait_for("worker-1", "serves")

    def storm() -> bool:
        service.send(signal.SIGHUP)
        service.send(signal.SIGCHLD)
        service.notified()  # a manager that does not read holds its service up
        return all(len(service.events(name, "born")) >= 3 for name in ("worker-0", "worker-2"))

    service.until(storm, "three lives each")
    assert len(service.events("worker-1", "born")) == 1
    assert service.events("worker-1", "hup")
    assert service.end() == 0
    assert len(service.events("worker-1", "gone")) == 1
    assert not any(alive(event.pid) for event in service.events(what="born"))


def test_descriptors_of_others_are_closed_in_a_child(start: Start) -> None:
    service = start("worker-0:serve,socket", "worker-1:serve,socket", "writer:serve")
    service.ready()

    def descriptors(pid: int) -> list[str]:
        return sorted(
            str(link.readlink()).split(":")[0]
            for link in Path(f"/proc/{pid}/fd").iterdir()
            if int(link.name) > 2
        )

    own = [str(service._events), "pipe"]  # where it writes, and its word to the parent
    assert descriptors(service.wait_for("worker-1", "serves").pid) == sorted([*own, "socket"])
    assert descriptors(service.wait_for("writer", "serves").pid) == sorted(own)
    assert service.end() == 0


def test_who_is_stopped_is_replaced_and_nobody_else_is_touched(start: Start) -> None:
    service = start("worker-0:serve,heart", "worker-1:serve,heart")
    service.ready()
    victim = service.wait_for("worker-0", "serves").pid
    os.kill(victim, signal.SIGSTOP)
    stopped = time.monotonic()
    again = service.wait_for("worker-0", "serves", 2)
    # counted from its last beat, which on a busy machine is older than the signal
    assert HUNG_S - LEAST_S <= time.monotonic() - stopped < HUNG_S + 4 * LEAST_S + ABORT_S
    assert again.pid != victim
    assert state(victim) == ""
    assert len(service.events("worker-1", "born")) == 1
    line = next(line for line in service.log().splitlines() if 'msg="process hangs"' in line)
    assert "level=error" in line
    assert f"process=worker-0 child={victim} silent_s=" in line
    assert 'process=worker-0 how="stood still, was killed by SIGABRT"' in service.log()
    assert service.end() == 0


def test_both_stopped_are_replaced(start: Start) -> None:
    service = start("worker-0:serve,heart", "worker-1:serve,heart")
    service.ready()
    for name in ("worker-0", "worker-1"):
        os.kill(service.wait_for(name, "serves").pid, signal.SIGSTOP)
    for name in ("worker-0", "worker-1"):
        service.wait_for(name, "serves", 2)
    assert service.end() == 0


def test_who_spins_says_where_and_is_replaced(start: Start) -> None:
    service = start("worker-0:spin_once,heart", "worker-1:serve,heart")
    service.wait_for("worker-0", "serves", 2)
    log = service.log()
    assert "  | Fatal Python error: Aborted" in log
    assert "in spins_in_a_loop" in log
    assert 'how="spun, was killed by SIGABRT"' in log
    assert len(service.events("worker-1", "born")) == 1
    assert service.end() == 0


def test_a_fault_in_native_code_says_where(start: Start) -> None:
    service = start("worker-0:serve")
    service.ready()
    os.kill(service.wait_for("worker-0", "serves").pid, signal.SIGSEGV)
    service.wait_for("worker-0", "serves", 2)
    assert "  | Fatal Python error: Segmentation fault" in service.log()
    assert 'how="was killed by SIGSEGV' in service.log()
    assert 'reason=""' in service.log()
    assert service.end() == 0


def test_a_pause_of_the_whole_machine_kills_nobody(start: Start) -> None:
    """Everything stands still for longer than a hung child may.

    The child goes on a moment after its supervisor, which looks at once.
    """
    service = start("worker-0:serve,heart")
    service.ready()
    child = service.wait_for("worker-0", "serves").pid
    os.kill(child, signal.SIGSTOP)
    time.sleep(LEAST_S + 0.1)  # a look: from here on it is silent
    service.send(signal.SIGSTOP)
    time.sleep(HUNG_S + LEAST_S)
    service.send(signal.SIGCONT)
    time.sleep(0.3)
    os.kill(child, signal.SIGCONT)
    time.sleep(HUNG_S)
    assert len(service.events("worker-0", "born")) == 1
    assert "hangs" not in service.log()
    assert service.end() == 0


def test_a_slow_start_is_not_hanging(start: Start) -> None:
    service = start("worker-0:slow_start,heart")
    service.wait_for("worker-0", "serves")
    assert len(service.events("worker-0", "born")) == 1
    assert service.end() == 0


def test_ready_does_not_wait_for_ever_for_what_mail_does_not_need(start: Start) -> None:
    service = start("worker-0:serve", "trainer:fruitless,beside")
    service.ready()
    [ready] = service.events("service", "ready")
    # written behind the word that is heard
    waited_s = ready.at - service.wait_for("worker-0", "serves").at
    assert READY_WITHOUT_S - 1 <= waited_s < READY_WITHOUT_S + 3
    assert any(said == "READY=1\nSTATUS=1 of 2 processes serve" for said in service.notified())
    assert service.end() == 0


def test_ready_waits_for_workers(start: Start) -> None:
    service = start("worker-0:fruitless", "trainer:serve,beside")
    service.wait_for("worker-0", "born", 4)
    assert not service.events("service", "ready")
    assert service.end() == 0


def test_the_watchdog_is_not_fed_while_no_worker_serves(start: Start) -> None:
    """The workers stand still, and their supervisor with all else goes on: no feeding from when
    they are held to hang.
    """
    service = start(
        "worker-0:hung_for_good,heart", "keeper:serve,beside", environ={"WATCHDOG_USEC": "200000"}
    )
    service.ready()

    def killed() -> bool:
        service.notified()  # a manager that does not read holds its service up
        return len(service.events("worker-0", "born")) == 2

    service.until(killed, "killed, and its successor never serves")
    service.notified().clear()
    time.sleep(1.0)
    assert "WATCHDOG=1" not in service.notified()
    assert service.end() == 0


def test_the_watchdog_is_fed_by_one_worker_of_two(start: Start) -> None:
    service = start(
        "worker-0:hung_for_good,heart", "worker-1:serve,heart", environ={"WATCHDOG_USEC": "200000"}
    )
    service.ready()

    def killed() -> bool:
        service.notified()
        return len(service.events("worker-0", "born")) == 2

    service.until(killed, "killed")
    service.notified().clear()
    service.until(lambda: service.notified().count("WATCHDOG=1") >= 3, "three pings")
    assert service.end() == 0


def test_the_watchdog_is_fed(start: Start) -> None:
    service = start("worker-0:serve", environ={"WATCHDOG_USEC": "200000"})
    service.ready()
    service.until(lambda: service.notified().count("WATCHDOG=1") >= 3, "three pings")
    assert service.end() == 0


def test_who_rests_is_started_again_when_somebody_connects(start: Start, tmp_path: Path) -> None:
    service = start("w:serve", "r:rest,beside")
    service.ready()
    service.wait_for("r", "idle")
    service.until(lambda: "process rests" in service.log(), "rests")
    service.send(signal.SIGHUP)  # is no start
    service.wait_for("w", "hup")
    assert len(service.events("r", "born")) == 1
    port = int((tmp_path / "events.port").read_text())
    for times in (1, 2):
        with socket.create_connection(("127.0.0.1", port)):
            service.wait_for("r", "served", times)
    service.until(lambda: service.log().count("process rests") == 3, "rests again")
    assert "STATUS=1 of 2 processes serve" not in service.notified()[-1]
    assert "process ended" not in service.log()
    assert service.end() == 0


def test_a_service_of_who_rests_is_ready_and_stops(start: Start) -> None:
    service = start("r:rest")
    service.ready()
    service.until(lambda: "process rests" in service.log(), "rests")
    assert service.end() == 0


def test_who_never_served_does_not_rest(start: Start) -> None:
    service = start("w:serve", "early:rest,beside")
    service.wait_for("early", "born", 2)
    assert "process rests" not in service.log()
