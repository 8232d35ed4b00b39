"""A real OpenSMTPD with our filter in front of a real daemon: refused, put off, filed and passed,
as behind any milter.
"""

from __future__ import annotations

import shutil
import smtplib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.certificate import write_certificate
from tests.peers.oborona import PROGRAM, SETTINGS, Oborona
from tests.peers.opensmtpd import Opensmtpd, available, check_config
from tests.whole.gate import LETTER, eventually

pytestmark = pytest.mark.skipif(not available(), reason="no OpenSMTPD can be run here")

POLICY = """
[verdict]
spam_score = 100
reject_score = 200
[[rule]]
name = "ADDRESS"
when = "client.ip == '192.0.2.66' or client.ip == '2001:db8::66'"
score = 300
[[rule]]
name = "GREETING"
when = "helo == 'Liar.Example'"
score = 300
[[rule]]
name = "RECIPIENT"
when = "recipient == 'nobody@example.test'"
score = 300
[[rule]]
name = "FILED"
when = "subject == 'filed'"
score = 150
[[rule]]
name = "REFUSED"
when = "subject == 'refused'"
score = 300
"""
ODD = (
    b"X-Mras: Ok\r\nX-Spam-Flag: YES\r\n"
    + LETTER
    + b".dot\r\n..\r\nbody \xff | end\r\n"
    + b"x" * 900
    + b"\r\n"
)


@pytest.fixture(scope="module")
def oborona() -> Iterator[Oborona]:
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    (folder / "10.toml").write_text(POLICY)
    with Oborona(
        {"paths.policy": folder, "worker.processes": 1, "headers.reason": "full"}
    ) as oborona:
        yield oborona
    shutil.rmtree(folder)


def command(oborona: Oborona, on_failure: str) -> list[str]:
    return [
        str(PROGRAM),
        "opensmtpd-filter",
        "--milter",
        oborona.milter,
        "--on-failure",
        on_failure,
    ]


@pytest.fixture(scope="module", params=["6.8", "newer"])
def smtpd(request: pytest.FixtureRequest, oborona: Oborona) -> Iterator[Opensmtpd]:
    newer = request.param == "newer"
    if not available(newer=newer):
        pytest.skip("not unpacked")
    with Opensmtpd(*command(oborona, "accept"), newer=newer) as smtpd:
        yield smtpd


def arrived(smtpd: Opensmtpd, user: str, folder: str = "") -> bytes:
    eventually(lambda: len(smtpd.delivered(user, folder)) == 1)
    return smtpd.delivered(user, folder)[0]


def send(smtpd: Opensmtpd, user: str, raw: bytes, ip: str = "192.0.2.9") -> None:
    with smtpd.client(ip) as smtp:
        smtp.sendmail("ann@a.example", [f"{user}@example.test"], raw)


def test_a_letter_passes_with_our_marks_and_no_others(smtpd: Opensmtpd) -> None:
    send(smtpd, "passed", ODD)
    head, _, body = arrived(smtpd, "passed").partition(b"\n\n")
    assert head.count(b"X-Mras: Ok\n") == 1
    assert b"X-Spam" not in head
    assert head.index(b"Authentication-Results:") < head.index(b"Received: from client.test")
    assert body == b"At noon?\n.dot\n..\nbody \xff | end\n" + b"x" * 900 + b"\n"


def test_spam_goes_to_the_folder_for_it(smtpd: Opensmtpd) -> None:
    send(smtpd, "filed", LETTER.replace(b"Lunch", b"Filed"))
    head = arrived(smtpd, "filed", ".Junk").partition(b"\n\n")[0]
    assert b"\nX-Mras-Score: 150.0 / 100\n" in head
    assert b"\nX-Spam-Flag: YES\n" in head
    assert b"\nX-Spam: yes" in head
    assert not smtpd.delivered("filed")


