"""What is in the queue of a Postfix of our own people behind a daemon, and the commands for it."""

from __future__ import annotations

import json
import subprocess

from click.testing import CliRunner, Result

from oborona.cli import main
from tests.peers.postfix import Postfix
from tests.whole.gate import Gate, eventually

OUTGOING = {
    "smtpd_relay_restrictions": "permit_mynetworks, permit_auth_destination, check_sender_access static:OK, reject",
    "default_transport": "smtp:[127.0.0.1]:1",
}
"""Settings of a Postfix in which what goes out stays deferred."""


def send(gate: Gate, postfix: Postfix, raw: bytes, login: str, *recipients: str) -> str:
    """Send a message, wait for its entry in the journal, and return its queue id."""
    told = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": login}
    reply = postfix.send(
        raw, sender="ann@example.test", recipients=recipients or ("bo@b.example",), xclient=told
    )[-1]
    assert reply.startswith("250"), reply
    ident = reply.rsplit(" ", 1)[-1]
    eventually(lambda: command(gate, "find", f"queue:{ident}").exit_code == 0)
    return ident


def command(gate: Gate, *words: str, postfix: Postfix | None = None) -> Result:
    """Run a command; with a Postfix as the one of the machine."""
    env = {} if postfix is None else {"MAIL_CONFIG": f"{postfix.folder}/etc"}
    return CliRunner().invoke(
        main, ["--state", str(gate.oborona.state), *words], catch_exceptions=False, env=env
    )


def outgoing(gate: Gate, postfix: Postfix, name: str, *words: str) -> Result:
    """Run a command of the group `outgoing` on a Postfix."""
    return command(gate, "outgoing", name, "--postfix", f"{postfix.folder}/etc", *words)


def queue(postfix: Postfix) -> dict[str, str]:
    """In which queue each message lies, by its id."""
    words = ["/usr/sbin/postqueue", "-c", f"{postfix.folder}/etc", "-j"]
    lines = subprocess.run(words, capture_output=True, check=True, timeout=20).stdout
    rows = map(json.loads, lines.splitlines())
    return {row["queue_id"]: row["queue_name"] for row in rows}
