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

from oborona import lock, secret, state_files
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


@pytest.fixture
def calm_site(site: Path) -> Path:
    """The same, of which our own logs have no past."""
    settings = site / "oborona.toml"
    settings.write_text(settings.read_text().replace("back_hours = 1", "back_hours = 0"))
    return site


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
    reported = json.loads(oborona(site, "report", "clicks", "--json").output)["logs"][0]
    assert {one["rule"]: one["rows"] for one in reported["rules"]} == shown["clicks"]["fired"]
    assert [one["rows"] for one in reported["merges"]["30min"]] == [4]
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
    assert (
        "there is no event log 'clocks'; there are feedback, messages, refusals, moves, deeds, incidents, flows, logins, clicks"
        in wrong.output
    )


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


def test_a_day_is_gone_over_by_hand(calm_site: Path) -> None:
    lines = [
        {
            "click": str(n),
            "at": f"2026-01-02T10:00:{n:02d}",
            "action": "show",
            "user": "a",
            "page": f"{n}",
        }
        for n in range(10)
    ]
    lines.append(lines[0] | {"click": "again", "at": "2026-01-02T09:59:00"})
    dropped = calm_site / "clicks/2026-01-02T10:05.jsonl"
    dropped.write_text("".join(json.dumps(line) + "\n" for line in lines[:10]))
    (calm_site / "clicks/2026-01-02T10:10.jsonl").write_text(json.dumps(lines[10]) + "\n")
    for path in (calm_site / "clicks").iterdir():
        os.utime(path, (0, 0))
    assert oborona(calm_site, "run", "--once").exit_code == 0
    asked = oborona(calm_site, "pass", "clicks", "--day", "2026-01-02", "--json")
    assert asked.exit_code == 0, asked.output
    found = json.loads(asked.output)
    assert (found["rows"], found["revised"], found["fired"]) == (11, 1, {"DUPLICATE": 1})
    assert (found["persons"], found["caught"], found["why"]) == (0, [], "")
    told = oborona(calm_site, "pass", "clicks", "--day", "2026-01-02")
    assert "11 rows, 1 marked, 0 given out again, 0 persons caught" in told.output
    assert "0 of 11 rows given out again" in oborona(calm_site, "status").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("clicks", "--day", "2026-01-03"), "has no rows"),
        (("clicks", "--day", "yesterday"), "is no day"),
        (("clicks", "--day", "2026-02-30"), "is no day"),
        (("shows",), "there is no event log 'shows'"),
    ],
)
def test_a_day_that_is_none_is_refused(calm_site: Path, words: tuple[str, ...], told: str) -> None:
    assert oborona(calm_site, "run", "--once").exit_code == 0
    refused = oborona(calm_site, "pass", *words)
    assert refused.exit_code != 0
    assert told in refused.output + str(refused.exception)


def test_a_process_that_runs_is_asked_to_go_over_a_day(calm_site: Path) -> None:
    dropped = calm_site / "clicks/2026-01-02T10:05.jsonl"
    dropped.write_text(
        '{"click": "1", "at": "2026-01-02T10:00:00", "action": "show", "user": "a", "page": "b"}\n'
    )
    os.utime(dropped, (0, 0))
    assert oborona(calm_site, "run", "--once").exit_code == 0
    with lock.hold(calm_site / "state" / state_files.EVENT_LOG_LOCK, "oborona eventlog run"):
        asked = oborona(calm_site, "pass", "clicks", "--day", "2026-01-02")
    assert "was asked to go over 2026-01-02" in asked.output
    assert oborona(calm_site, "run", "--once").exit_code == 0
    assert "2026-01-02: 0 of 1 rows given out again" in oborona(calm_site, "status").output


def drop_clicks(site: Path, user: str, number: int) -> str:
    """Drop clicks of a user, a page each, into the folder of clicks; return the table's name."""
    at = slot_start(time.time())
    name = slot_name(at)
    lines = [
        {"click": f"{user} {n}", "at": at + n, "action": "click", "user": user, "page": f"p{n}"}
        for n in range(number)
    ]
    dropped = site / "clicks" / f"{name}.{user}.jsonl"
    dropped.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(dropped, (0, 0))
    return f"{name}.{user}"