@pytest.mark.parametrize("ip", ["192.0.2.66", "2001:db8::66"])
def test_a_client_is_refused_at_rcpt(smtpd: Opensmtpd, ip: str) -> None:
    with smtpd.client(ip) as smtp:
        smtp.ehlo("client.test")
        assert smtp.mail("ann@a.example")[0] == 250
        said = [smtp.rcpt(f"{name}@example.test") for name in ("ann", "joe")]
        assert {code for code, _ in said} == {554}
        assert len({text for _, text in said}) == 1
        assert said[0][1].startswith(b"5.7.1 Client refused, reference ")


def test_sender_and_recipient_and_message_are_refused_each_at_its_stage(smtpd: Opensmtpd) -> None:
    with smtpd.client("192.0.2.9") as smtp:
        smtp.ehlo("Liar.Example")
        assert smtp.mail("ann@a.example")[0] == 250
        code, text = smtp.rcpt("joe@example.test")
        assert (code, text[:21]) == (550, b"5.7.1 Sender refused,")
    with smtpd.client("192.0.2.9") as smtp:
        smtp.ehlo("client.test")
        assert smtp.mail("ann@a.example")[0] == 250
        code, text = smtp.rcpt("nobody@example.test")
        assert (code, text[:24]) == (550, b"5.7.1 Recipient refused,")
        assert smtp.rcpt("refused@example.test")[0] == 250
        code, text = smtp.data(LETTER.replace(b"Lunch", b"Refused"))
        assert code == 550
        assert text.startswith(b"5.7.1 ")
        smtp.sendmail(
            "ann@a.example", ["after@example.test"], LETTER
        )  # nothing of one message is left for the next
    arrived(smtpd, "after")
    assert not smtpd.delivered("refused")


def listens(oborona: Oborona) -> bool:
    with socket.socket(socket.AF_UNIX) as found:
        return found.connect_ex(oborona.milter.removeprefix("unix:")) == 0


def test_a_daemon_that_is_away(oborona: Oborona, smtpd: Opensmtpd) -> None:
    with Opensmtpd(*command(oborona, "tempfail")) as strict, smtpd.client("192.0.2.9") as begun:
        begun.sendmail("ann@a.example", ["before@example.test"], LETTER)
        assert oborona.process is not None
        oborona.process.kill()  # its children end with it
        oborona.process.wait()
        eventually(lambda: not listens(oborona))
        try:
            begun.sendmail("ann@a.example", ["begun@example.test"], LETTER)
            send(smtpd, "unasked", LETTER)
            with pytest.raises(smtplib.SMTPConnectError) as put_off:
                strict.client("192.0.2.9")
        finally:
            oborona.start()
        assert put_off.value.smtp_code == 421
        send(strict, "again", LETTER)
        assert b"\nX-Mras: Ok\n" in arrived(strict, "again")
    assert b"X-Mras" not in arrived(smtpd, "unasked")
    assert b"X-Mras" not in arrived(smtpd, "begun")
    assert "no answer of the daemon" in smtpd.log()
    assert "Traceback" not in smtpd.log()


@pytest.mark.parametrize("newer", [False, True])
def test_the_lines_that_ship_are_lines_of_its_configuration(newer: bool, tmp_path: Path) -> None:
    if not available(newer=newer):
        pytest.skip("not unpacked")
    site = tmp_path / "both.pem"
    write_certificate(site).chmod(0o600)
    (tmp_path / "aliases").write_text("root: joe\n")
    around = [f'pki mx.example.org {what} "{site}"' for what in ("cert", "key")]
    around.append(f"table aliases file:{tmp_path}/aliases")
    shipped = (SETTINGS.parent / "opensmtpd/smtpd.conf.oborona").read_text()
    config = tmp_path / "smtpd.conf"
    config.write_text("\n".join([*around, shipped]))
    done = check_config(config, newer=newer)
    assert (done.returncode, done.stdout + done.stderr) == (0, "configuration OK\n")
