"""Wrong passwords at a real Dovecot, and at a real Postfix that asks it: they are reported to us,
counted for the account, and an account that is banned can't log in. They and logins that succeed
are recorded for the log of events.
"""

from __future__ import annotations

import base64
import imaplib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from oborona import state_files
from tests.peers.dns import Zones
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.queued import command

KEY: Final = "key-of-dovecot-01234"
PAGE: Final = Path(__file__).parents[2] / "docs/mail-servers/dovecot-logins.md"
GUESSED: Final = """
[[limit]]
name = "GUESSED"
each = "account"
count = "failed_logins"
window = "hour"
limit = 2
then = "alert"
"""
_AUTH: Final = """
service auth {{
  unix_listener {root}/sasl {{
    mode = 0666
  }}
}}
auth_failure_delay = 0
auth_verbose = yes
{policy}
"""


def page_lines(port: int) -> str:
    """Return the lines of the page for this key and port."""
    text = PAGE.read_text()
    block = text[text.index("    auth_policy_server_url") : text.index("    END\n    systemctl")]
    lines = "\n".join(line.strip() for line in block.splitlines())
    lines = lines.replace("$key", KEY).replace("$(openssl rand -hex 16)", "5" * 32)
    return lines.replace(":11333/", f":{port}/")


class Checked(Dovecot):
    """A Dovecot that asks us about logins, as the page says."""

    def __init__(self, port: int) -> None:
        super().__init__(users=["ann", "eve", "joe", "sam"])
        self._extra = _AUTH.format(root=self.root, policy=page_lines(port))


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    folder = Path("/tmp")
    with Zones() as zones:
        keys = folder / f"oborona-keys-{free_port()}"
        keys.write_text(f"{KEY}\n")
        settings = {
            "doors.http.listen": f"inet:127.0.0.1:{free_port()}",
            "doors.http.keys_file": keys,
            "doors.http.refuse_banned_logins": "true",
            "eventlog.enabled": "true",
            "eventlog.look_s": 300,  # what is recorded stays where the test looks for it
        }
        try:
            with Gate(zones.setting, GUESSED, settings=settings) as running:
                yield running
        finally:
            keys.unlink()


@pytest.fixture(scope="module")
def dovecot(gate: Gate) -> Iterator[Dovecot]:
    port = int(str(gate.oborona.setting("doors.http.listen")).rpartition(":")[2])
    with Checked(port) as running:
        yield running


@pytest.fixture(scope="module")
def postfix(gate: Gate, dovecot: Dovecot) -> Iterator[Postfix]:
    main = {
        "smtpd_sasl_auth_enable": "yes",
        "smtpd_sasl_type": "dovecot",
        "smtpd_sasl_path": f"{dovecot.root}/sasl",
    }
    with Postfix(main=main) as running:
        yield running


def read_mail(dovecot: Dovecot, user: str, password: str) -> bool:
    """Tell whether somebody gets into a mailbox."""
    client = imaplib.IMAP4("127.0.0.1", dovecot.imap_port)
    try:
        return client.login(user, password)[0] == "OK"
    except imaplib.IMAP4.error:
        return False
    finally:
        client.shutdown()


def submit(postfix: Postfix, user: str, password: str) -> int:
    """Log in at the mail server; return its code."""
    with postfix.connect({"ADDR": "192.0.2.9"}) as smtp:
        word = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        return smtp.docmd("AUTH", f"PLAIN {word}")[0]


def failed(gate: Gate, login: str) -> list[str]:
    """Return the protocols by which an account's logins failed."""
    return [one["protocol"] for one in gate.events("failed login") if one["login"] == login]


def recorded(gate: Gate, login: str) -> list[tuple[str, str, str, str]]:
    """Return what waits for the log of events: event, service, why, client."""
    folder = gate.oborona.state / state_files.EVENT_LOG_RECEIVED / "logins"
    rows = (
        json.loads(line)
        for path in sorted(folder.rglob("[0-9]*.jsonl"))
        for line in path.read_text().splitlines()
    )
    return [
        (row["event"], row["service"], row.get("why", ""), row["client"])
        for row in rows
        if row["person"] == f"account {login}"
    ]


def test_logins_that_succeed_and_fail_are_recorded(
    gate: Gate, dovecot: Dovecot, postfix: Postfix
) -> None:
    assert not read_mail(dovecot, "joe", "a guess")
    assert read_mail(dovecot, "joe", PASSWORD)
    assert submit(postfix, "joe", "a guess") == 535
    assert submit(postfix, "joe", PASSWORD) == 235
    eventually(lambda: len(recorded(gate, "joe")) == 4)
    assert sorted(recorded(gate, "joe")) == [
        ("failure", "imap", "password", "127.0.0.1"),
        ("failure", "smtp", "password", "192.0.2.9"),
        ("login", "imap", "", "127.0.0.1"),
        ("login", "smtp", "", "192.0.2.9"),
    ]


def test_wrong_passwords_are_counted_and_told(
    gate: Gate, dovecot: Dovecot, postfix: Postfix
) -> None:
    who = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": "ann"}
    gate.postfix.send(LETTER, sender="ann@a.example", recipients=["joe@example.test"], xclient=who)
    assert read_mail(dovecot, "ann", PASSWORD)
    assert not read_mail(dovecot, "ann", "a guess")
    assert submit(postfix, "ann", PASSWORD) == 235
    assert submit(postfix, "ann", "a guess") == 535
    eventually(lambda: failed(gate, "ann") == ["imap", "smtp"])
    assert not [one for one in gate.events("limit") if one["login"] == "ann"]

    def passed() -> bool:  # counts are read some tenths of a second later
        read_mail(dovecot, "ann", "another guess")
        return any(one["login"] == "ann" for one in gate.events("limit"))

    eventually(passed)
    told = [one for one in gate.events("limit") if one["login"] == "ann"]
    assert (told[0]["limit"], told[0]["value"], told[0]["done"]) == ("GUESSED", 3, "nothing")
    assert told[0]["client"] == "127.0.0.1"


def test_a_name_that_is_nobody_s_is_told_by_nobody(gate: Gate, dovecot: Dovecot) -> None:
    for _ in range(4):
        assert not read_mail(dovecot, "nobody", "a guess")
    time.sleep(1)  # counts are read some tenths of a second later
    assert not read_mail(dovecot, "nobody", "a guess")
    eventually(lambda: len(failed(gate, "nobody")) == 5)
    assert not [one for one in gate.events("limit") if one["login"] == "nobody"]


def test_a_banned_account_gets_in_nowhere(gate: Gate, dovecot: Dovecot, postfix: Postfix) -> None:
    assert read_mail(dovecot, "eve", PASSWORD)
    command(gate, "account", "ban", "eve", "--reason", "stolen")
    eventually(lambda: not read_mail(dovecot, "eve", PASSWORD))
    assert submit(postfix, "eve", PASSWORD) == 535
    assert "the account is banned" in dovecot.log()
    assert read_mail(dovecot, "ann", PASSWORD)
    command(gate, "account", "unban", "eve", "--reason", "changed")
    eventually(lambda: read_mail(dovecot, "eve", PASSWORD))
    assert failed(gate, "eve") == [], "it was no wrong password"


def test_who_logs_in_is_let_in_while_we_are_away(gate: Gate) -> None:
    with Checked(free_port()) as alone:
        assert read_mail(alone, "sam", PASSWORD)
        assert not read_mail(alone, "sam", "a guess")
