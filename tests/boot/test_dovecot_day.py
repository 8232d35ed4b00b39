"""docs/people/dovecot.md as it stands, on a machine that boots: Dovecot files what is suspicious
and tells what people do; and it is the first to forget us.
"""

from __future__ import annotations

import pytest

from tests.boot.machine import Machine
from tests.boot.mail import send
from tests.boot.steps import eventually, follow, is_gone, needs_machine

SITE = """
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=vmail gid=vmail home=/srv/vmail/%n
}
mail_location = maildir:~/Maildir
auth_username_format = %Lu
service lmtp {
  unix_listener /var/spool/postfix/private/dovecot-lmtp {
    user = postfix
    group = postfix
  }
}
"""
MOVE = """\
import imaplib, sys
with imaplib.IMAP4("127.0.0.1") as server:
    server.login("joe@shop.example", "any")
    server.select(sys.argv[1])
    print(server.uid("MOVE", "1:*", sys.argv[2]))
"""
SPOOL = "/var/spool/oborona"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), needs_machine]


@pytest.fixture
def served(machine: Machine) -> Machine:
    """The machine with a Dovecot of one group, to which Postfix delivers."""
    machine.run(
        "groupadd vmail; useradd --gid vmail vmail; install -d -o vmail -g vmail /srv/vmail"
    )
    machine.run(
        "apt-get -qq install -y --no-install-recommends dovecot-imapd dovecot-lmtpd dovecot-sieve"
    )
    (machine.root / "etc/dovecot/conf.d/99-site.conf").write_text(SITE)
    (machine.root / "root/move.py").write_text(MOVE)
    machine.run(
        "sed -i 's/^!include auth-system/#&/' /etc/dovecot/conf.d/10-auth.conf; systemctl "
        "restart dovecot"
    )
    machine.run("postconf mailbox_transport=lmtp:unix:private/dovecot-lmtp; postfix reload")
    return machine


def arrives(machine: Machine, subject: str) -> None:
    assert send(machine, subject) == "taken"
    eventually(
        machine,
        (
            f"doveadm fetch -u joe@shop.example hdr.subject mailbox INBOX subject {subject} | "
            f"grep -q {subject}"
        ),
    )


def test_dovecot_files_and_tells_and_forgets(served: Machine) -> None:
    follow(served, "Set up", "people/dovecot.md", folder="etc")

    arrives(served, "lunch")
    served.run("python3 /root/move.py INBOX Junk")
    eventually(served, "oborona feedback list | grep -q 'spam report'")
    assert served.run(f"ls {SPOOL}").split() == []

    served.run("systemctl stop oborona; python3 /root/move.py Junk INBOX")
    [kept] = served.run(f"ls {SPOOL}").split()
    served.run(
        f"systemd-tmpfiles --clean; ls {SPOOL}/{kept}; touch -d '8 days ago' "
        f"{SPOOL}/{kept}; systemd-tmpfiles --clean"
    )
    assert served.run(f"ls {SPOOL}").split() == [], "copies of mail are not for ever"

    served.run("python3 /root/move.py INBOX Junk")
    assert served.run(f"ls {SPOOL}").split()
    served.run("./setup purge")
    is_gone(served)
    since = served.run("sleep 1; date +%s").strip()
    served.run("python3 /root/move.py Junk INBOX")
    assert not (served.root / SPOOL[1:]).exists()
    arrives(served, "afterwards")
    assert "rror" not in served.ask(f"journalctl -u dovecot --since @{since} --no-pager")
