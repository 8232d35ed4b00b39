"""Processes that hang are replaced, and mail is answered meanwhile: each kind of process of a whole
daemon is stopped.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from oborona.daemon.hang_detector import ABORT_S, PATIENT
from oborona.heartbeat import LEAST_S
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available

HUNG_S = 3
SLACK_S = 2 * LEAST_S + ABORT_S + 6.0  # a beat and a look late; starting anew, on a busy machine
LETTER = (
    b"From: ann@a.example\r\nSubject: Lunch\r\nMessage-ID: <1@a.example>\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n\r\nAt noon?\r\n"
)

needs_postfix = pytest.mark.skipif(not available(), reason="needs root and Postfix")


def eventually(what: Callable[[], object], within_s: float) -> None:
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


def another(oborona: Oborona, name: str, before: int) -> bool:
    """Whether there is one more than there were."""
    return len(pids(oborona, name)) > before


@needs_postfix
def test_workers_that_are_stopped_are_replaced_and_mail_is_answered() -> None:
    """One of two: mail goes by the other at once.

    Both: mail is answered by those who come for them, within what Postfix waits for us.
    """
    with (
        Oborona(
            {"worker.processes": 2, "worker.hung_s": HUNG_S, "worker.scan_cpu_s": 1}
        ) as oborona,
        Postfix(oborona.milter, main={"milter_connect_timeout": "30s"}) as postfix,
    ):
        for victims in (["worker-0"], ["worker-0", "worker-1"]):
            before = {name: len(pids(oborona, name)) for name in victims}
            for name in victims:
                os.kill(pids(oborona, name)[-1], signal.SIGSTOP)
            began = time.monotonic()
            # who was connected to a stopped worker is told to come again, when that is killed
            eventually(lambda: postfix.send(LETTER)[-1].startswith("250"), HUNG_S + SLACK_S + 10)
            for name in victims:
                eventually(partial(another, oborona, name, before[name]), HUNG_S + SLACK_S)
            assert time.monotonic() - began < HUNG_S + SLACK_S + 10
            assert postfix.send(LETTER)[-1].startswith("250")
        log = oborona.log()
        assert log.count('msg="process hangs"') == 3
        assert "Fatal Python error: Aborted" in log
        assert "SIGKILL" not in log, "who is stopped says where it was, too"


def test_each_other_process_that_is_stopped_is_replaced(tmp_path: Path) -> None:
    kinds = {
        "reader": 1,
        "intake": 1,
        "policy": PATIENT,
        "writer": PATIENT,
        "keeper": PATIENT,
        "trainer": PATIENT,
        "exporter": PATIENT,
    }
    tables = tmp_path / "tables"
    tables.mkdir()
    with Oborona(
        {
            "worker.processes": 1,
            "worker.hung_s": HUNG_S,
            "worker.scan_cpu_s": 1,
            "intake.listen": f"unix:{tmp_path}/feedback.sock",
            "export.folder": tables,
        }
    ) as oborona:
        eventually(lambda: all(pids(oborona, name) for name in kinds), 30)
        time.sleep(2 * LEAST_S)  # all have beaten
        for name in kinds:
            os.kill(pids(oborona, name)[-1], signal.SIGSTOP)
        began = time.monotonic()
        replaced: dict[str, float] = {}
        while len(replaced) < len(kinds):
            for name in kinds.keys() - replaced.keys():
                if len(pids(oborona, name)) == 2:
                    replaced[name] = time.monotonic() - began
            assert time.monotonic() - began < HUNG_S * PATIENT + SLACK_S + 10, sorted(
                kinds.keys() - replaced.keys()
            )
            time.sleep(0.1)
        for name, times in kinds.items():
            # counted from its last beat, which may be older than the signal; the patient are told
            # from the others by far
            assert replaced[name] > HUNG_S * times * 2 / 3, name
        assert len(pids(oborona, "worker-0")) == 1


def test_a_daemon_that_has_nothing_to_do_kills_nobody() -> None:
    """Everything idle for several times what a process may be silent."""
    with Oborona(
        {
            "worker.processes": 1,
            "worker.hung_s": HUNG_S,
            "worker.scan_cpu_s": 1,
            "intake.mail_listen": "",
        }
    ) as oborona:
        time.sleep(4 * HUNG_S)
        assert "hangs" not in oborona.log()
        assert len(re.findall('msg="process started"', oborona.log())) == len(
            set(re.findall('msg="process started" process=(\\S+)', oborona.log()))
        )
