"""From a bare Debian to filtered mail and back, as docs/install.md says it: each indented line is
run as it stands there, on a machine that boots.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.boot.documents import commands
from tests.boot.machine import CLONE, CommandError, Machine
from tests.boot.mail import delivered, is_filtered, let_stranger_in, send
from tests.boot.steps import eventually, follow, is_gone, needs_machine
from tests.letters import GTUBE

UNITS = (
    "oborona",
    "oborona-worker",
    "oborona-writer",
    "oborona-keeper",
    "oborona-reader",
    "oborona-trainer",
    "oborona-intake",
)
EXPOSURE = 1.1
SOCKET = """
[doors.milter]
listen = "unix:/var/spool/postfix/oborona/milter.sock"
socket_group = "postfix"
"""
RULE = """
[[rule]]
name = "{name}"
when = "subject == '{subject}'"
score = 300
say = "a word in its subject"
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


def doctor_finds_nothing_wrong(machine: Machine) -> None:
    said = machine.ask("oborona doctor")
    assert not re.search(r"^ *FAIL", said, re.MULTILINE), said


def change(path: Path, pattern: str, line: str) -> None:
    text, changes = re.subn(pattern, line, path.read_text(), count=1, flags=re.MULTILINE)
    assert changes
    path.write_text(text)


def nobody_looks_into_them(machine: Machine) -> None:
    """All processes but the one that starts them are filtered, and their user itself does not open
    their memory.
    """
    pids = machine.run("pgrep -u oborona").split()
    main = machine.run("systemctl show --value -p MainPID oborona").strip()
    filters = {pid: machine.run(f"grep Seccomp_filters: /proc/{pid}/status") for pid in pids}
    counts = {pid: int(line.split()[1]) for pid, line in filters.items()}
    assert len(pids) > 7
    assert all(count > counts[main] for pid, count in counts.items() if pid != main), (
        "the unit's, and one of its own"
    )
    for pid in pids:
        assert "Permission denied" in machine.ask(
            f"runuser -u oborona -- head -c 1 /proc/{pid}/mem"
        ), pid


def counted(machine: Machine) -> int:
    """Wait until all is in the store; return how many records are there."""
    eventually(machine, "oborona doctor | grep -q '0.0 KiB in spools'")
    found = re.search(r"records +([0-9,]+)", machine.run("oborona counters stats"))
    assert found
    return int(found[1].replace(",", ""))


def verdicts(machine: Machine) -> int:
    found = re.search(r"(\d+) verdicts", machine.ask("oborona doctor"))
    assert found
    return int(found[1])


