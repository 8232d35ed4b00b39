"""What breaks, and what happens then: killed processes, stops, broken policies, a second daemon, a
full disk.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import smtplib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import lmdb
import pytest

from oborona.counters.lmdb_store import U32, VERSION, VERSION_KEY
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix

LETTER = (
    b"From: ann@a.example\r\nSubject: Lunch\r\nMessage-ID: <1@a.example>\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n\r\nAt noon?\r\n"
)
RULE = '[[rule]]\nname = "LUNCH"\nwhen = "contains(subject, \'lunch\')"\nscore = {score}\n'


def eventually(what: Callable[[], bool], within_s: float = 15.0) -> None:
    until = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def pids(oborona: Oborona, name: str) -> list[int]:
    """Pids of a process of that name, in the order they were started."""
    return [
        int(pid)
        for pid in re.findall(rf'msg="process serves" process={name} child=(\d+)', oborona.log())
    ]


def verdicts(oborona: Oborona) -> list[str]:
    return re.findall(r"msg=verdict .* decided_by=(\S+)", oborona.log())


@pytest.fixture
def oborona(open_folder: Path) -> Iterator[Oborona]:
    """A daemon of one worker with a policy folder of its own."""
    shutil.copytree(SETTINGS.parent / "policy.d", open_folder / "policy.d")
    with Oborona({"worker.processes": 1, "paths.policy": open_folder / "policy.d"}) as running:
        yield running


@pytest.fixture
def postfix(oborona: Oborona) -> Iterator[Postfix]:
    with Postfix(oborona.milter) as running:
        yield running


@contextmanager
def halfway(postfix: Postfix) -> Iterator[smtplib.SMTP]:
    """A session that has named a recipient and sent nothing of its message."""
    client = postfix.connect()
    try:
        assert client.mail("ann@a.example")[0] == 250
        assert client.rcpt("bob@example.test")[0] == 250
        yield client
    finally:
        client.close()


def test_a_killed_worker_costs_its_own_sessions_an_answer_and_no_other(open_folder: Path) -> None:
    """Two workers; the one that holds a session is killed: Postfix's default action answers there,
    the other session goes on.
    """
    with Oborona({"worker.processes": 2}) as oborona, Postfix(oborona.milter) as postfix:
        with (
            halfway(postfix) as first,
            halfway(postfix) as second,
            halfway(postfix) as third,
            halfway(postfix) as fourth,
        ):
            victim = pids(oborona, "worker-0")[-1]
            os.kill(victim, signal.SIGKILL)
            eventually(lambda: len(pids(oborona, "worker-0")) == 2)
            codes = sorted(client.data(LETTER)[0] for client in (first, second, third, fourth))
        # every message that was taken was judged; the line is written after the answer
        eventually(lambda: len(verdicts(oborona)) == codes.count(250))
        assert set(codes) <= {250, 451}
        assert 250 in codes, "the other worker lost nothing"
        assert postfix.send(LETTER)[-1].startswith("250"), "the new worker serves"


def test_connections_that_arrive_while_the_only_worker_restarts_are_served(
    oborona: Oborona, postfix: Postfix
) -> None:
    def judged(number: int) -> bool:
        return len(verdicts(oborona)) == number

    for number in (1, 2, 3):
        os.kill(pids(oborona, "worker-0")[-1], signal.SIGKILL)
        assert postfix.send(LETTER)[-1].startswith("250")
        # the line is written after the answer; the next kill must not be faster
        eventually(partial(judged, number))


def test_a_stop_waits_for_the_message_in_flight(oborona: Oborona, postfix: Postfix) -> None:
    with halfway(postfix) as client:
        assert oborona.process is not None
        oborona.process.terminate()
        eventually(lambda: "stop" in oborona.log().lower())
        time.sleep(0.3)
        assert client.data(LETTER)[0] == 250
    assert oborona.process.wait(15) == 0
    assert verdicts(oborona) == ["below-threshold"]
    assert "was killed" not in oborona.log()


@pytest.mark.parametrize("transport", ["native", "libmilter"])
def test_a_new_connection_is_refused_at_once_while_the_last_messages_are_finished(
    open_folder: Path, transport: str
) -> None:
    def connect() -> float:
        began = time.monotonic()
        with (
            socket.socket(socket.AF_UNIX) as client,
            suppress(ConnectionRefusedError, FileNotFoundError),
        ):
            client.settimeout(10)
            client.connect(bytes(name))
            pytest.fail("it was let in")
        return time.monotonic() - began

    with (
        Oborona({"worker.processes": 2, "doors.milter.transport": transport}) as oborona,
        Postfix(oborona.milter) as postfix,
        halfway(postfix) as client,
    ):
        # another name of the socket, which is not unlinked: refused because nobody listens, not for
        # want of a name
        name = open_folder / "other.sock"
        path = oborona.root / "milter.sock"
        os.link(path, name)
        assert oborona.process is not None
        oborona.process.terminate()
        eventually(lambda: not path.exists(), 1.0)
        time.sleep(0.7)  # libmilter looks at its socket in rounds of 5 s
        assert connect() < 1.0
        assert client.data(LETTER)[0] == 250
        client.quit()
        assert oborona.process.wait(15) == 0
        assert verdicts(oborona) == ["below-threshold"]
        assert "level=error" not in oborona.log()


def test_counters_of_a_newer_oborona_start_nothing(oborona: Oborona) -> None:
    oborona.halt()
    with (
        lmdb.open(str(oborona.state / "counters")) as environment,
        environment.begin(write=True) as txn,
    ):
        txn.put(VERSION_KEY, U32.pack(VERSION + 1))
    before = len(pids(oborona, "worker-0"))
    told = oborona.run("serve")
    assert told.returncode == os.EX_CONFIG, told.stderr
    assert "written by a newer Oborona" in told.stderr
    assert "process started" not in told.stderr
    assert len(pids(oborona, "worker-0")) == before


def test_damaged_counters_are_set_aside_and_it_serves(oborona: Oborona, postfix: Postfix) -> None:
    oborona.halt()
    (oborona.state / "counters/data.mdb").write_bytes(b"rubbish" * 10_000)
    oborona.start()
    [aside] = (oborona.state / "counters").glob("data.mdb.damaged-*")
    assert re.search(rf"level=error .*{aside}", oborona.log())
    assert postfix.send(LETTER)[-1].startswith("250")


def test_a_second_keeper_says_who_the_first_is(oborona: Oborona) -> None:
    second = oborona.run("keeper")
    assert second.returncode == os.EX_CONFIG
    assert "keeper.lock is held by oborona keeper" in second.stderr


def test_what_was_judged_is_counted_and_journaled_after_a_stop_and_after_a_crash(
    oborona: Oborona, postfix: Postfix
) -> None:
    for _ in range(3):
        postfix.send(LETTER, sender="ann@a.example")
    time.sleep(1.2)  # past the journal's batch and the spool's flush
    assert oborona.process is not None
    oborona.process.kill()  # its children die with it
    oborona.process.wait()
    eventually(
        lambda: not alive([pids(oborona, name)[-1] for name in ("worker-0", "writer", "keeper")])
    )
    oborona.start()
    postfix.send(LETTER, sender="ann@a.example")
    for ident in re.findall(r"msg=verdict id=(\S+)", oborona.log()):
        told = oborona.run("explain", "-v", ident)
        assert told.returncode == 0, told.stderr
    eventually(
        lambda: (
            re.search(r"from:\w{16} +│ +(?:\d+ → )?4 ", oborona.run("explain", "-v", ident).stdout)
            is not None
        )
    )


def alive(processes: list[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in processes)


def test_a_policy_changes_while_it_runs_and_a_broken_one_never_replaces_it(
    oborona: Oborona, postfix: Postfix, open_folder: Path
) -> None:
    local = open_folder / "policy.d/90-local.toml"
    local.write_text(RULE.format(score=250))
    eventually(lambda: "policy loaded" in oborona.log())
    assert postfix.send(LETTER)[-1].startswith("550 5.7.1 Message refused")

    local.write_text(RULE.format(score='"many"'))
    eventually(lambda: "policy refused" in oborona.log())
    assert f"{local}:4" in oborona.log(), "the log names file and line"
    assert postfix.send(LETTER)[-1].startswith("550"), "the old policy stays"
    assert oborona.run("policy", "check").returncode == os.EX_CONFIG

    local.write_text(RULE.format(score=250))
    eventually(lambda: "policy is right again" in oborona.log())
    assert oborona.log().count("policy loaded") == 1, "it is the one in use"

    local.unlink()
    assert oborona.process is not None
    oborona.process.send_signal(signal.SIGHUP)
    eventually(lambda: oborona.log().count("policy loaded") == 2)
    assert postfix.send(LETTER)[-1].startswith("250")


def test_a_rule_on_the_client_refuses_before_the_message_is_sent(
    oborona: Oborona, postfix: Postfix, open_folder: Path
) -> None:
    rule = '[[rule]]\nname = "BANNED"\nwhen = "client.ip == \'192.0.2.66\'"\nscore = 300\n'
    (open_folder / "policy.d/90-local.toml").write_text(rule)
    eventually(lambda: "policy loaded" in oborona.log())
    assert postfix.send(LETTER, xclient={"ADDR": "192.0.2.66"})[-1].startswith(
        "554 5.7.1 Client refused, reference"
    )
    eventually(lambda: "stage=connect verdict=reject" in oborona.log())
    assert postfix.send(LETTER, xclient={"ADDR": "192.0.2.67"})[-1].startswith("250")


def test_a_second_daemon_on_the_same_state_says_who_holds_it(oborona: Oborona) -> None:
    second = subprocess.run(
        [*oborona.command("--set", f"doors.milter.listen=unix:{oborona.root}/other.sock", "serve")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode == os.EX_CONFIG
    assert str(oborona.process.pid if oborona.process else 0) in second.stderr
    assert "oborona" in second.stderr


def test_a_socket_in_use_is_an_error_and_one_left_behind_is_taken_over(
    oborona: Oborona, open_folder: Path
) -> None:
    second = subprocess.run(
        oborona.command("--state", str(open_folder / "other"), "serve"),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode == os.EX_OSERR
    assert "milter.sock" in second.stderr

    assert oborona.process is not None
    oborona.process.kill()
    oborona.process.wait()
    eventually(lambda: not alive([pids(oborona, "worker-0")[-1]]))
    assert (oborona.root / "milter.sock").exists()
    oborona.start()


def test_a_full_disk_stops_counting_with_a_loud_error_and_mail_goes_on(open_folder: Path) -> None:
    disk = open_folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=755", "none", disk],
        check=False,
        capture_output=True,
    )
    assert mounted.returncode == 0, f"tests run as root: {mounted.stderr!r}"
    try:
        with (
            Oborona(
                {"worker.processes": 1, "counters.map_mib": 1}, state=disk / "state"
            ) as oborona,
            Postfix(oborona.milter) as postfix,
        ):
            assert postfix.send(LETTER)[-1].startswith("250")
            ballast = disk / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(4096))
            for _ in range(20):
                assert postfix.send(LETTER)[-1].startswith("250")
            eventually(
                lambda: (
                    re.search(r"level=(error|warning).*(No space|no room|full)", oborona.log())
                    is not None
                )
            )
            ballast.unlink()
            eventually(
                lambda: postfix.send(LETTER)[-1].startswith("250") and "again" in oborona.log(), 30
            )
            last = re.findall(r"msg=verdict id=(\S+)", oborona.log())[5]
            eventually(lambda: oborona.run("explain", "-v", last).returncode == 0, 30)
    finally:
        subprocess.run(["umount", disk], check=False)
