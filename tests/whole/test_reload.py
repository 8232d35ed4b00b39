"""The policy changes again and again while mail flows through real workers, and processes are
killed meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.reload import run
from tests.peers.oborona import Oborona
from tests.whole.gate import eventually

ROOT = Path(__file__).resolve().parents[2]
RULE = '[[rule]]\nname = "MANY_LINKS"\nwhen = "links > 5"\nscore = {}\n'


@pytest.fixture
def policy() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    (folder / "10.toml").write_text(RULE.format(1))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def oborona(policy: Path) -> Iterator[Oborona]:
    with Oborona(
        {"worker.processes": 2, "paths.policy": policy, "reader.enabled": "false"}
    ) as running:
        yield running


def pid(oborona: Oborona, process: str) -> int:
    """Return the number of a process that serves, the one started last."""
    started = re.findall(rf"msg=\"process serves\" process={process} child=(\d+)", oborona.log())
    return int(started[-1])


def versions(oborona: Oborona) -> list[str]:
    """Return the versions in use, of the workers by number."""
    folder = oborona.state / "status"
    return [
        msgspec.json.decode((folder / f"worker-{one}.json").read_bytes())["policy"]
        for one in (0, 1)
    ]


def in_force(oborona: Oborona) -> str:
    done = oborona.run("policy", "reload")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[1].rstrip(":")


def test_no_message_is_lost_or_judged_by_half_of_two_policies(policy: Path) -> None:
    """Ten reloads in six seconds.

    How long they take is the benchmark's to say, on a machine of its own.
    """
    report = run(
        policy=policy,
        mail=ROOT / "tests/golden/mails",
        seconds=6.0,
        reloads=10,
        rate=20.0,
        workers=2,
    )
    assert report.reloads == 10
    assert report.lost == 0
    assert report.journaled == report.sent + 1, "the client asks for the terms with one of its own"
    assert report.mixtures == 0


def test_a_publisher_that_is_killed_is_replaced_and_publishes_what_changed_meanwhile(
    oborona: Oborona, policy: Path
) -> None:
    before = in_force(oborona)
    first = pid(oborona, "policy")
    os.kill(first, signal.SIGKILL)
    (policy / "10.toml").write_text(RULE.format(2))
    eventually(lambda: pid(oborona, "policy") != first)
    eventually(lambda: "policy loaded" in oborona.log())
    after = in_force(oborona)
    assert after != before
    eventually(lambda: versions(oborona) == [after, after])


def test_a_worker_that_is_killed_while_the_files_are_broken_comes_up_with_the_policy_in_force(
    oborona: Oborona, policy: Path
) -> None:
    (policy / "10.toml").write_text(RULE.format(2))
    good = in_force(oborona)
    (policy / "10.toml").write_text("broken")
    eventually(lambda: "policy refused" in oborona.log())
    first = pid(oborona, "worker-1")
    os.kill(first, signal.SIGKILL)
    eventually(lambda: pid(oborona, "worker-1") != first)
    eventually(lambda: versions(oborona) == [good, good])
    (policy / "10.toml").write_text(RULE.format(3))
    eventually(lambda: in_force(oborona) != good)
    eventually(lambda: len({good, *versions(oborona)}) == 2)


def test_a_worker_that_is_stopped_holds_nobody_up_for_long_and_catches_up(
    oborona: Oborona, policy: Path
) -> None:
    stopped = pid(oborona, "worker-0")
    os.kill(stopped, signal.SIGSTOP)
    try:
        (policy / "10.toml").write_text(RULE.format(2))
        started = time.monotonic()
        done = oborona.run("policy", "reload")
        assert "late: worker 0" in done.stdout
        assert time.monotonic() - started < 30
    finally:
        os.kill(stopped, signal.SIGCONT)
    version = in_force(oborona)
    eventually(lambda: versions(oborona) == [version, version])


def test_sighup_reads_the_files_and_says_so(oborona: Oborona) -> None:
    assert oborona.process is not None
    oborona.process.send_signal(signal.SIGHUP)
    eventually(lambda: "policy is as it was" in oborona.log())
