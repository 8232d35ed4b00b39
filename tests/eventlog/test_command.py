"""`oborona eventlog run --once` and `status`: from what people said to checked tables."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from oborona import secret, state_files
from oborona.cli import main
from oborona.daemon.state import prepare_state
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.slots import SLOT_S, slot_name, slot_start
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.journal.journal import JournalWriter
from tests.journal.entries import make_entry

CLICKS = """
folder = "{folder}"
id = "click"
time = "at"
event = "action"
person = ["user"]
info = ["page"]
[columns]
click = "text"
at = "time"
action = "text"
user = "text"
page = "text"
address = "hashed"
[thresholds]
click = 2
"""

OTHER_RULES = """
[[event_log]]
name    = "FEEDBACK"
columns = { way = "text" }
events  = ["complaint", "pardon", "read", "deleted", "trap"]

[[event_rule]]
name = "ANY_WORD"
log  = "FEEDBACK"
when = "person.day[complaint] > 0"
say  = "a complaint"
mode = "shadow"
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with settings, a state that was begun, and a log of others."""
    (tmp_path / "eventlog.d").mkdir()
    (tmp_path / "clicks").mkdir()
    (tmp_path / "eventlog.d/clicks.toml").write_text(CLICKS.format(folder=tmp_path / "clicks"))
    (tmp_path / "oborona.toml").write_text(
        '[paths]\nstate = "state"\n[eventlog]\nenabled = true\nback_hours = 1\nready_minutes = 0\n'
    )
    prepare_state(tmp_path / "state")
    return tmp_path


def oborona(site: Path, *words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, ["--config", str(site / "oborona.toml"), "eventlog", *words])


def test_what_was_said_and_dropped_is_checked(site: Path) -> None:
    state, now = site / "state", time.time()
    heard = slot_start(now) - 2 * SLOT_S + 5
    complaint = FeedbackEvent(
        what=EventKind.COMPLAINT,
        way=EventChannel.SIEVE,
        time=heard,
        person="anna@example.org",
        ident=7,
    )
    with EventLog(state / state_files.EVENTS) as log:
        log.add([complaint, complaint], now=heard)
    entry = make_entry(time=heard, login="joe@example.org")

    async def judge() -> None:
        async with await JournalWriter.open(state / state_files.JOURNAL) as journal:
            journal.append(entry)
            await journal.flush()

    asyncio.run(judge())
    at = slot_start(now) - SLOT_S
    lines = [
        {"click": str(n), "at": at + n, "action": "click", "user": "bob", "page": f"p{n // 2}"}
        for n in range(4)
    ]
    dropped = site / "clicks" / f"{slot_name(at)}.jsonl"
    dropped.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    os.utime(dropped, (now - 60, now - 60))

    done = oborona(site, "run", "--once")
    assert done.exit_code == 0, done.output

    logs = state / state_files.EVENT_LOGS
    hasher = EventHasher(secret.load(state).eventlog)
    told = pq.read_table(
        logs / "feedback/checked/stream/5min" / f"{slot_name(slot_start(heard))}.parquet"
    ).to_pylist()
    assert [row["rules"] for row in told] == [[], ["DUPLICATE"]]
    assert {row["person"] for row in told} == {hasher.person("anna@example.org")}
    clicks = pq.read_table(logs / f"clicks/checked/stream/5min/{slot_name(at)}.parquet")
    assert clicks.column("rules").to_pylist() == [
        ["ABNORMAL"],
        ["DUPLICATE", "ABNORMAL"],
        ["ABNORMAL"],
        ["DUPLICATE", "ABNORMAL"],
    ]
    assert "user" not in clicks.column_names
    broken = (logs / f"clicks/aside/{slot_name(at)}.jsonl").read_text()
    assert json.loads(broken)["record"] == 4

    shown = {}
    for line in oborona(site, "status", "--json").output.splitlines():
        row = json.loads(line)
        shown[row["log"]] = row
    assert shown["clicks"]["rows"] == 4
    assert shown["clicks"]["broken_rows"] == 1
    assert shown["clicks"]["fired"] == {"ABNORMAL": 4, "DUPLICATE": 2}
    assert shown["feedback"]["fired"] == {"DUPLICATE": 1}
    assert shown["messages"]["rows"] == 1
    assert {row["waiting"] for row in shown.values()} == {0}
    text = oborona(site, "status").output
    assert "does not run" in text
    assert "clicks: DUPLICATE 2 (50.00%)" in text

    (site / "other").mkdir()
    (site / "other/50-events.toml").write_text(OTHER_RULES)
    compared = json.loads(
        oborona(site, "replay", "feedback", "--policy", str(site / "other"), "--json").output
    )
    assert (compared["rows"], compared["changed"]) == (2, 2)
    assert {rule["name"]: rule["after"] for rule in compared["rules"] if rule["after"]} == {
        "ANY_WORD": 2
    }
    assert compared["persons_new"] == [hasher.person("anna@example.org")]
    text = oborona(site, "replay", "feedback", "--policy", str(site / "other")).output
    assert "feedback: 2 rows, 2 would have other rules" in text
    assert "- -> ANY_WORD" in text
    lines = [
        json.loads(line)
        for line in oborona(site, "thresholds", "clicks", "--json").output.splitlines()
    ]
    assert {row["event"]: row["threshold"] for row in lines} == {"": 300.0, "click": 2.0}
    assert "(others)" in oborona(site, "thresholds", "clicks").output
    forgotten(site, hasher.person("anna@example.org"))
    wrong = oborona(site, "replay", "clocks", "--policy", str(site / "other"))
    assert wrong.exit_code != 0
    assert "there is no event log 'clocks'; there are feedback, messages, clicks" in wrong.output


def forgotten(site: Path, person: int | None) -> None:
    """Take one person out of our own logs and one out of the others', and look for them."""
    asked = oborona(site, "forget", "Anna@example.org")
    assert "feedback: erasure 1 waits" in asked.output
    assert "`oborona eventlog run --once` does it now" in asked.output
    oborona(site, "forget", "bob", "--log", "clicks")
    done = oborona(site, "run", "--once")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in oborona(site, "forget", "--json").output.splitlines()]
    removed = {(row["log"], row["removed"].get("1d")) for row in rows if row["removed"].get("1d")}
    assert removed == {("feedback", 2), ("clicks", 4)}
    assert all(row["done"] and not row["unread"] for row in rows)
    logs = site / "state" / state_files.EVENT_LOGS
    for path in logs.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        if "person" in table.column_names and "clicks" not in path.parts:
            assert person not in table.column("person").to_pylist()
        elif "person" in table.column_names:
            assert table.num_rows == 0
    for words in (("forget", "bob", "--log", "clocks"), ("forget", "", "--log", "clicks")):
        wrong = oborona(site, *words)
        assert wrong.exit_code != 0
        assert "there is no event log" in wrong.output or "has a name" in wrong.output


