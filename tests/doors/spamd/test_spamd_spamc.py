"""The door of a real daemon: by Debian's spamc with each of its commands, by Exim's protocol,
compressed, and as feedback in the log of events.
"""

from __future__ import annotations

import re
import tempfile
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oborona import state_files
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, StoredEvent
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.spamc import Done, ask, available, request, spamc

# GTUBE has a thousand points, and what was sent before adds some
SCORE = re.compile(r"1\d{3}\.\d/100\.0\n")
GTUBE = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\n"
ABOVE = (
    b"Return-Path: <ann@a.example>\nReceived: from mail.a.example (mail.a.example [192.0.2.7])\n"
    b"\tby mx.test (Postfix) with ESMTP id %b\n\tfor <joe@example.test>; Sun, 22 Nov 2026 "
    b"10:00:00 +0000\n"
)
LETTER = (
    b"From: Ann Other <ann@a.example>\nTo: joe@example.test\nSubject: lunch\nDate: Sun, 22 Nov "
    b"2026 10:00:00 +0000\n"
    b"Message-ID: <%b@a.example>\n\nAt noon, as last week?\n"
)

pytestmark = pytest.mark.skipif(not available(), reason="spamc is not here")


def mail(number: str, *, spam: bool = False) -> bytes:
    """Return a message as a mail server hands it over.

    Spam is of another client, sender and text, so that none counts against the good.
    """
    raw = (ABOVE + LETTER).replace(b"%b", number.encode())
    if not spam:
        return raw
    for good, bad in (
        (b"192.0.2.7", b"198.51.100.66"),
        (b"a.example", b"bad.example"),
        (b"Ann Other", b"Eve"),
        (b"lunch", b"pills"),
    ):
        raw = raw.replace(good, bad)
    return raw.replace(b"At noon, as last week?\n", GTUBE)


def inner(raw: bytes) -> bytes:
    """Return a message as it came in, before its mail server wrote anything above it."""
    return raw.partition(b"+0000\n")[2].replace(b"\n", b"\r\n")


class House:
    """A daemon with both of its addresses."""

    def __init__(self, oborona: Oborona, unix: str) -> None:
        self.oborona = oborona
        self.unix = unix

    def events(self) -> list[StoredEvent]:
        log = EventLog(self.oborona.state / state_files.EVENTS)
        try:
            return log.last(100)[::-1]
        finally:
            log.close()

    def line(self, number: str) -> str:
        """Return what the log says of a message."""
        until = time.monotonic() + 10
        while time.monotonic() < until:  # it is written after the answer
            for line in self.oborona.log().splitlines(keepends=True)[::-1]:
                if f" queue={number} " in line and line.endswith("\n"):
                    return line
            time.sleep(0.01)
        raise TimeoutError(f"no line of {number} in the log")


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="oborona-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        unix = f"unix:{folder}/spamd.sock"
        settings = {
            "worker.processes": 1,
            "site.name": "mx.test",
            "doors.spamd.listen": unix,
            "doors.spamd.socket_mode": "0666",
            "doors.spamd.tell": "true",
            "intake.person": "{user}@example.test",
            "worker.max_message_bytes": 65_536,
        }
        with Oborona(settings) as oborona:
            yield House(oborona, unix)


def test_ping(house: House) -> None:
    assert spamc(house.unix, "-K").status == 0


def test_a_good_message(house: House) -> None:
    assert spamc(house.unix, "-c", "-x", message=mail("GOOD1")) == Done(0, "0.0/100.0\n")
    line = house.line("GOOD1")
    assert (
        " client=192.0.2.7 helo=mail.a.example sender=ann@a.example recipients=1 "
        "recipient=joe@example.test "
    ) in line
    assert " verdict=accept score=0.0 " in line
    assert spamc(house.unix, "-r", "-x", message=mail("GOOD2")).said.strip() == ""
    assert "Content analysis details" in spamc(house.unix, "-R", "-x", message=mail("GOOD3")).said
    assert spamc(house.unix, "-y", "-x", message=mail("GOOD4")) == Done(0, "")


