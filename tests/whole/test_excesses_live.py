"""A login goes over a limit behind a real Postfix: an incident within seconds, its account is
banned in every worker, and no kill of keeper or workers loses one or makes two of it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.peers.dns import Zones
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.kills import descendants

WORKERS = 3
JOE, ANN, EVE = "joe@example.test", "ann@example.test", "eve@example.test"
SLACK_S = 30.0  # a busy machine, and a process that begins anew
POLICY = f"""
[[limit]]
name = "STOLEN"
each = "account"
count = "messages"
window = "hour"
limit = 2
then = "alert"
unless = "login not in ('{JOE}', '{EVE}')"
[[limit]]
name = "TRIED"
each = "account"
count = "messages"
window = "day"
limit = 1
then = "refuse"
unless = "login != '{ANN}'"
mode = "shadow"
[[account_test]]
name = "ALL"
when = "incidents.spam_month >= 0"
penalty = 90
say = "everybody"
"""


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    settings = {"worker.processes": WORKERS, "inspector.mode": "live"}
    with Zones() as dns, Gate(dns.setting, POLICY, settings=settings) as running:
        yield running


def know(gate: Gate, *logins: str) -> None:
    told = gate.folder / "accounts.jsonl"
    since = time.time() - 30 * 86_400
    told.write_text("".join(json.dumps({"account": one, "since": since}) + "\n" for one in logins))
    done = gate.oborona.run("account", "import", str(told))
    assert done.returncode == 0, done.stderr


def send(gate: Gate, login: str) -> str:
    reply = gate.send("9.3.0.1", LETTER, sender=login, login=login, submission=True)[-1]
    return reply[:9]


def incidents(gate: Gate, login: str) -> list[dict[str, Any]]:
    lines = gate.oborona.run("incident", "list", "--json").stdout.splitlines()
    return [one for one in map(json.loads, lines) if one["account"] == login]


def kill(gate: Gate, wanted: Callable[[str], bool]) -> list[int]:
    """Kill processes with kill -9 by their names; return which."""
    assert gate.oborona.process is not None
    found = [pid for pid, name in descendants(gate.oborona.process.pid).items() if wanted(name)]
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return found


def over(gate: Gate, login: str) -> int:
    return len([one for one in gate.events("limit") if one["login"] == login])


def pass_limit(gate: Gate, login: str) -> None:
    """Send until a limit is passed: workers see each other's mail some tenths of a second later."""

    def passed() -> bool:
        assert send(gate, login).startswith("250")
        return over(gate, login) > 0

    eventually(passed, SLACK_S, every_s=0.2)


def test_an_account_over_its_limit_is_an_incident_and_banned_within_seconds(gate: Gate) -> None:
    know(gate, JOE, EVE, ANN)
    pass_limit(gate, JOE)
    eventually(lambda: len(incidents(gate, JOE)) == 1, SLACK_S, every_s=0.5)
    (found,) = incidents(gate, JOE)
    assert (found["limit"], found["metric"], found["line"]) == ("STOLEN", "messages", "ban")
    assert found["address"] == "9.3.0.1"
    eventually(
        lambda: {send(gate, JOE) for _ in range(3 * WORKERS)} == {"550 5.7.1"}, SLACK_S
    )  # whichever worker is asked
    eventually(lambda: bool(gate.events("alert")), SLACK_S)
    assert len(incidents(gate, JOE)) == 1


def test_a_limit_in_shadow_is_an_incident_and_nothing_is_done(gate: Gate) -> None:
    know(gate, ANN)
    pass_limit(gate, ANN)
    eventually(lambda: len(incidents(gate, ANN)) == 1, SLACK_S, every_s=0.5)
    (found,) = incidents(gate, ANN)
    assert "shadow" in found["say"]
    assert send(gate, ANN).startswith("250")


def test_no_kill_of_keeper_or_workers_loses_an_incident_or_makes_two(gate: Gate) -> None:
    eventually(lambda: bool(kill(gate, lambda name: name == "keeper")), SLACK_S)
    know(gate, EVE)
    pass_limit(gate, EVE)
    passed = over(gate, EVE)
    assert kill(gate, lambda name: name.startswith("worker"))
    for pause_s in (0.0, 2.0, 5.0):  # whatever it is about when it dies
        time.sleep(pause_s)
        kill(gate, lambda name: name == "keeper")
    eventually(lambda: bool(incidents(gate, EVE)), 2 * SLACK_S, every_s=0.5)
    eventually(lambda: {send(gate, EVE) for _ in range(9)} == {"550 5.7.1"}, SLACK_S, every_s=0.5)
    (found,) = incidents(gate, EVE)
    assert found["excesses"] >= passed
    eventually(lambda: not any((gate.oborona.state / "excesses").iterdir()), SLACK_S)
    assert len(incidents(gate, EVE)) == 1