def test_as_a_daemon_it_checks_what_comes_and_ends_in_order(site: Path) -> None:
    """With the system calls that its kind of process is left, and one of it alone."""
    program = Path(sys.executable).with_name("oborona")
    command = [str(program), "--config", str(site / "oborona.toml")]
    daemon = subprocess.Popen([*command, "eventlog", "run"], stderr=subprocess.PIPE, text=True)
    try:
        lock = site / "state" / state_files.EVENT_LOG_LOCK
        until(lambda: lock.exists() and bool(lock.read_text()))
        second = subprocess.run(
            [*command, "eventlog", "run", "--once"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 78
        assert f"(pid {daemon.pid}" in second.stderr
        at = slot_start(time.time())
        line = {"click": "1", "at": at, "action": "click", "user": "bob", "page": "/"}
        dropped = site / "clicks" / f"{slot_name(at)}.jsonl"
        dropped.write_text(json.dumps(line))
        os.utime(dropped, (at - 60, at - 60))
        checked = site / f"state/eventlog/clicks/checked/stream/5min/{slot_name(at)}.parquet"
        until(checked.exists)
        day = DeliveredTable(site / "state/eventlog/clicks/checked/1d", "date")
        until(lambda: sum(day.counts().values()) == 1)
        assert f"runs (pid {daemon.pid})" in oborona(site, "status").output
        daemon.terminate()
        _, errors = daemon.communicate(timeout=60)
    finally:
        daemon.kill()
        daemon.wait()
    assert daemon.returncode == 0, errors
    assert "not allowed" not in errors, errors


def until(there: Callable[[], bool], patience_s: float = 60.0) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + patience_s
    while not there():
        assert time.monotonic() < end
        time.sleep(0.1)
