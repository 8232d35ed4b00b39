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

from oborona.accounts.excess import Excess
from oborona.accounts.excess_spool import ExcessSpool
from tests.peers.dns import Zones
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.policy_client import PolicyClient
from tests.peers.ports import free_port
from tests.peers.postgresql import Postgresql
from tests.whole.gate import LETTER, eventually

EVE, BAD = "eve@example.test", "bad@example.test"
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
                    "doors.policy_service.listen": f"inet:127.0.0.1:{free_port()}",
                    "inspector.mode": "live",
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


def sends(machine: Oborona, login: str) -> str:
    """Return what a machine says to mail of a login, whichever worker is asked."""
    with PolicyClient(str(machine.setting("doors.policy_service.listen"))) as postfix:
        return postfix.ask(
            protocol_state="RCPT",
            client_address="9.3.0.1",
            sender=login,
            recipient="joe@example.test",
            sasl_username=login,
        )


def refuses(machine: Oborona, login: str) -> bool:
    return all(sends(machine, login).startswith("550 5.7.1") for _ in range(8))


def takes(machine: Oborona, login: str) -> bool:
    return all(sends(machine, login) == "DUNNO" for _ in range(8))


def test_an_account_that_is_banned_on_one_sends_by_none(machines: tuple[Oborona, Oborona]) -> None:
    first, second = machines
    said(first, "account", "ban", EVE, "--reason", "stolen")
    at = time.monotonic()
    eventually(lambda: refuses(second, EVE), SLACK_S)
    print(f"in force after {time.monotonic() - at:.2f} s")
    eventually((second.state / "queue.due").exists)
    said(second, "account", "unban", EVE, "--reason", "changed")
    at = time.monotonic()
    eventually(lambda: takes(first, EVE) and takes(second, EVE), SLACK_S)
    print(f"open after {time.monotonic() - at:.2f} s")


def test_while_the_log_is_away_each_machine_bans_for_itself_and_one_incident_is_left(
    machines: tuple[Oborona, Oborona], postgresql: Postgresql
) -> None:
    first, second = machines
    abroad = {"country": "US", "phone": "+49 30 901820", "mail": "x@mailinator.com"}
    abroad |= {"payment": "paypal", "payment_country": "BR"}
    now, told = time.time(), first.root / "told.json"
    told.write_text(json.dumps({"account": BAD, "since": now - 3600, "registration": abroad}))
    said(first, "account", "import", str(told))
    eventually(lambda: BAD in said(second, "account", "list"))
    excess = Excess(
        account=BAD, limit="HOURLY", metric="recipients", window="hour", value=9, most=2, at=now
    )
    postgresql.kill()
    try:
        refused = second.run("account", "ban", EVE, "--reason", "stolen")
        assert refused.returncode != 0
        assert "can't be reached" in refused.stderr
        ExcessSpool(first.state / "excesses").take(excess)  # as a worker does
        eventually(lambda: refuses(first, BAD))
        assert takes(second, BAD)
        states = [json.loads(said(one, "account", "show", BAD, "--json")) for one in machines]
        assert [one["state"] for one in states] == ["banned", "open"]
        ExcessSpool(second.state / "excesses").take(excess)
        eventually(lambda: refuses(second, BAD))
        assert "1 account is stopped on this machine alone" in first.run("doctor").stdout
    finally:
        postgresql.start()

    def found(machine: Oborona) -> list[dict[str, Any]]:
        lines = machine.run("incident", "list", "--json").stdout.splitlines()
        return [one for one in map(json.loads, lines) if one["account"] == BAD]

    for machine in machines:
        eventually(lambda machine=machine: [one["excesses"] for one in found(machine)] == [2])  # type: ignore[misc]
        eventually(lambda machine=machine: not (machine.state / "accounts.waiting").exists())  # type: ignore[misc]
        assert refuses(machine, BAD)
    eventually(lambda: alert_lines(machines) == 1)
    said(second, "incident", "undo", str(found(second)[0]["id"]))
    eventually(lambda: takes(first, BAD) and takes(second, BAD))


def alert_lines(machines: tuple[Oborona, Oborona]) -> int:
    """Return how often people were told of the bad account, by whichever machine."""
    return sum(
        f"{BAD} is over HOURLY" in line and '"alert"' in line
        for machine in machines
        for line in machine.log().splitlines()
    )


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