def test_rules_are_suppressed_for_a_person_for_a_while(calm_site: Path) -> None:
    assert oborona(calm_site, "run", "--once").exit_code == 0
    nothing = oborona(calm_site, "suppressed", "clicks")
    assert "nothing is suppressed" in nothing.output
    words = ("--until", "7d", "--because", "a monitor of ours")
    said = oborona(calm_site, "suppress", "clicks", "bob", *words)
    assert said.exit_code == 0, said.output
    assert "all rules suppressed until" in said.output
    name = drop_clicks(calm_site, "bob", 4)
    assert oborona(calm_site, "run", "--once").exit_code == 0
    checked = calm_site / f"state/eventlog/clicks/checked/stream/5min/{name}.parquet"
    assert pq.read_table(checked).column("rules").to_pylist() == [[]] * 4
    assert "clicks: ABNORMAL (suppressed) 4 (100.00%)" in oborona(calm_site, "status").output

    one = json.loads(oborona(calm_site, "suppressed", "clicks", "--json").output)
    bob = EventHasher(secret.load(calm_site / "state").eventlog).person("bob")
    assert (one["person"], one["rule"], one["why"]) == (bob, "*", "a monitor of ours")
    assert round(one["until"] - one["since"]) == 7 * 86_400
    known = json.loads(oborona(calm_site, "person", "clicks", "bob", "--json").output)
    assert [told["why"] for told in known["suppressed"]] == ["a monitor of ours"]
    assert "a monitor of ours" in oborona(calm_site, "person", "clicks", "bob").output

    ended = oborona(calm_site, "unsuppress", "clicks", "--", str(bob))
    assert "clicks: 1 taken back" in ended.output
    again = oborona(calm_site, "unsuppress", "clicks", "bob")
    assert (again.exit_code, "nothing is suppressed for this person" in again.output) == (1, True)
    assert "nothing is suppressed" in oborona(calm_site, "suppressed", "clicks").output
    assert "taken back by" in oborona(calm_site, "suppressed", "clicks", "--all").output
    oborona(calm_site, "forget", "bob", "--log", "clicks")
    assert oborona(calm_site, "run", "--once").exit_code == 0
    assert "nothing is suppressed" in oborona(calm_site, "suppressed", "clicks", "--all").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("clocks", "bob", "--until", "7d", "--because", "x"), "there is no event log 'clocks'"),
        (("clicks", "bob", "--until", "7d", "--because", " "), "one line of printable text"),
        (("clicks", "bob", "--until", "7d", "--because", "a\nb"), "one line of printable text"),
        (("clicks", "bob", "--until", "7d", "--because", "x" * 501), "one line of printable text"),
        (("clicks", "bob", "--until", "367d", "--because", "x"), "at most 366d"),
        (("clicks", "bob", "--until", "soon", "--because", "x"), "write a number with s, m, h"),
        (("clicks", "bob", "--because", "x"), "Missing option '--until'"),
        (("clicks", "bob", "--until", "7d"), "Missing option '--because'"),
        (("clicks", "", "--until", "7d", "--because", "x"), "a person has a name"),
        (("feedback", "a", "b", "--until", "7d", "--because", "x"), "knows a person by one name"),
        (
            ("feedback", "a", "--until", "7d", "--because", "x", "--rule", "PARDONS_OLNY"),
            "no rule of feedback is called 'PARDONS_OLNY'; did you mean PARDONS_ONLY?",
        ),
        (
            ("feedback", "a", "--until", "7d", "--because", "x", "--rule", "DUPLICATE"),
            "DUPLICATE says nothing of a person",
        ),
    ],
)
def test_a_suppression_that_is_none_is_refused(
    calm_site: Path, words: tuple[str, ...], told: str
) -> None:
    assert oborona(calm_site, "run", "--once").exit_code == 0
    refused = oborona(calm_site, "suppress", *words)
    assert refused.exit_code != 0
    assert told in refused.output + str(refused.exception)


def test_one_rule_is_suppressed_by_name(calm_site: Path) -> None:
    assert oborona(calm_site, "run", "--once").exit_code == 0
    words = ("--until", "1h", "--because", "x", "--since", "2d", "--rule")
    for rule in ("PARDONS_ONLY", "ABNORMAL", "FRAUD_PERSON"):
        said = oborona(calm_site, "suppress", "feedback", "anna@example.org", *words, rule)
        assert f"{rule} suppressed until" in said.output
    ended = oborona(
        calm_site, "unsuppress", "feedback", "anna@example.org", "--rule", "PARDONS_ONLY"
    )
    assert "feedback: 1 taken back" in ended.output
    left = oborona(calm_site, "suppressed", "feedback").output
    assert ("PARDONS_ONLY" in left, "ABNORMAL" in left) == (False, True)


