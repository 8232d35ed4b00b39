"""An analyst pins an address while the daemon judges mail behind a real Postfix: refused at connect
within a second, and let in again.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.doorbell import LOOK_S
from oborona.ident import from_text
from oborona.journal.queries import JournalReader
from oborona.policy.memory_age import ALL_MAIL
from oborona.types import Amounts
from tests.cli.remembered import run
from tests.peers.dns import Zones
from tests.whole.gate import SPAM, Gate, eventually
from tests.whole.test_history import remember

SLACK_S = 20.0  # a busy machine; docs/senders/reputation.md has what it takes


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with Zones() as dns, Gate(dns.setting) as running:
        # else it refuses nobody
        remember(running, (ALL_MAIL,), Amounts(seen=1), time.time() - 12 * 86_400)
        yield running


def reputation(gate: Gate, *words: str) -> str:
    """Run a command, and wait until the worker has taken what it changed."""
    before = len(taken(gate, "manual overrides changed"))
    done = run(gate.oborona.state, *words)
    eventually(lambda: len(taken(gate, "manual overrides changed")) > before, SLACK_S)
    return done.stdout


def taken(gate: Gate, what: str) -> list[dict[str, object]]:
    """What workers say in the log."""
    return gate.oborona.of_workers(gate.events(what))


def refused(gate: Gate, ip: str, words: bytes | None = None) -> bool:
    reply = gate.send(ip)[-1] if words is None else gate.send(ip, words)[-1]
    return reply.startswith("554 5.7.1 Client refused")


def shown(gate: Gate, ip: str, what: str) -> int:
    """What is counted of an address in two weeks."""
    found = json.loads(run(gate.oborona.state, "show", ip, "--json").stdout)
    return sum(int(day[what]) for day in found["days"])


def test_who_is_pinned_bad_is_refused_at_connect_and_who_is_cleared_comes_in(gate: Gate) -> None:
    ip = "9.1.1.1"
    assert not refused(gate, ip)
    began = time.monotonic()
    reputation(gate, "set", ip, "bad", "--reason", "their list of buyers", "--for", "7d")
    assert refused(gate, ip)
    assert time.monotonic() - began < SLACK_S
    verdict = gate.verdicts(ip, 2)[-1]
    assert (verdict["stage"], verdict["decided_by"]) == ("connect", "REPIP_BAD")
    assert f"set to bad by {getpass.getuser()}: their list of buyers" in verdict["reason"]
    assert not refused(gate, "9.1.1.2"), "its neighbour is another one"
    reputation(gate, "clear", ip, "--reason", "sold to somebody else")
    assert not refused(gate, ip)
    lines = run(gate.oborona.state, "log", ip, "--json").stdout.splitlines()
    told = [(one["by"], one["what"], one["reason"]) for one in map(json.loads, lines)]
    assert told == [
        (getpass.getuser(), "clear", "sold to somebody else"),
        (getpass.getuser(), "pin", "their list of buyers"),
    ]
    assert LOOK_S <= 1.0, "the worker has looked within a second"


def test_who_is_pinned_good_is_not_refused_for_his_past(gate: Gate) -> None:
    ip = "9.1.2.1"
    for _ in range(40):
        if refused(gate, ip, SPAM):
            break
    assert refused(gate, ip)
    eventually(lambda: shown(gate, ip, "refused") >= 2, SLACK_S, every_s=0.5)
    assert "at connect: bad" in run(gate.oborona.state, "show", ip).stdout
    reputation(gate, "set", ip, "good", "--reason", "a forwarder of ours")
    assert not refused(gate, ip)


async def journaled(path: Path, ident: str) -> bool:
    async with await JournalReader.open(path) as journal:
        return await journal.get(from_text(ident) or 0) is not None


def test_what_a_verdict_counted_is_taken_back_beside_the_running_daemon(gate: Gate) -> None:
    ip = "9.1.3.1"
    gate.send(ip, SPAM)
    (verdict,) = gate.verdicts(ip, 1)

    eventually(lambda: shown(gate, ip, "spam") == 1, SLACK_S, every_s=0.5)
    journal = gate.oborona.state / state_files.JOURNAL
    eventually(lambda: asyncio.run(journaled(journal, str(verdict["id"]))), SLACK_S)
    run(gate.oborona.state, "forgive", verdict["id"], "--reason", "our own test")
    eventually(lambda: shown(gate, ip, "spam") == 0, SLACK_S, every_s=0.5)
    run(gate.oborona.state, "forgive", verdict["id"], "--reason", "again", status=1)


def test_a_store_that_is_damaged_stops_no_mail_and_what_was_known_stays(gate: Gate) -> None:
    ip = "9.1.4.1"
    reputation(gate, "set", ip, "bad", "--reason", "x")
    path = gate.oborona.state / state_files.PINS
    away = path.with_suffix(".away")
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if name.exists():
            name.rename(away if name is path else name.with_suffix(".gone"))
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    eventually(lambda: bool(taken(gate, "manual overrides stay as they were")), SLACK_S)
    assert refused(gate, ip)
    assert not refused(gate, "9.1.4.2")
    assert "damaged" in run(gate.oborona.state, "log", status=74).stderr
    path.unlink()
    run(gate.oborona.state, "set", ip, "unknown", "--reason", "begun anew")
    eventually(lambda: bool(taken(gate, "manual overrides are read again")), SLACK_S)
    assert not refused(gate, ip)
