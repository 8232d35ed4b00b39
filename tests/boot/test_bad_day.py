"""What goes wrong on a machine under the units that ship: a worker that stands still, workers that
are killed under mail, the service stopped.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import delivered, is_filtered, send
from tests.boot.steps import eventually, needs_machine

LETTERS: Final = 400
_SEND: Final = f"""\
import smtplib, sys
from concurrent.futures import ThreadPoolExecutor

def taken(number):
    subject = f"under-kills-{{number}}"
    letter = f"From: ann@partner.example\\r\\nTo: joe@shop.example\\r\\nSubject: {{subject}}\\r\\n\\r\\n" + "Shall we meet?\\r\\n" * 200
    try:
        with smtplib.SMTP("mx.shop.example", 25, "mail.partner.example", 120) as server:
            server.sendmail("ann@partner.example", ["joe@shop.example"], letter)
    except (smtplib.SMTPException, OSError):
        return ""
    return subject

with ThreadPoolExecutor(4) as threads:
    print(*filter(None, threads.map(taken, range({LETTERS}))), sep="\\n")
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


def said(machine: Machine) -> str:
    return machine.run("journalctl -u oborona --boot --no-pager --output cat")


def workers(machine: Machine) -> list[str]:
    return machine.run("pgrep -f '^oborona: worker'").split()


def test_a_start_has_nothing_to_warn_of(machine: Machine) -> None:
    """But that its disk is a copy."""
    warnings = re.findall("level=(?:warning|error|critical).*", said(machine))
    assert [line for line in warnings if "data.mdb was copied here" not in line] == []


def test_a_worker_that_stands_still_and_workers_that_are_killed(machine: Machine) -> None:
    assert machine.run("systemctl show --value -p TasksMax oborona").strip() == "1024"
    memory = int(re.findall(r"MemTotal: +(\d+)", machine.run("cat /proc/meminfo"))[0]) * 1024
    limit = machine.run("systemctl show --value -p MemoryMax oborona").strip()
    assert 0.5 * memory < int(limit) < 0.8 * memory

    # what is stopped can't be looked at through /proc, and is told from what computes by its clock
    stopped, *_ = workers(machine)
    machine.run(f"kill -STOP {stopped}")
    eventually(
        machine,
        (
            "journalctl -u oborona --boot --output cat | grep -q 'stood still, was killed by "
            "SIGABRT'"
        ),
    )
    eventually(machine, "systemctl status oborona --no-pager | grep -q '8 of 8 processes serve'")
    assert "Fatal Python error: Aborted" in said(machine)
    assert re.search(r"^ *\|? *File .*/oborona/daemon/worker.py", said(machine), re.MULTILINE), (
        "where it stood"
    )
    assert stopped not in workers(machine)
    assert machine.run("oborona set-apart list", status=1).strip() == "", "it blames no message"

    # workers are killed under mail: nothing that Postfix took is missing
    (machine.root / "root/many.py").write_text(_SEND)
    machine.run(
        "python3 /root/many.py >/root/taken & for _ in 1 2 3 4; do sleep 0.8; pkill -KILL "
        "-o -f '^oborona: worker'; done; wait"
    )
    taken = machine.run("cat /root/taken").split()
    assert len(taken) > LETTERS / 2
    eventually(machine, "oborona doctor | grep -q '0.0 KiB in spools'")
    there = machine.run(f"oborona find subject:under-kills --limit {2 * LETTERS} --json")
    assert [subject for subject in taken if f'"{subject}"' not in there] == []
    assert machine.run("systemctl show --value -p NRestarts oborona").strip() == "0"
    is_filtered(machine, "afterwards")


def test_mail_waits_while_the_service_is_stopped(machine: Machine) -> None:
    machine.run("systemctl stop oborona")
    assert send(machine, "waits").startswith("451 4.7.1 "), "the other side keeps it"
    assert "mail that comes waits with its senders (default_action=tempfail)" in machine.ask(
        "oborona doctor | tr -s '\\n │' ' '"
    )
    machine.run("systemctl start oborona")
    assert send(machine, "waits") == "taken"
    assert "X-Mras: Ok" in delivered(machine, "waits")
    lets_in = "lets mail in unjudged (default_action=accept)"
    assert lets_in not in machine.run("oborona attach --yes")
    machine.run(
        "sed -i s/default_action=tempfail/default_action=accept/ /etc/postfix/main.cf; "
        "postfix reload"
    )
    assert lets_in in machine.run("oborona attach --yes")
    assert lets_in in machine.ask("oborona doctor | tr -s '\\n │' ' '")