def test_spam(house: House) -> None:
    status, said = spamc(house.unix, "-c", "-x", message=mail("SPAM1", spam=True))
    assert status == 1
    assert SCORE.fullmatch(said)
    for flag in ("-r", "-R"):
        said = spamc(house.unix, flag, "-x", message=mail("SPAM2", spam=True)).said
        assert SCORE.match(said)
        assert re.search(r"^1000\.0 GTUBE ", said, re.MULTILINE)
    assert spamc(house.unix, "-y", "-x", message=mail("SPAM3", spam=True)).said.startswith("GTUBE")
    assert spamc(house.unix, "-E", "-x", message=mail("SPAM4", spam=True)).status == 1


@pytest.mark.parametrize("words", [[], ["--headers"]], ids=["whole", "headers"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_message_comes_back_marked(house: House, words: list[str], ends: bytes) -> None:
    raw = mail("MARKED", spam=True).replace(b"Subject", b"X-Mras: Ok\nSubject").replace(b"\n", ends)
    status, said = spamc(house.unix, *words, "-x", message=raw)
    assert status == 0
    back = said.encode()
    head, _, body = back.partition(ends * 2)
    assert body == raw.partition(ends * 2)[2]
    assert re.findall(rb"^X-Mras: (\w+)\r?$", head, re.MULTILINE) == [b"Spam"]
    assert head.startswith(b"Authentication-Results: mx.test;")
    assert b"X-Spam-Flag: YES" in head
    kept = [line for line in raw.partition(ends * 2)[0].split(ends) if line != b"X-Mras: Ok"]
    assert [line for line in head.split(ends) if line in kept] == kept
    assert ends == b"\r\n" or b"\r" not in back


def test_the_reader_is_the_recipient_of_a_message_that_names_none(house: House) -> None:
    raw = mail("READER").replace(b"\tfor <joe@example.test>;", b"\t;")
    spamc(house.unix, "-c", "-u", "eve", message=raw)
    assert " recipient=eve@example.test " in house.line("READER")


def test_what_is_too_large_is_judged_by_its_head_and_never_lost(house: House) -> None:
    large = mail("LARGE", spam=True) + b"x" * 200_000
    assert spamc(house.unix, "-c", "-x", message=large).status == 1
    assert spamc(house.unix, message=large).said.encode() == large, "spamc gives it back as it was"
    assert spamc(house.unix, "-x", message=large).status != 0
    head, _, body = spamc(house.unix, "--headers", "-x", message=large).said.partition("\n\n")
    assert "\nX-Mras: Spam\n" in head
    assert body.encode() == large.partition(b"\n\n")[2]


def test_a_compressed_message_is_the_same_message(house: House) -> None:
    packed = request(
        "SYMBOLS", zlib.compress(mail("ZLIB", spam=True)), "SPAMC/1.5", "Compress: zlib"
    )
    assert re.fullmatch(
        rb"SPAMD/1.1 0 EX_OK\r\n.*Spam: True ; .*\r\n\r\nGTUBE.*",
        ask(house.unix, packed),
        re.DOTALL,
    )
    assert f" size={len(inner(mail('ZLIB', spam=True)))} " in house.line("ZLIB")
    bomb = request("CHECK", zlib.compress(b"x" * 300_000_000), "SPAMC/1.5", "Compress: zlib")
    assert b"Spam: False" in ask(house.unix, bomb)


def test_many_at_once_get_their_own_verdicts(house: House) -> None:
    with ThreadPoolExecutor(16) as threads:
        asked = [(number, number % 3 == 0) for number in range(48)]
        found = list(
            threads.map(
                lambda one: spamc(
                    house.unix, "-c", "-x", message=mail(f"MANY{one[0]}", spam=one[1])
                ),
                asked,
            )
        )
    assert [one.status for one in found] == [int(spam) for _, spam in asked]
    for number, _ in asked:
        house.line(f"MANY{number}")


def test_over_tcp() -> None:
    port = free_port()
    with Oborona(
        {
            "worker.processes": 1,
            "doors.spamd.listen": f"inet:{port}@127.0.0.1",
            "doors.spamd.scale": 0.05,
        }
    ) as oborona:
        address = f"inet:{port}@127.0.0.1"
        assert spamc(address, "-c", "-x", message=mail("TCP", spam=True)) == Done(1, "50.0/5.0\n")
        assert (
            spamc(address, "-L", "spam", "-u", "joe@example.test", message=mail("TCP")).status != 0
        ), "not allowed"
        assert not House(oborona, address).events()


# --- Exim's protocols, as its source reads them; a real Exim is asked in tests/whole ---


def rspamc(number: str, *, spam: bool = False) -> bytes:
    body = (
        b"From MAILER-DAEMON Sun Nov 22 10:00:00 2026\nX-Envelope-From: "
        b"<ann@a.example>\nX-Envelope-To: joe@example.test\n"
    )
    body += (
        b"Received: from mail.a.example ([192.0.2.7])\n\tby mx.test with esmtp (Exim "
        b"4.96)\n\tid %b;\n\tSun, 22 Nov\n"
    ) % number.encode()
    return request(
        "CHECK", body + inner(mail("X", spam=spam)), "RSPAMC/1.3", f"Queue-Id: {number}", "From: <ann@a.example>",
        "Recipient-Number: 1", "Rcpt: <joe@example.test>", "Helo: mail.a.example", "Hostname: mail.a.example", "IP: 192.0.2.7",
    )  # fmt: skip


def test_exim_as_to_rspamd(house: House) -> None:
    good = ask(house.unix, rspamc("EXIM1")).decode()
    assert good.startswith(
        "RSPAMD/1.3 0 EX_OK\r\nMetric: default; False; 0.00 / 100.00 / 200.00\r\nAction: "
        "no action\r\n"
    )
    report = good.split("\r\n", 3)[3]
    names = re.findall(r"^([^\t:\r\n]+):", report, re.MULTILINE)
    assert names == [
        "Authentication-Results",
        "X-Mras",
        "X-Mras-Score",
        "X-Mras-Reason",
        "X-Mras-Id",
    ]
    assert " sender=ann@a.example recipients=1 recipient=joe@example.test " in house.line("EXIM1")
    bad = ask(house.unix, rspamc("EXIM2", spam=True)).decode()
    assert re.fullmatch(
        r"RSPAMD/1\.3 0 EX_OK\r\nMetric: default; True; 1\d{3}\.\d\d / 100\.00 / "
        r"200\.00\r\nAction: reject\r\n"
        r"5\.7\.1 Message refused as spam, reference \w+\r\n",
        bad,
    )


def test_exim_as_to_spamassassin(house: House) -> None:
    found = ask(
        house.unix, request("REPORT", mail("EXIM3", spam=True), "SPAMC/1.2", "User: nobody")
    )
    assert re.match(
        rb"SPAMD/1\.1 0 EX_OK\r\nSpam: True ; 1\d{3}\.\d / 100\.0\r\n\r\nmx\.test: spam", found
    )


# --- TELL ---


def test_what_people_say_is_in_the_log_of_events(house: House) -> None:
    marked = spamc(house.unix, "-x", message=mail("TOLD")).said.encode()
    said = [
        (["-L", "spam", "-u", "joe"], EventKind.COMPLAINT, "joe@example.test"),
        (["-L", "ham", "-u", "joe"], EventKind.PARDON, "joe@example.test"),
        (["-C", "report", "-u", "ann@b.example"], EventKind.COMPLAINT, "ann@b.example"),
        (["-C", "revoke", "-u", "eve"], EventKind.PARDON, "eve@example.test"),
    ]
    before = len(house.events()) if (house.oborona.state / state_files.EVENTS).exists() else 0
    for words, _, _ in said:
        done = spamc(house.unix, *words, message=marked)
        assert (done.status, "successfully" in done.said) == (0, True), (words, done)
    events = house.events()[before:]
    assert [(one.what, one.way) for one in events] == [
        (what, EventChannel.SPAMD) for _, what, _ in said
    ]
    assert [one.person for one in events] == [person for _, _, person in said]
    (ident,) = {one.ident for one in events}
    assert ident is not None, "the message is one that we have judged"
    assert {one.message_id for one in events} == {"TOLD@a.example"}


@pytest.mark.parametrize("words", [["-L", "forget", "-u", "joe"], ["-L", "spam", "-u", "no@@body"]])
def test_what_cannot_be_taken_is_no_success_to_the_client(house: House, words: list[str]) -> None:
    done = spamc(house.unix, *words, message=mail("X"))
    assert done.status != 0
    assert "successfully" not in done.said
