"""Mail of an account that comes back from a real Postfix and a real Exim: counted for the account,
by the id that the returned header bears, and judged at once.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import exim
from tests.peers.dns import Zones
from tests.peers.postfix import Postfix
from tests.whole.gate import LETTER, Gate, eventually
from tests.whole.queued import OUTGOING, send

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
def away() -> Iterator[Postfix]:
    """A mail server that knows nobody."""
    refusal = "check_recipient_access static:{550 5.1.1 No such user}, reject"
    with Postfix(main={"smtpd_relay_restrictions": refusal}) as running:
        yield running


@pytest.fixture(scope="module")
def postfix(gate: Gate, away: Postfix) -> Iterator[Postfix]:
    """A mail server whose next one knows nobody, and which has us see what it tells senders."""
    milter = f"unix:{gate.folder}/milter.sock"
    returns = {
        "internal_mail_filter_classes": "bounce",
        "non_smtpd_milters": milter,
        "notify_classes": "",
    }
    elsewhere = {"default_transport": f"smtp:[127.0.0.1]:{away.port}"}
    with Postfix(milter, main=OUTGOING | returns | elsewhere) as running:
        yield running


def send_to_nobody(postfix: Postfix, number: int) -> None:
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
        send_to_nobody(postfix, number)
    eventually(lambda: len(gate.events("bounce")) == 2, 30.0)
    both = sorted(gate.events("bounce"), key=lambda said: str(said["recipient"]))
    for number, said in enumerate(both):  # the two may come back in either order
        assert (said["login"], said["recipients"], said["unknown"]) == (ANN, 1, 1)
        assert (said["status"], said["recipient"]) == ("5.1.1", f"nobody{number}@b.example")
    assert not gate.events("limit")
    time.sleep(MERGED_S)
    send_to_nobody(postfix, 2)
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


EXIM = """\
keep_environment =
exim_path = {program}
primary_hostname = relay.test
spool_directory = {root}/spool
log_file_path = {root}/log/%slog
begin routers
back:
  driver = accept
  domains = example.test
  transport = file
on:
  driver = manualroute
  route_list = * 127.0.0.1::{port} byname
  self = send
  transport = smtp
begin transports
smtp:
  driver = smtp
  hosts_try_fastopen =
file:
  driver = appendfile
  file = {root}/bounce
  user = {user}
"""


@pytest.mark.skipif(not exim.available(), reason="needs Exim and root")
def test_what_an_exim_on_the_way_sends_back_is_the_accounts(gate: Gate, away: Postfix) -> None:
    """A relay, which Exim is, hands our message on, is refused, and tells the sender."""
    with Postfix(f"unix:{gate.folder}/milter.sock", main=OUTGOING) as ours:
        ident = send(gate, ours, LETTER, "eve@example.test", "nobody9@b.example")
        words = ["/usr/sbin/postcat", "-c", f"{ours.folder}/etc", "-hbq", ident]
        left = subprocess.run(words, capture_output=True, check=True, timeout=20).stdout
    assert b"X-Mras-Id: " in left
    with tempfile.TemporaryDirectory(prefix="exim-", dir="/tmp") as folder:
        bounce = _from_exim(Path(folder), left, away.port)
    assert b"Status: 5.0.0" in bounce, "Exim says no more than that"
    before = len(gate.events("bounce"))
    gate.send("9.3.0.8", bounce, sender="", recipients=("eve@example.test",))
    eventually(lambda: len(gate.events("bounce")) > before)
    time.sleep(MERGED_S)  # a copy that comes sooner is told of once more; it counts once
    gate.send("9.3.0.8", bounce, sender="", recipients=("eve@example.test",))
    assert gate.verdicts("9.3.0.8", 2)
    time.sleep(MERGED_S)
    (said,) = gate.events("bounce")[before:]
    assert (said["login"], said["recipients"], said["unknown"]) == ("eve@example.test", 1, 1)
    assert (said["status"], said["recipient"]) == ("5.1.1", "nobody9@b.example")


def _from_exim(root: Path, raw: bytes, port: int) -> bytes:
    """Return what Exim tells the sender of a message that the server at a port refuses."""
    root.chmod(0o777)  # its folders are its own user's
    config, found, program = root / "exim.conf", root / "bounce", exim.program()
    config.write_text(EXIM.format(root=root, port=port, program=program, user=exim.USER))
    config.chmod(0o644)
    words = [str(program), "-C", str(config), "-f", "eve@example.test", "-odi", "--"]
    subprocess.run([*words, "nobody9@b.example"], input=raw, check=True, timeout=60)
    eventually(lambda: found.exists() and found.read_bytes().endswith(b"--\n\n"), 30.0)
    _envelope, _, bounce = found.read_bytes().partition(b"\n")
    return bounce
