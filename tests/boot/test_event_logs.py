"""The checked event log on a machine under the units that ship, by its page."""

from __future__ import annotations

import json
from typing import Final

import pytest

from oborona.eventlog.schema import OWN_NAMES
from tests.boot.documents import files
from tests.boot.machine import Machine
from tests.boot.steps import eventually, follow, needs_machine

PAGE: Final = "operate/eventlog.md"
_STATE: Final = "/var/lib/oborona/eventlog"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


def readers_are_let_in(machine: Machine) -> None:
    """Do what the page says of readers; the group reads their tables, and nobody else does."""
    places = (
        "/etc/oborona/eventlog-readers.d/analysts.toml",
        "/etc/systemd/system/oborona.service.d/readers.conf",
    )
    for path, text in zip(places, files(PAGE, "Who may read it"), strict=True):
        machine.run(f"mkdir -p $(dirname {path}); cat > {path} <<'END'\n{text}END")
    print(follow(machine, "Who may read it", PAGE))
    tables = "/srv/analysts/messages/5min/*.parquet /srv/analysts/feedback/5min/*.parquet"
    eventually(machine, f"ls {tables}")
    as_nobody = "setpriv --reuid nobody --regid {} --clear-groups sh -c 'cat {} >/dev/null'"
    machine.run(as_nobody.format("analysts", tables))
    assert "Permission denied" in machine.ask(as_nobody.format("nogroup", tables) + " 2>&1")
    machine.run(f"! {as_nobody.format('analysts', f'{_STATE}/feedback/checked/stream/5min/*')}")


def logs_of_others_are_taken(machine: Machine) -> None:
    """Do what the page says of logs of others: a dropped file, and events by HTTP."""
    (declared,) = files(PAGE, "Take logs of others")
    path = "/etc/oborona/eventlog.d/clicks.toml"
    machine.run(f"mkdir -p $(dirname {path}); cat > {path} <<'END'\n{declared}END")
    follow(machine, "Take logs of others", PAGE)
    machine.run(
        'echo \'{"click": "7", "at": "2026-11-23T10:05:00", "action": "click", "user": "4711"}\''
        " > /srv/clicks/.one && mv /srv/clicks/.one /srv/clicks/2026-11-23T10:05.jsonl"
    )
    eventually(machine, f"ls {_STATE}/clicks/checked/stream/5min/2026-11-23T10:05.parquet")
    days = f"{_STATE}/clicks/checked/1d/date=2026-11-23"
    eventually(machine, f"ls {days}/*.parquet")
    assert "was asked to go over 2026-11-23" in machine.run(
        "oborona eventlog pass clicks --day 2026-11-23"
    )
    eventually(machine, f"ls {_STATE}/clicks/fraud_persons/2026-11-23.parquet")
    said = machine.run("oborona eventlog backfill clicks trial --since 2026-11-23")
    assert "clicks 2026-11-23: 1 rows, 0 would have other rules" in said
    machine.run(f"ls {_STATE}/clicks/side/trial/2026-11-23.parquet")
    (door,) = files(PAGE, "Send events over HTTP")
    settings = door.partition("\n")[2]  # its table is in the file that was installed
    machine.run(
        f"sed -i '/^\\[doors.http\\]/r /dev/stdin' /etc/oborona/oborona.toml <<'END'\n{settings}END"
    )
    machine.run("apt-get -qq update; apt-get -qq install -y --no-install-recommends curl")
    said = follow(machine, "Send events over HTTP", PAGE)
    assert '"taken": 1' in said or '"taken":1' in said
    assert machine.run("ls /var/lib/oborona/eventlog.received/clicks")


def test_its_page_is_followed_and_an_upgrade_keeps_it(machine: Machine) -> None:
    follow(machine, "Install its packages", PAGE)
    # the past of an hour: that of a day takes some minutes to be checked
    machine.run(
        "sed -i '/^\\[eventlog\\]/a enabled = true\\nback_hours = 1\\nready_minutes = 0' /etc/oborona/oborona.toml"
    )
    print(follow(machine, "Switch it on", PAGE))
    eventually(machine, "oborona eventlog status | grep -q 'runs (pid'")
    eventually(machine, f"ls {_STATE}/feedback/checked/stream/5min/*.parquet")
    said = machine.run("oborona eventlog status --json")
    logs = {row["log"]: row for row in map(json.loads, said.splitlines())}
    assert set(logs) == OWN_NAMES
    assert logs["feedback"]["checked"] > 0
    assert "FAIL" not in machine.run("oborona doctor")
    readers_are_let_in(machine)
    logs_of_others_are_taken(machine)
    said = machine.run("cd /root && oborona eventlog report && ls -l /root/eventlog.html")
    assert "eventlog.html" in said
    assert "has no delivered day" in machine.ask(
        "oborona eventlog backfill feedback march --since 2026-03-01 2>&1"
    )
    said = follow(machine, "Take a person out", PAGE)
    assert "feedback: erasure 1 " in said
    assert "messages: erasure 2 " in said
    eventually(machine, "oborona eventlog forget && ! oborona eventlog forget | grep waits")
    assert "no rows, or is not delivered yet" in machine.ask("oborona eventlog pass feedback 2>&1")
    # by hand as root while nobody else works: what is written is the daemon's
    machine.run(
        "systemctl stop oborona; oborona eventlog forget joe@example.org; oborona eventlog run --once"
    )
    assert "waits" not in machine.run("oborona eventlog forget")
    assert not machine.run("find /var/lib/oborona -not -user oborona").strip()
    machine.run("systemctl start oborona")
    eventually(machine, "oborona eventlog status | grep -q 'runs (pid'")
    # the units one by one: its own has no network, and may call what it needs
    machine.run(
        "systemctl disable --now oborona; systemctl enable --now oborona.target oborona-eventlog"
    )
    eventually(machine, "oborona eventlog status | grep -q 'runs (pid'")
    machine.run(
        "systemctl is-active oborona-eventlog; systemctl disable --now oborona.target oborona-eventlog; systemctl enable --now oborona"
    )
    # the same again is an upgrade: it has the packages that the program had
    machine.run("./setup install")
    eventually(machine, "oborona eventlog status | grep -q 'runs (pid'")
