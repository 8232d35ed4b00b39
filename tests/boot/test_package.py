"""The Debian package on a machine that boots, as docs/install.md says it: installed without a
compiler, mail untouched until it is told so, an upgrade under mail, a downgrade that is refused,
removal that leaves mail neither unscanned in silence nor waiting, and purge.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boot.documents import commands
from tests.boot.machine import Machine
from tests.boot.mail import delivered, install_postfix, is_filtered, send
from tests.boot.packages import LATER, bring, build, later
from tests.boot.steps import eventually, is_gone, needs_machine
from tests.letters import GTUBE

STATE = "/var/lib/oborona"
_STEADY = """\
import smtplib, time
import os
count = 0
while not os.path.exists("/root/enough"):
    with smtplib.SMTP("mx.shop.example", 25, "mail.partner.example", 120) as server:
        try:
            server.sendmail("ann@partner.example", ["joe@shop.example"], f"Subject: steady\\r\\n\\r\\nnumber {count}\\r\\n")
            print("taken")
        except smtplib.SMTPResponseException as error:
            print(error.smtp_code, error.smtp_error.decode())
    count += 1
    time.sleep(0.3)
"""
_COMPLETE = """\
. /usr/share/bash-completion/bash_completion
_completion_loader "$1"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
_PRAGMA = (
    "import sqlite3, sys; "
    "print(*(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone() or ()))"
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def bare() -> Iterator[Machine]:
    """A machine with a Postfix, and nothing of ours."""
    with Machine() as made:
        install_postfix(made)
        yield made


def refused(machine: Machine, command: str) -> str:
    """Return what a command says that must fail."""
    done = machine.start(command)
    assert done.returncode, done.stdout
    return done.stdout


def look_at_its_books(machine: Machine) -> None:
    """Man pages open and are without fault, and a shell that an admin has completes."""
    machine.run("apt-get -qq install -y man-db bash-completion")
    for page in ("oborona", "oborona-find", "5 oborona.toml", "5 oborona-policy"):
        # of the usual width man keeps a copy in a cache of its own
        assert machine.run(f"MANWIDTH=100 man --warnings {page} 2>&1 >/root/page") == ""
        assert "NAME" in machine.run("cat /root/page")
    (machine.root / "root/complete.sh").write_text(_COMPLETE)
    assert machine.run("bash /root/complete.sh oborona fin").split() == ["find"]
    assert "GTUBE" in machine.run("bash /root/complete.sh oborona find rule : GTU").split()


def test_the_life_of_a_package(packages: Path, bare: Machine) -> None:
    machine = bare
    (package,) = packages.glob("oborona_*.deb")
    bring(machine, *packages.glob("*.deb"))
    (machine.root / "root/steady.py").write_text(_STEADY)

    # as the page says it; mail is untouched until it is told so
    began = time.monotonic()
    install, *attach = commands("install.md", "Install")[0].splitlines()
    print(machine.run(install))
    assert machine.run("command -v gcc || echo none").strip() == "none"
    assert machine.run("systemctl is-active oborona; systemctl is-enabled oborona").split() == [
        "active",
        "enabled",
    ]
    assert machine.run("postconf -n smtpd_milters").strip() in ("", "smtpd_milters =")
    print(
        machine.run("\n".join(attach))
    )  # its last line, the doctor, fails unless mail is filtered
    reference = is_filtered(machine, "first")
    print(f"from apt to a filtered message: {time.monotonic() - began:.1f} s")
    eventually(machine, "systemctl status oborona --no-pager | grep -q '8 of 8 processes serve'")
    look_at_its_books(machine)
    machine.run("echo '# mine' >>/etc/oborona/oborona.toml")

    # an upgrade under mail: nothing is refused, or lost; a downgrade is
    bring(machine, later(package))
    said = machine.run(
        "python3 /root/steady.py >/root/steady & sleep 1; "
        f"apt install --yes ./later_{package.name}; sleep 3; touch /root/enough; wait; "
        "cat /root/steady"
    )
    answers = [line for line in said.splitlines() if line[:5] == "taken" or line[:3].isdigit()]
    assert len(answers) > 20
    assert set(answers) == {"taken"}, said
    assert "Anew" in machine.run("systemctl show -p Description oborona")
    assert send(machine, "shipped").startswith("550 5.7.1 ")
    assert "# mine" in machine.run("cat /etc/oborona/oborona.toml")
    said = refused(machine, f"apt-get -qq install -y --allow-downgrades ./{package.name}")
    assert "journal.db (format 999, this one reads up to" in said
    assert LATER in machine.run("dpkg-query -W oborona")
    assert "GTUBE" in machine.run(f"oborona explain {reference}")
    is_filtered(machine, "upgraded")

    # a Postfix that can't be told is named, and the package stays until it asks no more
    master = machine.root / "etc/postfix/master.cf"
    before = master.read_text()
    master.write_text(
        before + "2525 inet n - y - - smtpd\n  -o smtpd_milters=inet:127.0.0.1:8890\n"
    )
    said = refused(machine, "apt-get -qq remove -y oborona")
    assert "2525/inet/smtpd_milters" in said
    assert "take this out" in said
    is_filtered(machine, "not-removed")
    master.write_text(before)

    # removal: what Dovecot would keep for us goes first; mail goes on, settings and state stay
    machine.run(
        "mkdir -p /etc/dovecot/conf.d; cp /usr/share/doc/oborona/examples/dovecot/90-oborona.conf"
        " /etc/dovecot/conf.d/; install -d -o oborona /var/spool/oborona; date >/var/spool/oborona/said-1"
    )
    said = machine.run("apt-get -qq remove -y oborona 2>&1")
    assert "1 copies of mail" in said
    assert "main.cf as it was" in said
    assert (
        machine.run(f"ls -d /var/spool/oborona /etc/dovecot/conf.d/9* {STATE} || true").split()[-1]
        == STATE
    )
    assert send(machine, "gtube-between", GTUBE) == "taken"
    assert "X-Mras" not in delivered(machine, "gtube-between")

    # a store that a newer one wrote is known by itself, too
    known = machine.run(f"python3 -c '{_PRAGMA}' {STATE}/journal.db 'PRAGMA user_version'").strip()
    machine.run(f"python3 -c '{_PRAGMA}' {STATE}/journal.db 'PRAGMA user_version = 999'")
    said = refused(machine, f"apt-get -qq install -y ./{package.name}")
    assert f"journal.db (format 999, this one reads up to {known})" in said
    machine.run(f"python3 -c '{_PRAGMA}' {STATE}/journal.db 'PRAGMA user_version = {known}'")

    # purge keeps what was learned where nobody says that it may go; then nothing is left
    said = machine.run("apt-get -qq purge -y oborona 2>&1")
    assert f"kept: {STATE}" in said
    assert machine.ask("ls /etc/oborona").startswith("ls: cannot access")
    machine.run("\n".join((install, *attach)))
    assert "GTUBE" in machine.run(f"oborona explain {reference}"), "it knows what it knew"
    machine.run(commands("install.md", "Removal")[1])
    is_gone(machine)
    assert send(machine, "gtube-afterwards", GTUBE) == "taken"


def test_what_setup_put_there_is_taken_over(packages: Path, machine: Machine) -> None:
    """Settings, state and main.cf stay as they are, and setup keeps off from then on."""
    reference = is_filtered(machine, "by-setup")
    machine.run("echo '# mine' >>/etc/oborona/oborona.toml")
    bring(machine, *packages.glob("*.deb"))
    assert "taking over from ./setup install" in machine.run(
        "apt install --yes ./oborona_*.deb ./oborona-ocr_*.deb 2>&1"
    )
    assert (
        machine.run("find /opt /usr/local/bin /etc/systemd/system -name 'oborona*' -type f") == ""
    )
    assert machine.run("find /opt /usr/local/bin -name '*oborona*'") == ""
    assert "/lib/systemd/system/" in machine.run("systemctl show -p FragmentPath oborona")
    assert "# mine" in machine.run("cat /etc/oborona/oborona.toml")
    is_filtered(machine, "by-package")
    assert "GTUBE" in machine.run(f"oborona explain {reference}")
    assert re.search(r"OK .*text in pictures", machine.ask("oborona doctor"))
    for what in ("install", "remove", "purge"):
        assert "as a Debian package" in refused(machine, f"./setup {what}")