def test_the_life_of_an_installation(machine: Machine) -> None:
    assert machine.run("systemctl is-active oborona").strip() == "active"
    # ready it is without those that mail does not wait for
    eventually(machine, "systemctl status oborona --no-pager | grep -q '8 of 8 processes serve'")
    for unit in UNITS:
        found = re.search(
            r"level for .*: ([0-9.]+)",
            machine.run(f"systemd-analyze security --no-pager {unit}.service"),
        )
        assert found
        assert float(found[1]) <= EXPOSURE, unit
    nobody_looks_into_them(machine)
    reference = is_filtered(machine, "first")
    assert GTUBE[:4] not in machine.run("postqueue -p")
    assert "GTUBE" in machine.run(f"oborona explain {reference}")
    doctor_finds_nothing_wrong(machine)

    # the policy
    mine = machine.root / "etc/oborona/policy.d/90-local.toml"
    mine.write_text(RULE.format(name="MINE", subject="mine"))
    machine.run("systemctl reload oborona")
    assert send(machine, "mine").startswith("550 5.7.1 ")
    mine.write_text(f"{mine.read_text()}scor = 3\n")
    with pytest.raises(CommandError):
        machine.run("systemctl reload oborona")
    assert "scor" in machine.ask("journalctl -u oborona -n 20 --no-pager")
    assert send(machine, "mine").startswith("550 5.7.1 "), "the one in force stays"
    mine.write_text(RULE.format(name="MINE", subject="mine"))
    machine.run("systemctl reload oborona")

    # a restart, and the power button
    machine.run("systemctl restart oborona")
    is_filtered(machine, "restarted")
    machine.reboot()
    let_stranger_in(machine)
    is_filtered(machine, "rebooted")
    assert "GTUBE" in machine.run(f"oborona explain {reference}")

    # an upgrade over all that
    before = counted(machine), verdicts(machine)
    clone = machine.root / CLONE[1:]
    # from the layout in which the site's folder held copies of all that ships, one of them changed
    # by hand
    machine.run("cp etc/policy.d/* /etc/oborona/policy.d/")
    change(
        machine.root / "etc/oborona/policy.d/10-verdict.toml",
        r"^spam_score = \d+",
        "spam_score = 93",
    )
    change(clone / "pyproject.toml", r"^version = .*", 'version = "99.1"')
    change(clone / "systemd/oborona.service", r"^Description=.*", "Description=Anew")
    with (clone / "etc/policy.d/22-headers.toml").open("a") as shipped:
        shipped.write(RULE.format(name="SHIPPED", subject="shipped"))
    said = follow(machine, "In a clone", "operate/upgrade.md")
    assert "spam_score = 93 (ships: 100)" in said
    assert machine.run("ls /etc/oborona/policy.d").split() == [
        "10-verdict_own.toml",
        "90-local.toml",
    ]
    assert "99.1" in machine.run("oborona --version")
    assert "Anew" in machine.run("systemctl show -p Description oborona")
    assert (counted(machine), verdicts(machine)) == before
    assert "GTUBE" in machine.run(f"oborona explain {reference}")
    assert send(machine, "mine").startswith("550 5.7.1 "), "what is mine stays"
    assert send(machine, "shipped").startswith("550 5.7.1 "), "what ships is new"
    is_filtered(machine, "upgraded")

    # a backup; all is lost; all is back
    before = counted(machine), verdicts(machine)
    follow(machine, "Backup", "operate/backup.md")
    follow(machine, "Restore", "operate/backup.md")  # over the state that is there
    assert (counted(machine), verdicts(machine)) == before
    machine.run("systemctl stop oborona; rm -rf /etc/oborona /var/lib/oborona")
    follow(machine, "Restore", "operate/backup.md")
    assert (counted(machine), verdicts(machine)) == before
    assert "GTUBE" in machine.run(f"oborona explain {reference}")
    assert send(machine, "mine").startswith("550 5.7.1 ")
    is_filtered(machine, "restored")

    # without its secret nothing starts, and says why
    machine.run("systemctl stop oborona; mv /var/lib/oborona/secret /root/")
    assert "Job for oborona.service failed" in machine.ask("systemctl start oborona")
    assert "put it back from a backup" in machine.ask("journalctl -u oborona -n 20 --no-pager")
    assert machine.run("systemctl show -p ExecMainStatus oborona").strip() == "ExecMainStatus=78"
    assert re.search(r"FAIL .*secret", machine.ask("oborona doctor"))
    machine.run(
        "mv /root/secret /var/lib/oborona/; systemctl reset-failed oborona; systemctl start oborona"
    )
    is_filtered(machine, "found")

    remove, purge = commands("install.md", "Removal")[-2:]
    machine.run(remove)
    assert machine.run("ls /etc/oborona/policy.d").split() == [
        "10-verdict_own.toml",
        "90-local.toml",
    ]
    assert machine.run("ls /var/lib/oborona/journal.db")
    machine.run(purge)
    is_gone(machine)
    assert send(machine, "gtube-afterwards", GTUBE) == "taken", "mail goes on, unfiltered"
    assert "X-Mras" not in delivered(machine, "gtube-afterwards")


def test_one_unit_for_each_process(machine: Machine) -> None:
    follow(machine, "One unit for each process")
    assert machine.ask("systemctl is-active oborona.service").strip() == "inactive"
    for unit in UNITS[1:-1]:
        assert machine.run(f"systemctl is-active {unit}.service").strip() == "active", unit
    is_filtered(machine, "apart")
    machine.reboot()
    let_stranger_in(machine)
    is_filtered(machine, "rebooted")
    machine.run("systemctl reload oborona-worker.service; systemctl restart oborona.target")
    is_filtered(machine, "restarted")
    follow(machine, "Another address")
    (machine.root / "etc/oborona/oborona.toml").write_text(SOCKET)
    (machine.root / "etc/resolv.conf").write_text("nameserver 203.0.113.9\n")
    machine.run("systemctl restart oborona.target; oborona attach --yes")
    assert (
        machine.run("stat -c '%U %G %a' /var/spool/postfix/oborona/milter.sock").strip()
        == "oborona postfix 660"
    )
    assert "8890" not in machine.run("postconf -n smtpd_milters"), (
        "where we were is not asked any more"
    )
    assert "is closed to others" not in machine.run(
        "journalctl -u oborona-worker --boot --no-pager"
    )
    is_filtered(machine, "by-socket")
    assert "203.0.113.9/32" in machine.run("systemctl show -p IPAddressAllow oborona-worker")
