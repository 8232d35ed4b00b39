"""Mail of an account that comes back through a real Postfix: counted for the account, by the id
that the returned header bears, and judged at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.queued import OUTGOING

MERGED_S = 1.0  # until the counters have what came before
ANN = "ann@example.test"
LIMIT = """
[[limit]]
name = "UNKNOWN"
each = "account"
count = "unknown_users"
window = "hour"
limit = "max(2, 0.1 * sent)"
then = "alert"
"""


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    settings = {"worker.processes": 2, "inspector.mode": "live"}
    with Zones() as dns, Gate(dns.setting, LIMIT, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def postfix(gate: Gate) -> Iterator[Postfix]:
    """A mail server whose next one knows nobody, and which has us see what it tells senders."""
    refusal = "check_recipient_access static:{550 5.1.1 No such user}, reject"
    nobody = {"smtpd_relay_restrictions": refusal}
    milter = f"unix:{gate.folder}/milter.sock"
    returns = {
        "internal_mail_filter_classes": "bounce",
        "non_smtpd_milters": milter,
        "notify_classes": "",
    }
    with Postfix(main=nobody) as away:
        elsewhere = {"default_transport": f"smtp:[127.0.0.1]:{away.port}"}
        with Postfix(milter, main=OUTGOING | returns | elsewhere) as running:
            yield running


def send(postfix: Postfix, number: int) -> None:
    told = {"ADDR": "192.0.2.9", "NAME": "[UNAVAILABLE]", "LOGIN": ANN}
    replies = postfix.send(
        LETTER, sender=ANN, recipients=[f"nobody{number}@b.example"], xclient=told
    )
    assert replies[-1].startswith("250"), replies


def counted(gate: Gate) -> float:
    """Return what all workers have counted of recipients without a mailbox."""
    begin = 'oborona_bounces_total{kind="unknown user"'
    lines = gate.oborona.run("metrics").stdout.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(begin))


def test_what_comes_back_is_the_accounts_and_too_much_of_it_is_an_incident(
    gate: Gate, postfix: Postfix
) -> None:
    for number in range(2):
        send(postfix, number)
    eventually(lambda: len(gate.events("bounce")) == 2, 30.0)
    first = gate.events("bounce")[0]
    assert (first["login"], first["recipients"], first["unknown"]) == (ANN, 1, 1)
    assert (first["status"], first["recipient"]) == ("5.1.1", "nobody0@b.example")
    assert not gate.events("limit")
    time.sleep(MERGED_S)
    send(postfix, 2)
    eventually(lambda: bool(gate.events("limit")), 30.0)
    passed = gate.events("limit")[0]
    assert (passed["limit"], passed["login"], passed["value"], passed["stage"]) == (
        "UNKNOWN", ANN, 3, "recheck",
    )  # fmt: skip
    eventually(
        lambda: "UNKNOWN" in gate.oborona.run("incident", "list", "--json").stdout,
        30.0,
        every_s=0.5,
    )
    eventually(lambda: counted(gate) == 3, 30.0, every_s=0.5)


def test_a_bounce_that_a_stranger_makes_up_is_nobodys(gate: Gate, postfix: Postfix) -> None:
    before = len(gate.events("bounce"))
    made_up = (
        b"From: MAILER-DAEMON@b.example\r\nTo: ann@example.test\r\nSubject: failed\r\n"
        b"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <2@b.example>\r\n"
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n"
        b"Final-Recipient: rfc822; x@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n"
        b"--b\r\nContent-Type: text/rfc822-headers\r\n\r\n"
        b"X-Mras-Id: 0SBNNCZ5W0CCY.0000000000000000\r\n\r\n--b--\r\n"
    )
    gate.send("9.3.0.7", made_up, sender="", recipients=(ANN,))
    assert gate.verdicts("9.3.0.7", 1)
    assert len(gate.events("bounce")) == before
