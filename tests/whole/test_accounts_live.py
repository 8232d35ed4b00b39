"""An account is banned while several workers take mail behind a real Postfix: refused within a
second by all of them, and let in again.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator

import pytest

from oborona.doorbell import LOOK_S
from tests.peers.dns import Zones
from tests.peers.policy_client import PolicyClient
from tests.peers.ports import free_port
from tests.whole.gate import Gate, eventually

WORKERS = 3
JOE, ANN, BAD = "joe@example.test", "ann@example.test", "bad@example.test"
JOE_S = {"account": JOE, "customer": {"id": "c17"}}
KEY = "panel-of-a-customer"
ACTS = "system-of-the-billing"
MANY = 24  # connections: each worker has had some
SLACK_S = 20.0  # a busy machine


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    keys = tmp_path_factory.mktemp("keys") / "panel.keys"
    keys.write_text(f"{KEY} read c17\n{ACTS} read,act=billing\n")
    settings = {
        "worker.processes": WORKERS,
        "inspector.mode": "live",
        "doors.policy_service.listen": f"inet:127.0.0.1:{free_port()}",
        "doors.http.listen": f"inet:127.0.0.1:{free_port()}",
        "doors.http.accounts_keys_file": str(keys),
    }
    with Zones() as dns, Gate(dns.setting, settings=settings) as running:
        told = running.folder / "accounts.jsonl"
        told.write_text("".join(json.dumps(one) + "\n" for one in (JOE_S, {"account": ANN})))
        account(running, "import", str(told))
        yield running


def account(gate: Gate, *words: str) -> str:
    done = gate.oborona.run("account", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def taken(gate: Gate) -> int:
    return len(gate.oborona.of_workers(gate.events("states of accounts changed")))


def in_all_workers(gate: Gate, *words: str) -> None:
    """Run a command, and wait until every worker has taken what it changed."""
    taken_after(gate, lambda: account(gate, *words))


def taken_after(gate: Gate, change: Callable[[], object]) -> None:
    before = taken(gate)
    change()
    eventually(lambda: taken(gate) >= before + WORKERS, SLACK_S)


def replies(gate: Gate, login: str) -> set[str]:
    return {
        gate.send("9.3.0.1", sender=login, login=login, submission=True)[-1][:9]
        for _ in range(MANY)
    }


def test_a_ban_is_in_force_and_undone_in_every_worker(gate: Gate) -> None:
    assert {reply[:3] for reply in replies(gate, JOE)} == {"250"}
    in_all_workers(gate, "ban", JOE, "--reason", "a password was stolen")
    assert replies(gate, JOE) == {"550 5.7.1"}
    reply = gate.send("9.3.0.1", sender=JOE, login=JOE, submission=True)[-1]
    assert "Sending is blocked: a password was stolen, reference " in reply
    verdict = gate.verdict(reply)
    assert (verdict["stage"], verdict["decided_by"]) == ("sender", "account-banned")
    assert {reply[:3] for reply in replies(gate, ANN)} == {"250"}, "another account"
    assert {line[:3] for line in (gate.send("9.3.0.1", sender=JOE)[-1],)} == {"250"}, (
        "without a proved login there is no account"
    )
    in_all_workers(gate, "unban", JOE, "--reason", "it was changed")
    assert {reply[:3] for reply in replies(gate, JOE)} == {"250"}
    assert LOOK_S <= 1.0, "every worker has looked within a second"


def test_a_customer_s_panel_shows_it_and_nobody_else_s(gate: Gate) -> None:
    in_all_workers(gate, "ban", JOE, "--reason", "a password was stolen")
    status, found = panel(gate, JOE)
    assert (status, found["state"], found["reason"]) == (200, "banned", "a password was stolen")
    in_all_workers(gate, "unban", JOE, "--reason", "it was changed")
    assert panel(gate, JOE)[1]["state"] == "open"
    assert panel(gate, ANN) == (404, {"error": "there is no such account"})


def test_another_system_bans_and_opens_in_every_worker(gate: Gate) -> None:
    stolen = {"reason": "a password was stolen", "for": "1h"}
    taken_after(gate, lambda: told(gate, "ban", stolen))
    assert replies(gate, JOE) == {"550 5.7.1"}
    assert panel(gate, JOE)[1]["reason"] == "a password was stolen"
    deed = json.loads(account(gate, "show", JOE, "--json"))["deeds"][-1]
    assert (deed["what"], deed["by"]) == ("ban", "billing")
    taken_after(gate, lambda: told(gate, "unban", {"reason": "it was changed"}))
    assert {reply[:3] for reply in replies(gate, JOE)} == {"250"}


def test_a_shop_tells_accounts_and_they_are_rated_by_the_policy(gate: Gate) -> None:
    abroad = {"country": "US", "phone": "+49 30 901820"}
    accounts = [{"account": "shop-1", "registration": abroad}, {"account": 2}]
    status, answer = asked(gate, "POST", "/v1/accounts", ACTS, accounts)
    refused = answer.pop("refused")
    assert (status, answer) == (200, {"new": 1, "changed": 0, "unchanged": 0})
    assert isinstance(refused, list)
    assert [one["line"] for one in refused] == [2]
    assert json.loads(account(gate, "show", "shop-1", "--json"))["rating"] == 85
    assert asked(gate, "POST", "/v1/accounts", KEY, accounts)[0] == 403


def test_an_address_is_told_of_with_what_the_workers_counted(gate: Gate) -> None:
    gate.send("9.3.0.7", sender=ANN, login=ANN, submission=True)

    def counted() -> bool:
        status, found = asked(gate, "GET", "/v1/addresses/9.3.0.7", ACTS)
        assert status == 200, found
        assert isinstance(found["counted"], dict)
        return int(found["counted"]["seen"]) > 0

    eventually(counted, SLACK_S)
    assert asked(gate, "GET", "/v1/addresses/9.3.0.7", KEY)[0] == 404


def told(gate: Gate, what: str, body: object) -> None:
    status, answer = asked(gate, "POST", f"/v1/accounts/{JOE}/{what}", ACTS, body)
    assert (status, answer["done"]) == (200, True), answer
    status, again = asked(gate, "POST", f"/v1/accounts/{JOE}/{what}", ACTS, body)
    assert (status, again) == (200, answer), "the same request under the same key"


def panel(gate: Gate, login: str) -> tuple[int, dict[str, object]]:
    return asked(gate, "GET", f"/v1/accounts/{login}", KEY)


def asked(
    gate: Gate, method: str, path: str, key: str, body: object = None
) -> tuple[int, dict[str, object]]:
    at = str(gate.oborona.setting("doors.http.listen")).removeprefix("inet:")
    headers = {"Authorization": f"Bearer {key}"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "Idempotency-Key": path}
    with contextlib.closing(http.client.HTTPConnection(at, timeout=SLACK_S)) as panel:
        panel.request(method, path, None if body is None else json.dumps(body), headers)
        answer = panel.getresponse()
        return answer.status, json.loads(answer.read())


def test_the_policy_service_says_the_same(gate: Gate) -> None:
    in_all_workers(gate, "ban", ANN, "--reason", "a password was stolen")
    asked = {
        "protocol_state": "RCPT",
        "client_address": "9.3.0.1",
        "sender": ANN,
        "recipient": "joe@example.test",
        "sasl_username": ANN,
    }
    with PolicyClient(str(gate.oborona.setting("doors.policy_service.listen"))) as postfix:
        answer = postfix.ask(**asked)
        assert answer.startswith("550 5.7.1 Sending is blocked: a password was stolen, reference")
        assert postfix.ask(**asked | {"sasl_username": ""}) == "DUNNO"
    in_all_workers(gate, "unban", ANN, "--reason", "it was changed")


def test_a_limit_puts_off_and_says_until_when(gate: Gate) -> None:
    in_all_workers(gate, "limit", JOE, "--reason", "too many recipients", "--for", "1h")
    reply = gate.send("9.3.0.1", sender=JOE, login=JOE, submission=True)[-1]
    assert reply.startswith("451 4.7.1 Sending is limited until ")
    assert ": too many recipients, reference " in reply
    in_all_workers(gate, "unban", JOE, "--reason", "enough")


def test_an_excess_of_a_bad_account_bans_it_and_people_are_told(gate: Gate) -> None:
    now = time.time()
    bad = {"country": "US", "phone": "+49 30 901820", "mail": "x@mailinator.com"}
    bad |= {"payment": "paypal", "payment_country": "BR"}
    told = gate.folder / "bad.jsonl"
    told.write_text(json.dumps({"account": BAD, "since": now - 3600, "registration": bad}))
    account(gate, "import", str(told))
    assert replies(gate, BAD) != {"550 5.7.1"}
    excess: dict[str, object] = {
        "account": BAD,
        "limit": "HOURLY_RECIPIENTS",
        "metric": "recipients",
    }
    excess |= {"window": "hour", "value": 900, "most": 200, "at": now}
    told.write_text(json.dumps(excess))
    before = taken(gate)
    done = gate.oborona.run("incident", "report", str(told))
    assert done.returncode == 0, done.stderr
    eventually(lambda: taken(gate) >= before + WORKERS, SLACK_S)
    assert replies(gate, BAD) == {"550 5.7.1"}
    eventually(lambda: bool(gate.events("alert")), SLACK_S)
    (alert,) = gate.events("alert")
    assert alert["kind"] == "incident"
    assert alert["title"] == f"incident 1: {BAD} is over HOURLY_RECIPIENTS"
    assert "oborona incident close 1 --spam" in str(alert["text"])
    line = 'oborona_incidents_total{line="ban",metric="recipients"} 1'
    eventually(lambda: line in gate.oborona.run("metrics").stdout, SLACK_S, every_s=0.5)
    before = taken(gate)
    assert gate.oborona.run("incident", "undo", "1").returncode == 0
    eventually(lambda: taken(gate) >= before + WORKERS, SLACK_S)
    assert "550 5.7.1" not in replies(gate, BAD)


def test_a_file_that_is_damaged_stops_no_mail_and_what_was_known_stays(gate: Gate) -> None:
    in_all_workers(gate, "ban", JOE, "--reason", "a password was stolen")
    path = gate.oborona.state / "accounts.db"
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if name.exists():
            name.rename(name.with_name(f"{name.name}.gone"))
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    eventually(lambda: len(gate.events("states of accounts stay as they were")) >= WORKERS, SLACK_S)
    assert replies(gate, JOE) == {"550 5.7.1"}
    assert {reply[:3] for reply in replies(gate, ANN)} == {"250"}
