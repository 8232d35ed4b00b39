"""Two daemons of one site, as two machines are: what is said on one is in force on the other within
a second, also for who judges mail there; neither needs the log for judging.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.peers.dns import Zones
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.ports import free_port
from tests.peers.postgresql import Postgresql
from tests.whole.gate import LETTER, eventually

WITHIN_S = 1.0  # a change is in force everywhere
SLACK_S = 4.0  # for a machine that does many things at once


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Postgresql]:
    with Postgresql() as server:
        yield server


@pytest.fixture(scope="module")
def machines(postgresql: Postgresql) -> Iterator[tuple[Oborona, Oborona]]:
    with ExitStack() as stack:
        dns = stack.enter_context(Zones({}))
        first, second = (
            Oborona(
                {
                    "paths.policy": _policy_folder(stack),
                    "paths.shipped_policy": SETTINGS.parent / "policy.d",
                    "doors.milter.listen": "",
                    "doors.http.listen": f"inet:{free_port()}@127.0.0.1",
                    "dns.servers": dns.setting,
                    "site.name": "mx.example.test",
                    "worker.processes": 2,
                    "log.format": "json",
                }
            )
            for _ in range(2)
        )
        stack.callback(first.stop)
        stack.callback(second.stop)
        first.start()
        first.halt()
        second.state.mkdir(mode=0o700, exist_ok=True)
        (second.state / "secret").write_bytes((first.state / "secret").read_bytes())
        (second.state / "secret").chmod(0o600)
        second.start()
        second.halt()
        for machine, what, name in ((first, "begin", "mx1"), (second, "join", "mx2")):
            done = machine.run("site", what, postgresql.address, "--name", name)
            assert done.returncode == 0, done.stderr
        first.start()
        second.start()
        yield first, second


def _policy_folder(stack: ExitStack) -> Path:
    root = Path(tempfile.mkdtemp(prefix="oborona-policy-", dir="/tmp"))
    stack.callback(shutil.rmtree, root)
    (root / "policy.d").mkdir()
    return root / "policy.d"


def scan(machine: Oborona, raw: bytes = LETTER) -> dict[str, Any]:
    """Have a message judged by a machine, as of a stranger to Joe."""
    port = str(machine.setting("doors.http.listen")).partition(":")[2].partition("@")[0]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/scan",
        json.dumps({"raw": base64.b64encode(raw).decode()}).encode(),
        {
            "Content-Type": "application/json", "IP": "192.0.2.7", "From": "ann@a.example",
            "Rcpt": "joe@example.test",
        },
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def said(machine: Oborona, *words: str) -> str:
    done = machine.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def decided_by(machine: Oborona, wanted: str) -> bool:
    return all(wanted in json.dumps(scan(machine)) for _ in range(4))


def test_what_is_said_on_one_is_in_force_on_the_other(
    machines: tuple[Oborona, Oborona],
) -> None:
    first, second = machines
    assert not decided_by(second, "lunch-at-noon")
    said(first, "signature", "add", "At noon?", "--reason", "lunch-at-noon")
    at = time.monotonic()
    eventually(lambda: decided_by(second, "lunch-at-noon"), SLACK_S)
    print(f"in force after {time.monotonic() - at:.2f} s")
    (line,) = (
        line for line in said(second, "signature", "list", "--json").splitlines() if "noon" in line
    )
    said(second, "signature", "remove", json.loads(line)["id"])
    eventually(lambda: not decided_by(first, "lunch-at-noon"), SLACK_S)
    assert "mx2" in said(first, "site", "status")


def test_both_judge_on_while_the_log_is_away_and_meet_again(
    machines: tuple[Oborona, Oborona], postgresql: Postgresql
) -> None:
    first, second = machines
    said(first, "personal", "deny", "joe@example.test", "ann@a.example")
    eventually(lambda: "ann@a.example" in said(second, "personal", "show", "joe@example.test"))
    postgresql.kill()
    try:
        refused = second.run("personal", "remove", "joe@example.test", "ann@a.example")
        assert refused.returncode != 0
        assert "can't be reached" in refused.stderr
        for machine in machines:
            assert scan(machine)
            eventually(lambda machine=machine: "not followed" in machine.log())  # type: ignore[misc]
    finally:
        postgresql.start()
    said(second, "personal", "remove", "joe@example.test", "ann@a.example")
    eventually(lambda: "ann@a.example" not in said(first, "personal", "show", "joe@example.test"))
    for machine in machines:
        eventually(lambda machine=machine: "is followed again" in machine.log())  # type: ignore[misc]


def test_a_policy_is_in_force_on_both_and_by_who_comes_late_before_it_judges(
    machines: tuple[Oborona, Oborona],
) -> None:
    first, second = machines
    said(first, "policy", "share", "--reason", "as it is")
    own = Path(str(first.setting("paths.policy"))) / "50-own.toml"
    own.write_text('[[rule]]\nname = "NOON"\nwhen = "links >= 0"\nscore = 1\nsay = "is noon"\n')
    said(first, "policy", "share", "--reason", "noon")
    at = time.monotonic()
    eventually(lambda: decided_by(second, "NOON"), SLACK_S)
    print(f"in force after {time.monotonic() - at:.2f} s")
    said(second, "policy", "status")
    second.halt()
    own.unlink()
    said(first, "policy", "share", "--reason", "no", "--without", "mx2")
    second.start()
    assert "NOON" not in json.dumps(scan(second))
    eventually(lambda: second.run("policy", "status").returncode == 0)
    assert "NOON" not in json.dumps(scan(first))