@pytest.mark.slow
def test_a_model_of_persons_is_trained_installed_and_asked(calm_site: Path) -> None:
    declared = calm_site / "eventlog.d/clicks.toml"
    text = declared.read_text().replace("click = 2", "click = 20")
    declared.write_text('events = ["click", "show"]\n' + text)
    today = time.time() // 86_400 * 86_400
    lines = [
        {
            "click": f"{day} {robot} {n}",
            "at": today - day * 86_400 + 3600 + n,
            "action": "click",
            "user": f"r{robot}",
            "page": "a",
        }
        for day in range(6, 0, -1)
        for robot in range(25)
        for n in range(25)
    ] + [
        {
            "click": f"{day} p{person} {n}",
            "at": today - day * 86_400 + 777 * n,
            "action": "show",
            "user": f"p{person}",
            "page": "b",
        }
        for day in range(6, 0, -1)
        for person in range(30)
        for n in range(person % 5 + 1)
    ]
    for day in range(6, 0, -1):
        start = today - day * 86_400
        dropped = calm_site / f"clicks/{slot_name(int(start) + 86_100)}.jsonl"
        some = [line for line in lines if start <= float(str(line["at"])) < start + 86_400]
        dropped.write_text("".join(json.dumps(line) + "\n" for line in some))
        os.utime(dropped, (0, 0))
    assert oborona(calm_site, "run", "--once").exit_code == 0
    model = calm_site / "clicks.model"
    config = ["--config", str(calm_site / "oborona.toml")]
    words = ["model", "train", "--from-log", "clicks", "--out", str(model)]
    trained = CliRunner().invoke(main, [*config, *words])
    assert trained.exit_code == 0, trained.output
    assert "150 caught, 180 good" in trained.output
    assert "fraud caught," in trained.output
    assert "no model of persons" in oborona(calm_site, "model", "status", "clicks").output
    refused = oborona(calm_site, "model", "install", "feedback", str(model))
    assert "a model of another log" in refused.output + str(refused.exception)
    assert (
        "is installed, shadow"
        in oborona(calm_site, "model", "install", "clicks", str(model)).output
    )
    assert "on days that came later" in oborona(calm_site, "model", "status", "clicks").output
    date = time.strftime("%Y-%m-%d", time.gmtime(today - 86_400))
    passed = json.loads(oborona(calm_site, "pass", "clicks", "--day", date, "--json").output)
    assert passed["persons"] == 25
    scores = calm_site / f"state/eventlog/clicks/person_scores/{date}.{passed['id']}.parquet"
    assert pq.read_table(scores).num_rows == 55
    robot_hash = str(passed["caught"][0]["person"])
    said = oborona(calm_site, "person", "clicks", "--good", "--why", "a test", "--", robot_hash)
    assert "good, says an admin a test" in said.output
    assert f"caught on {date}: 25 of 25 rows marked" in said.output
    assert (
        json.loads(oborona(calm_site, "person", "clicks", "--json", "--", robot_hash).output)[
            "word"
        ]["fraud"]
        is False
    )
    assert (
        "no admin" in oborona(calm_site, "person", "clicks", "--take-back", "--", robot_hash).output
    )
    again = oborona(calm_site, "person", "clicks", "--take-back", "--", robot_hash)
    assert "nothing was said" in again.output
    told = oborona(calm_site, "person", "feedback", "Anna@example.org").output
    assert told.count("no admin has said anything") == 2, "as given, and in small letters"
    assert oborona(calm_site, "model", "remove", "clicks").exit_code == 0
    assert oborona(calm_site, "model", "remove", "clicks").exit_code != 0


def test_the_policy_is_checked_against_the_logs_of_the_site(calm_site: Path) -> None:
    rule = "[[event_rule]]\nname = 'ONE'\nlog = 'CLICKS'\nwhen = \"page == 'a'\"\n"
    (calm_site / "policy.d").mkdir()
    file = calm_site / "policy.d/50-events.toml"
    settings = calm_site / "oborona.toml"
    settings.write_text(settings.read_text().replace("[paths]", '[paths]\npolicy = "policy.d"'))

    def checked(text: str) -> Result:
        file.write_text(text)
        return CliRunner().invoke(main, ["--config", str(settings), "policy", "check"])

    assert checked(rule).exit_code == 0
    for text, told in (
        (rule.replace("page", "leaf"), "unknown fact leaf"),
        (rule.replace("CLICKS", "SHOWS"), "no event log is called SHOWS"),
        ("[[event_log]]\nname = 'CLICKS'\n" + rule, "is no table of the policy"),
    ):
        refused = checked(text)
        assert refused.exit_code != 0
        assert told in refused.output + str(refused.exception)
    (calm_site / "eventlog.d/clicks.toml").unlink()
    alone = checked(rule)
    assert "a file eventlog.d/clicks.toml declares it" in alone.output + str(alone.exception)


def test_training_takes_one_source(calm_site: Path) -> None:
    config = ["--config", str(calm_site / "oborona.toml")]
    both = ["model", "train", "--from-log", "clicks", "--from", str(calm_site)]
    refused = CliRunner().invoke(main, [*config, *both])
    assert "name a folder by --from, an index by --index, or a log by --from-log" in refused.output
    assert oborona(calm_site, "run", "--once").exit_code == 0
    none = CliRunner().invoke(main, [*config, "model", "train", "--from-log", "clicks"])
    assert none.exit_code != 0
    assert "no day of clicks that is delivered has persons" in none.output + str(none.exception)
