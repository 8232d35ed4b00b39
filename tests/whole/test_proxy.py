"""The proxy between real mail servers: before a Postfix, between two as smtpd_proxy_filter, and
before a Dovecot by LMTP.
"""

from __future__ import annotations

import re
import shutil
import smtplib
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona.daemon.listeners import DOOR
from oborona.telemetry.status import read_workers
from tests.peers.certificate import write_certificate
from tests.peers.dovecot import Dovecot
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix, available, transaction
from tests.whole.after import AS_IT_COMES
from tests.whole.gate import eventually

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix, and root to run it")

STRANGER: Final = "127.0.0.66"
DENIED: Final = "127.0.0.99"
LETTER: Final = (
    b"From: Ann <ann@a.example>\r\nTo: all@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <%b@a.example>\r\nX-Mras: Ok\r\n\r\nShall we meet at noon, as last "
    b"week?\r\n.\r\n..dots\r\n"
)
LARGE: Final = (b"y" * 76 + b"\r\n") * (8_000_000 // 78)
POLICY: Final = f"""
[traps]
addresses = ["trap@example.test"]
then = "drop"

[[rule]]
name = "MARKED"
when = "message_id == 'spam@a.example'"
score = 110

[[rule]]
name = "WORSE"
when = "message_id == 'worse@a.example'"
score = 600

[[local_list]]
name = "ENEMIES"
action = "deny"
of = ["client"]
entries = ["{DENIED}"]
"""


@dataclass
class Way:
    """A proxy before a Postfix before a Dovecot; another Postfix before the proxy."""

    oborona: Oborona
    port: int
    behind: Postfix
    front: Postfix
    dovecot: Dovecot
    certificate: Path
    policy: Path

    def connect(self, ip: str = STRANGER) -> smtplib.SMTP:
        """Return an SMTP session with the proxy that has said EHLO."""
        smtp = smtplib.SMTP(
            "127.0.0.1", self.port, local_hostname="client.test", timeout=60, source_address=(ip, 0)
        )
        smtp.ehlo()
        return smtp

    def send(self, name: bytes, *users: str, raw: bytes = LETTER, of: str = "") -> list[str]:
        """Send a letter under a Message-ID, or have a mail server send it for a client.

        Return the replies.
        """
        with self.connect("127.0.0.1" if of else STRANGER) as smtp:
            if of:
                assert smtp.docmd("XCLIENT", f"ADDR={of} NAME=mail.a.example")[0] == 220
                smtp.ehlo()
            return transaction(
                smtp, raw % name, "ann@a.example", [f"{one}@example.test" for one in users]
            )

    def delivered(self, user: str, mailbox: str = "INBOX") -> bytes:
        """Wait for the one message of a mailbox."""
        eventually(lambda: bool(self.dovecot.messages(user, mailbox)))
        (only,) = self.dovecot.messages(user, mailbox)
        return only.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    folder = tmp_path_factory.mktemp("proxy")
    shutil.copytree(SETTINGS.parent / "policy.d", folder / "policy.d")
    (folder / "policy.d" / "90-local.toml").write_text(AS_IT_COMES + POLICY)
    certificate = write_certificate(folder / "both.pem")
    port = free_port()
    with ExitStack() as stack:
        dovecot = stack.enter_context(Dovecot())
        behind = stack.enter_context(
            Postfix(
                virtual_transport=f"lmtp:unix:{dovecot.lmtp}",
                main={"smtpd_authorized_xforward_hosts": "127.0.0.0/8"},
            )
        )
        settings = {
            "doors.proxy.listen": f"inet:{port}@127.0.0.1",
            "doors.proxy.next_hop": f"inet:{behind.port}@127.0.0.1",
            "doors.proxy.trusted": "127.0.0.1/32",
            "doors.proxy.certificate": certificate,
            "worker.processes": 1,
            "site.name": "mx.example.test",
            "paths.policy": folder / "policy.d",
            "log.format": "json",
        }
        oborona = stack.enter_context(Oborona(settings))
        front = stack.enter_context(Postfix(main={"smtpd_proxy_filter": f"127.0.0.1:{port}"}))
        yield Way(oborona, port, behind, front, dovecot, certificate, folder / "policy.d")


def test_a_letter_arrives_as_it_was_but_for_our_headers(way: Way) -> None:
    assert way.send(b"1", "joe")[-1].startswith("250 2.0.0 Ok: queued as ")
    there = way.delivered("joe")
    head, _, body = there.partition(b"\r\n\r\n")
    assert body == LETTER.partition(b"\r\n\r\n")[2]
    assert head.count(b"\r\nX-Mras: Ok\r\n") == 1, "the forged one is gone"
    assert re.search(rb"X-Mras-Id: \S+", head)
    assert re.search(rb"Received: from client\.test \(.*\[127\.0\.0\.66\]\)", head), (
        "Postfix knows the client"
    )


def test_spam_is_filed_and_worse_is_refused_before_the_next_hop_has_it(way: Way) -> None:
    assert way.send(b"spam", "amy")[-1].startswith("250 2.0.0 Ok: queued as ")
    assert b"\r\nX-Mras: Probable\r\n" in way.delivered("amy", "Junk")
    before = way.behind.whole_log().count(": message-id=")
    assert re.match(
        r"550 5\.7\.1 Message refused as spam, reference [0-9A-Z]{13}",
        way.send(b"worse", "amy")[-1],
    )
    assert way.behind.whole_log().count(": message-id=") == before


def test_who_is_denied_is_told_so_at_rcpt(way: Way) -> None:
    before = way.behind.whole_log().count(": connect from")
    with way.connect(DENIED) as smtp:
        smtp.ehlo("mail.a.example")
        assert smtp.mail("ann@a.example")[0] == 250
        code, text = smtp.rcpt("joe@example.test")
    assert (code, text[:21]) == (554, b"5.7.1 Client refused,")
    assert way.behind.whole_log().count(": connect from") == before + 1


def test_who_is_denied_at_connect_is_nothing_to_the_next_hop(way: Way) -> None:
    before = way.behind.whole_log().count(": connect from")
    local = way.policy / "91-at-connect.toml"
    loaded = way.oborona.log().count("policy loaded")
    local.write_text("[verdict]\nclients_at = 'connect'\n")
    eventually(lambda: way.oborona.log().count("policy loaded") > loaded)
    try:
        with pytest.raises(smtplib.SMTPConnectError) as refused:
            way.connect(DENIED)
    finally:
        local.unlink()
        eventually(lambda: way.oborona.log().count("policy loaded") > loaded + 1)
    assert (refused.value.smtp_code, refused.value.smtp_error[:21]) == (
        554,
        b"5.7.1 Client refused,",
    )
    assert way.behind.whole_log().count(": connect from") == before


def test_a_large_message_goes_through(way: Way) -> None:
    assert way.send(b"5", "ben", raw=LETTER.replace(b"..dots\r\n", LARGE))[-1].startswith("250 ")
    assert way.delivered("ben").endswith(b".\r\n" + LARGE)


def test_a_client_goes_on_in_private(way: Way) -> None:
    with way.connect() as smtp:
        assert smtp.has_extn("starttls")
        context = ssl.create_default_context(cafile=way.certificate)
        context.check_hostname = False  # it is for localhost, and we came to an address
        smtp.starttls(context=context)
        smtp.ehlo()
        assert not smtp.has_extn("starttls")
        assert transaction(smtp, LETTER % b"6", "ann@a.example", ["kim@example.test"])[
            -1
        ].startswith("250 ")
    way.delivered("kim")


def test_between_two_postfixes_the_client_is_the_one_who_came(way: Way) -> None:
    replies = way.front.send(
        LETTER % b"7",
        sender="ann@a.example",
        recipients=["lee@example.test"],
        xclient={"ADDR": "198.51.100.7", "NAME": "mail.b.example"},
        helo="mail.b.example",
    )
    assert replies[-1].startswith("250 2.0.0 Ok: queued as ")
    way.delivered("lee")
    verdicts = [
        msgspec.json.decode(one)
        for one in way.oborona.log().splitlines()
        if '"msg":"verdict"' in one.replace(" ", "")
    ]
    assert [one["helo"] for one in verdicts if one["recipient"] == "lee@example.test"] == [
        "mail.b.example"
    ]
    assert [one["client"] for one in verdicts if one["recipient"] == "lee@example.test"] == [
        "198.51.100.7"
    ]
    assert "orig_client=mail.b.example[198.51.100.7]" in way.behind.whole_log()
    refused = way.front.send(
        LETTER % b"worse", recipients=["lee@example.test"], xclient={"ADDR": "198.51.100.7"}
    )
    assert refused[-1].startswith("550 5.7.1 Message refused as spam")


def test_all_at_once_and_half_a_message(way: Way) -> None:
    with socket.create_connection(("127.0.0.1", way.port), 20) as plain:
        plain.recv(1000)
        said = (
            b"EHLO c\r\nMAIL FROM:<ann@a.example>\r\nRCPT TO:<zoe@example.test>\r\nDATA\r\n"
            + (LETTER % b"8").replace(b"\r\n.", b"\r\n..")
            + b"half"
        )
        plain.sendall(said)
    assert way.send(b"9", "zoe")[-1].startswith("250 ")
    assert b"<9@a.example>" in way.delivered("zoe")


def test_a_trap_is_no_recipient_of_what_people_get(way: Way) -> None:
    # behind the others: it teaches that this letter is spam
    assert way.send(b"2", "max", "trap", of="192.0.2.9")[-1].startswith("250 2.0.0 Ok: queued as ")
    way.delivered("max")
    assert way.send(b"3", "trap", of="192.0.2.9") == [
        "250 2.1.0 Ok",
        "250 2.1.5 Ok",
        "250 2.0.0 Message taken",
    ]
    assert way.send(b"4", "bob", of="192.0.2.9")[-1].startswith("250 ")
    way.delivered("bob")
    assert not (way.dovecot.root / "mail" / "trap").exists()


def test_what_became_of_messages_is_counted(way: Way) -> None:
    def counted(outcome: str) -> float:
        return sum(
            DOOR.of(one.metrics, "proxy", outcome)
            for one in read_workers(way.oborona.state, time.time())
        )

    before = {one: counted(one) for one in ("passed", "refused", "discarded")}
    way.send(b"10", "eve")
    way.send(b"worse", "eve")
    way.send(b"11", "trap", of="192.0.2.9")
    eventually(lambda: all(counted(one) > number for one, number in before.items()))


def test_without_its_postfix_it_takes_nothing(way: Way) -> None:
    with way.connect() as smtp:
        way.behind.stop()
        eventually(lambda: not _listens(way.behind.port))
        with pytest.raises(smtplib.SMTPConnectError) as away:
            way.connect()
        assert (away.value.smtp_code, away.value.smtp_error[:6]) == (421, b"4.3.0 ")
        reply = transaction(smtp, LETTER % b"12", "ann@a.example", ["joe@example.test"])[-1]
        assert reply.startswith(
            ("421 4.3.", "250 2.0.0 Ok: queued")
        )  # a master that is gone may leave its smtpd


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


def test_by_lmtp_each_mailbox_answers_for_itself() -> None:
    port = free_port()
    with (
        Dovecot(users=["joe", "amy"]) as dovecot,
        Oborona(
            {
                "doors.proxy.listen": f"inet:{port}@127.0.0.1",
                "doors.proxy.protocol": "lmtp",
                "doors.proxy.next_hop": f"unix:{dovecot.lmtp}",
                "worker.processes": 1,
            }
        ),
        smtplib.LMTP("127.0.0.1", port, local_hostname="client.test") as client,
    ):
        client.ehlo()
        replies = [client.docmd("MAIL", "FROM:<ann@a.example>")[0]]
        replies += [
            client.docmd("RCPT", f"TO:<{one}@example.test>")[0] for one in ("joe", "nobody", "amy")
        ]
        replies += [client.data(LETTER % b"1")[0], client.getreply()[0]]
        assert replies == [250, 250, 550, 250, 250, 250]
        for user in ("joe", "amy"):
            (there,) = dovecot.messages(user)
            assert b"\nX-Mras: Ok" in there
