"""A Debian whose only mail server is exim4-daemon-light, set up as docs/mail-servers/exim.md says:
what its people send is held, let go and thrown away by our commands, and by the unit after a ban.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.boot.machine import Machine
from tests.boot.steps import eventually, follow, needs_machine

PAGE: Final = "mail-servers/exim.md"
ANN: Final = "ann@example.org"  # as the page has her
EVE: Final = "eve@example.org"
# what goes out stays deferred, for there is no DNS
_EXIM: Final = """
apt-get -qq update
apt-get -qq install -y --no-install-recommends exim4-daemon-light
sed -i "s/^dc_eximconfig_configtype=.*/dc_eximconfig_configtype='internet'/" /etc/exim4/update-exim4.conf.conf
sed -i "s/^dc_other_hostnames=.*/dc_other_hostnames='example.org'/" /etc/exim4/update-exim4.conf.conf
update-exim4.conf
systemctl restart exim4
useradd -m ann
useradd -m web
"""
_SOLD: Final = """
[[rule]]
name = "SOLD"
when = "subject == 'auction'"
score = 150
[[rule]]
name = "SOLD_OUT"
when = "subject == 'everything'"
score = 300
[outgoing]
inside = ["example.org"]
"""
_SEND: Final = """\
import smtplib, ssl, sys
login, subject = sys.argv[1:]
anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
with smtplib.SMTP("127.0.0.1", 25, "pc.example.org", 120) as server:
    server.starttls(context=anybody)
    server.login(login, "her password")
    letter = f"From: {login}\\r\\nTo: bo@b.example\\r\\nSubject: {subject}\\r\\n\\r\\nShall we meet?\\r\\n"
    for code, said in (server.mail(login), server.rcpt("bo@b.example"), server.data(letter)):
        if code != 250:
            break
    print(code, said.decode().replace("\\n", " "))
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The disk of such a machine, switched off."""
    with tempfile.TemporaryDirectory(prefix="oborona-exim-", dir="/var/tmp") as folder:
        disk = Path(folder, "root")
        with Machine() as made:
            made.run(_EXIM)
            made.run("./setup install")
            assert "Exim does not ask us" in made.ask("oborona doctor")
            follow(made, "Set it up", PAGE, folder="etc")
            said = made.ask("oborona doctor")
            assert "Exim cancels what is frozen for 1w" in said
            follow(made, "Your own people", PAGE)
            made.run(f"sed 's/^{ANN}/{EVE}/' /etc/exim4/passwd >>/etc/exim4/passwd")
            (made.root / "root/send.py").write_text(_SEND)
            (made.root / "etc/oborona/policy.d/90-local.toml").write_text(_SOLD)
            made.leave(disk)
        yield disk


@pytest.fixture
def machine(installed: Path) -> Iterator[Machine]:
    with Machine(installed) as made:
        yield made


def send(machine: Machine, login: str, subject: str) -> str:
    """Send a message with a login; return its id once it is in the journal."""
    said = machine.run(f"python3 /root/send.py {login} {subject}")
    assert said.startswith("250 OK id="), said
    ident = said.strip().rpartition("=")[2]
    eventually(machine, f"oborona find queue:{ident}")
    return ident


def hand_in(machine: Machine, subject: str, user: str = "web") -> int:
    """Hand in a message as a program; return the exit status of sendmail."""
    letter = f"Subject: {subject}\\n\\nShall we meet?\\n"
    return machine.start(
        f"printf '{letter}' | runuser -u {user} -- /usr/sbin/sendmail bo@b.example"
    ).returncode


def queue(machine: Machine) -> dict[str, bool]:
    """Whether each message is frozen, by its id."""
    lines = [line for line in machine.run("exim4 -bpr").splitlines() if "<" in line]
    return {line.split()[2]: line.endswith("*** frozen ***") for line in lines}


def frozen(machine: Machine) -> set[str]:
    return {ident for ident, is_frozen in queue(machine).items() if is_frozen}


def test_the_doctor_sees_exim_and_misses_no_postfix(machine: Machine) -> None:
    said = machine.ask("oborona doctor")
    assert "Exim asks us about recipients and messages" in said
    assert "Postfix" not in said
    assert "Exim cancels" not in said
    assert said.splitlines()[-1].startswith("mail is filtered")


def test_what_is_held_is_shown_and_goes_where_it_was_decided(machine: Machine) -> None:
    ham = send(machine, ANN, "lunch")
    first, second = (send(machine, ANN, "auction") for _ in range(2))
    # what Exim tells its postmaster of frozen mail has gone
    eventually(machine, "test $(exim4 -bpc) = 3")
    assert queue(machine) == {ham: False, first: True, second: True}
    shown = machine.run("oborona outgoing held --json")
    told = {one["queue_id"]: one for one in map(json.loads, shown.splitlines())}
    assert told.keys() == {first, second}
    assert {(one["ours"], one["login"]) for one in told.values()} == {(True, ANN)}
    machine.run("sleep 2; exim4 -q")
    assert frozen(machine) == {first, second}, "Exim keeps it"
    assert machine.run(f"oborona outgoing release {first}") == f"{first} let go\n"
    assert frozen(machine) == {second}
    asked = machine.run(f"oborona outgoing drop --login {ANN}", status=1)
    assert "--yes" in asked
    machine.run(f"oborona outgoing drop --login {ANN} --yes; exim4 -q")
    eventually(machine, "grep -q '^Subject: A message of yours was not sent' /var/mail/ann")
    assert queue(machine).keys() == {ham, first}


def test_an_account_s_queue_is_held_by_hand_and_taken_back(machine: Machine) -> None:
    waiting, other = send(machine, EVE, "dinner"), send(machine, ANN, "lunch")
    assert machine.run(f"oborona outgoing hold-queue {EVE} --dry-run").split() == [waiting]
    assert machine.run(f"oborona outgoing hold-queue {EVE}").split() == [waiting]
    assert queue(machine) == {waiting: True, other: False}
    refused = machine.run(f"oborona outgoing release {waiting}", status=os.EX_DATAERR)
    assert "held, but not by Oborona" in refused
    machine.run(f"oborona outgoing release --any {waiting}")
    assert frozen(machine) == set()


def test_a_ban_freezes_what_waits_and_its_end_thaws_just_that(machine: Machine) -> None:
    """By the unit that ships; then by root at once."""
    waiting = {send(machine, EVE, f"dinner-{number}") for number in range(2)}
    content, other = send(machine, EVE, "auction"), send(machine, ANN, "lunch")
    machine.run(f"runuser -u oborona -- oborona account ban {EVE} --reason 'it was stolen'")
    eventually(machine, "[ $(exim4 -bp | grep -c frozen) = 3 ]")
    assert frozen(machine) == {*waiting, content}
    said = machine.run(f"python3 /root/send.py {EVE} dinner")
    assert said.startswith("550 5.7.1 Sending is blocked: it was stolen, reference "), said
    shown = machine.run(f"oborona outgoing held --login {EVE}")
    assert shown.count("held, for its account is banned") == 2
    machine.run(f"runuser -u oborona -- oborona account unban {EVE} --reason 'it was changed'")
    eventually(machine, "[ $(exim4 -bp | grep -c frozen) = 1 ]")
    assert frozen(machine) == {content}
    assert "2 messages" in machine.run(f"oborona account ban {EVE} --reason again")
    assert frozen(machine) == {*waiting, content}
    machine.run("oborona outgoing hold-banned")  # is done
    machine.run(f"oborona account unban {EVE} --reason 'it was changed'")
    assert queue(machine).keys() >= {*waiting, content, other}, "nothing is lost"
    assert frozen(machine) == {content}


def test_a_program_is_an_account_by_its_unix_user(machine: Machine) -> None:
    assert (hand_in(machine, "lunch"), hand_in(machine, "auction")) == (0, 0)
    eventually(machine, "[ $(exim4 -bp | grep -c frozen) = 1 ]")
    assert "  web  " in machine.run("oborona outgoing held")
    assert hand_in(machine, "everything") == 1
    machine.run("oborona account ban web --reason 'a web form'")
    assert len(frozen(machine)) == 2
    machine.run("sleep 1")  # workers hear of it within half a second
    assert hand_in(machine, "lunch") == 1
    assert "Sending is blocked: a web form" in machine.run("cat /var/log/exim4/mainlog")


def test_a_sender_is_told_of_held_mail_by_the_unit(machine: Machine) -> None:
    ident = send(machine, ANN, "auction")
    machine.run("systemctl start oborona-queue.service; exim4 -q")
    eventually(machine, "grep -q '^Subject: A message of yours is held' /var/mail/ann")
    assert frozen(machine) == {ident}


@pytest.mark.parametrize("user", ["oborona", "ann"])
def test_who_may_not_see_the_queue_is_told_who_may(machine: Machine, user: str) -> None:
    """Exim shows it to nobody else."""
    for command in ("held", f"hold-queue {ANN}", f"release --login {ANN}"):
        said = machine.run(f"runuser -u {user} -- oborona outgoing {command}", status=os.EX_NOPERM)
        assert "run it as root" in said, said
