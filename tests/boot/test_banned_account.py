"""What a banned account has in the queue of Debian's Postfix, under the units that ship: the daemon
may not touch it, and the unit that may is started by the mark that the daemon leaves.
"""

from __future__ import annotations

import json
from typing import Final

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import STRANGER
from tests.boot.steps import eventually, follow, needs_machine

EVE: Final = "eve@shop.example"
ANN: Final = "ann@shop.example"
STATE: Final = "/var/lib/oborona"
# what goes out stays deferred; a client of this machine may say who logged in; addresses are named
_OUTGOING: Final = f"""
postconf -e default_transport=smtp:[127.0.0.1]:1 smtpd_authorized_xclient_hosts=127.0.0.1
postconf -e 'smtpd_relay_restrictions = check_sender_access static:OK, reject'
postconf -e 'inet_interfaces = 127.0.0.1, {STRANGER}'
systemctl restart postfix
"""
_SOLD: Final = """
[[rule]]
name = "SOLD"
when = "subject == 'auction'"
score = 150
"""
_SEND: Final = """\
import smtplib, sys
login, subject = sys.argv[1:]
with smtplib.SMTP("127.0.0.1", 25, "pc.shop.example", 120) as server:
    server.ehlo()
    code, said = server.docmd("XCLIENT", f"ADDR=192.0.2.9 NAME=[UNAVAILABLE] LOGIN={login}")
    assert code == 220, said
    server.ehlo()
    letter = f"From: {login}\\r\\nTo: bo@b.example\\r\\nSubject: {subject}\\r\\n\\r\\nShall we meet?\\r\\n"
    for code, said in (server.mail(login), server.rcpt("bo@b.example"), server.data(letter)):
        assert code == 250, said
    print(said.decode().rsplit(" ", 1)[-1])
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


def send(machine: Machine, login: str, subject: str) -> str:
    """Send a message by a login; return its queue id once it is in the journal."""
    (machine.root / "root/send.py").write_text(_SEND)
    ident = machine.run(f"python3 /root/send.py {login} {subject}").strip()
    eventually(machine, f"oborona find queue:{ident}")
    return ident


def by_the_daemons_user(machine: Machine, command: str) -> None:
    """Run a command as who may not touch the queue."""
    machine.run(f"runuser -u oborona -- oborona {command}")


def held(machine: Machine) -> set[str]:
    rows = map(json.loads, machine.run("postqueue -j").splitlines())
    return {row["queue_id"] for row in rows if row["queue_name"] == "hold"}


def await_held(machine: Machine, number: int) -> set[str]:
    eventually(machine, f'[ $(postqueue -j | grep -c \'"queue_name": "hold"\') = {number} ]')
    return held(machine)


def test_the_unit_holds_what_waits_and_lets_just_that_go(machine: Machine) -> None:
    assert machine.run("systemctl is-active oborona-queue.path").strip() == "active"
    machine.run(_OUTGOING)
    waiting = {send(machine, EVE, f"sold-{number}") for number in range(3)}
    other = send(machine, ANN, "lunch")
    by_the_daemons_user(machine, f"account ban {EVE} --reason stolen")
    assert await_held(machine, 3) == waiting
    assert "held, for its account is banned" in machine.run(f"oborona outgoing held --login {EVE}")
    by_the_daemons_user(machine, f"account unban {EVE} --reason changed")
    await_held(machine, 0)
    there = machine.run("postqueue -j")
    assert all(ident in there for ident in (*waiting, other)), "nothing is lost"
    said = machine.run("journalctl -u oborona-queue --no-pager --output cat")
    assert "3 messages of banned accounts are on hold" in said
    assert "3 messages of accounts that are open again are let go" in said


def test_a_sender_is_told_of_held_mail_by_the_unit(machine: Machine) -> None:
    machine.run(_OUTGOING)
    (machine.root / "etc/oborona/policy.d/90-local.toml").write_text(_SOLD)
    machine.run("systemctl reload oborona")
    spam = send(machine, ANN, "auction")
    assert await_held(machine, 1) == {spam}
    machine.run("systemctl start oborona-queue.service")
    delivered = f"journalctl --no-pager -t postfix/local | grep 'to=<{ANN}>'"  # nobody's mailbox
    eventually(machine, delivered)
    machine.run("systemctl start oborona-queue.service")
    handed_in = machine.run("journalctl --no-pager -t postfix/pickup | grep -c 'uid=0 from=<>'")
    assert handed_in.strip() == "1", "once a day"
    assert json.loads((machine.root / STATE[1:] / "senders.told").read_text()).keys() == {ANN}
    assert held(machine) == {spam}


def test_a_run_that_fails_is_done_again_until_it_succeeds(machine: Machine) -> None:
    """The daemon goes on with the settings that it has, while those in the file are wrong."""
    machine.run(_OUTGOING)
    ident = send(machine, EVE, "sold")
    by_the_daemons_user(machine, f"account ban {EVE} --reason stolen")
    assert await_held(machine, 1) == {ident}
    by_the_daemons_user(machine, f"account unban {EVE} --reason changed")
    await_held(machine, 0)
    # what the keeper leaves, while no command can be run
    machine.run("cp /etc/oborona/oborona.toml /root/; echo nonsense >>/etc/oborona/oborona.toml")
    machine.run(f"runuser -u oborona -- touch {STATE}/queue.due")
    eventually(machine, "systemctl show -p Result oborona-queue.service | grep -q exit-code")
    assert machine.run("systemctl is-active oborona-queue.path").strip() == "active"
    machine.run("cp /root/oborona.toml /etc/oborona/")
    eventually(machine, f"[ ! -e {STATE}/queue.due ]")
    eventually(machine, "systemctl show -p Result oborona-queue.service | grep -q success")
    assert machine.run("systemctl is-active oborona-queue.path").strip() == "active"


def test_a_command_closes_port_25_for_networks_of_banned_accounts(machine: Machine) -> None:
    """As the page has it, on a Debian whose packet filter is nftables."""
    said = follow(machine, "Run a command", "people/incidents.md")
    assert "/usr/local/sbin/close-port-25" in said, "the doctor has looked at it"
    networks = '[{"network": "192.0.2.0/28"}, {"network": "2001:db8:7::/48"}]'
    account = f'{{"account": "eve", "logins": ["{EVE}"], "networks": {networks}}}'
    machine.run(f"echo '{account}' | oborona account import -")
    by_the_daemons_user(machine, f"account ban {EVE} --reason stolen")
    closed = "nft list table inet oborona | grep -o '192.0.2.0/28\\|2001:db8:7::/48' | sort -u"
    eventually(machine, f'[ "$({closed} | wc -l)" = 2 ]')
    by_the_daemons_user(machine, f"account unban {EVE} --reason changed")
    eventually(machine, f'[ -z "$({closed})" ]')
    by_the_daemons_user(machine, f"account ban {EVE} --for 10s --reason again")
    eventually(machine, f'[ "$({closed} | wc -l)" = 2 ]')
    eventually(machine, f'[ -z "$({closed})" ]')  # nobody has opened it: its time was over

    machine.run("nft delete table inet oborona")
    by_the_daemons_user(machine, f"account ban {EVE} --reason stolen")
    eventually(machine, "journalctl -u oborona-hook | grep -q 'No such file or directory'")
    assert machine.run("systemctl is-active oborona-hook.path").strip() == "active"
    assert "hook command" in machine.ask("oborona doctor | grep FAIL")
    machine.run("nft -f /etc/nftables.conf")
    by_the_daemons_user(machine, f"account ban {EVE} --reason 'stolen again'")
    eventually(machine, f'[ "$({closed} | wc -l)" = 2 ]')

    machine.run("chmod 777 /usr/local/sbin/close-port-25")
    by_the_daemons_user(machine, f"account unban {EVE} --reason changed")
    eventually(machine, "journalctl -u oborona-hook | grep -q 'may write to it'")
    assert machine.run(f"{closed} | wc -l").strip() == "2"
