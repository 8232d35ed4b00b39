"""Mail on a machine: a Postfix as Debian makes it with one mailbox, a stranger who writes by SMTP,
and what arrives.
"""

from __future__ import annotations

import re
from typing import Final

from tests.boot.machine import Machine
from tests.letters import GTUBE

STRANGER: Final = "198.51.100.66"  # an address of another machine, on this one's loopback
MAILBOX: Final = "/var/mail/joe"
WITHIN_S: Final = 60

_SEND: Final = f"""\
import smtplib, sys
with smtplib.SMTP("mx.shop.example", 25, "mail.partner.example", 120, ("{STRANGER}", 0)) as server:
    try:
        server.sendmail("ann@partner.example", ["joe@shop.example"], sys.stdin.read().replace("\\n", "\\r\\n"))
    except smtplib.SMTPResponseException as refused:
        print(refused.smtp_code, refused.smtp_error.decode())
    else:
        print("taken")
"""
_LETTER: Final = """\
From: Ann <ann@partner.example>
To: joe@shop.example
Subject: {subject}
Message-ID: <{subject}@partner.example>
Date: Fri, 20 Nov 2026 10:00:00 +0000

{text}
"""


def install_postfix(machine: Machine) -> None:
    """Install Postfix as Debian makes it, for shop.example, and a mailbox."""
    machine.run(
        """
        echo postfix postfix/main_mailer_type select Internet Site | debconf-set-selections
        echo postfix postfix/mailname string shop.example | debconf-set-selections
        apt-get -qq update
        apt-get -qq install -y postfix
        useradd joe
        """
    )
    let_stranger_in(machine)


def let_stranger_in(machine: Machine) -> None:
    """Give the machine the stranger's address, which goes with a reboot."""
    machine.run(f"ip address add {STRANGER}/32 dev lo")


def send(machine: Machine, subject: str, text: str = "Shall we meet at noon?") -> str:
    """Send a message by SMTP as a stranger; return "taken", or the refusal.

    Args:
        machine: where.
        subject: a word of its own.
        text: of the message.
    """
    letter = _LETTER.format(subject=subject, text=text)
    return machine.run(f"python3 -c '{_SEND}' <<'END'\n{letter}END").strip()


def delivered(machine: Machine, subject: str) -> str:
    """Return the header of a message once it is in the mailbox."""
    machine.run(
        f"for i in $(seq {WITHIN_S}0); do ! grep -qs '^Subject: {subject}$' {MAILBOX} || "
        f"exit 0; sleep 0.1; done; mailq; exit 1"
    )
    (header,) = (
        one
        for one in machine.run(f"cat {MAILBOX}").split("\n\n")
        if f"\nSubject: {subject}\n" in one
    )
    return header


def is_filtered(machine: Machine, subject: str) -> str:
    """Ham arrives with our headers, GTUBE is refused with a reference at the end of data.

    Return the reference.
    """
    assert send(machine, subject) == "taken"
    header = delivered(machine, subject)
    assert re.search(r"^X-Mras: Ok$", header, re.MULTILINE), header
    assert re.search(r"^X-Mras-Id: ", header, re.MULTILINE), header
    refusal = send(machine, f"{subject}-gtube", GTUBE)
    refused = re.fullmatch(r"(?s)550 5\.7\.1 .*reference (\w+).*", refusal)
    assert refused, refusal
    return refused[1]
