"""What Exim does while the daemon is away, hangs, or has no room: as OBORONA_AWAY says, at every
stage, and within its patience.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.exim.site import GTUBE, VARIANTS, Site, letter
from tests.peers.dns import Zones
from tests.peers.exim import SHIPPED, Exim, available

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

AWAY = "451 4.7.1 Service unavailable - try again later"
TOO_BUSY = r"451 4\.3\.2 Too busy, try again later, reference [0-9A-Z]+"
FORGED = b"X-Mras: Ok\r\nX-Spam-Flag: NO\r\nAuthentication-Results: mx.example.test; spf=pass\r\n"
PATIENT = {"OBORONA_PATIENCE": "1s", "OBORONA_DATA_PATIENCE": "1s"}
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    settings = {"doors.exim.max_connections": 2, "doors.spamd.max_connections": 2}
    with Zones() as dns, Site(dns.setting, settings=settings) as running:
        yield running


@contextmanager
def down(site: Site, variant: str, more: Mapping[str, str] = {}) -> Iterator[Exim]:
    """An Exim whose daemon's sockets are not there."""
    macros = {"OBORONA_SOCKET": f"{site.folder}/no.sock", "OBORONA_SPAMD": f"{site.folder}/no.sock"}
    with site.exim(variant, macros | dict(more)) as exim:
        yield exim


def passed(exim: Exim, replies: list[str]) -> None:
    """Look at a message that went on as if there were no filter: what a stranger wrote under our
    names went all the same.
    """
    assert replies[-1].startswith("250 OK id="), replies
    got = email.message_from_bytes(exim.wait_message("joe"))
    assert not {"X-Mras", "X-Spam-Flag", "Authentication-Results"} & set(got.keys())


@each_variant
def test_without_the_daemon_mail_goes_on_where_that_is_set(site: Site, variant: str) -> None:
    with down(site, variant, {"OBORONA_AWAY": "accept"}) as exim:
        passed(exim, exim.send(letter(FORGED, GTUBE)))
        said = re.findall(r"no verdict of oborona at (\w+), goes on", exim.log())
        assert "connect" in said
        assert [stage for stage in said if stage != "connect"] == ["mail", "rcpt", "data"]


@pytest.mark.parametrize("place", ["/nowhere/exim.sock", "inet:127.0.0.1:1"])
def test_where_recipients_and_content_alone_are_asked(
    site: Site, tmp_path: Path, place: str
) -> None:
    """Exim 4.96 closes the socket file that it could not connect to twice, the second time in the
    place of its own log.
    """
    folder = shutil.copytree(SHIPPED, tmp_path / "oborona")
    for stage in ("connect", "mail"):
        # as docs/mail-servers/exim.md sets it up on Debian
        (folder / f"acl_{stage}").write_text("")
    macros = {
        "OBORONA_SOCKET": place,
        "OBORONA_CLIENT_NAME": "",
        "OBORONA_AWAY": "accept",
    }  # a look-up of ours would move its open files
    with site.exim("light", macros, folder=folder) as exim:
        for number in (1, 2):
            assert exim.send(letter())[-1].startswith("250 OK id="), exim.log()
            exim.wait_message("joe", number=number)
        said = re.findall(r"no verdict of oborona at (\w+), goes on", exim.log())
        assert said == ["rcpt", "data"] * 2


@each_variant
def test_as_it_ships_it_is_put_off_at_each_stage(site: Site, variant: str) -> None:
    with down(site, variant) as exim:
        assert exim.send(letter()) == [AWAY], "at connect"
    with site.exim(variant, {"OBORONA_SPAMD": f"{site.folder}/no.sock"}) as exim:
        replies = exim.send(letter())
        if variant == "light":  # asks by the door that is there
            assert replies[-1].startswith("250 OK")
        else:
            assert replies == ["250 OK", "250 Accepted", AWAY]
            assert exim.messages("joe") == []


def test_who_goes_away_within_a_session_defers_what_follows(site: Site) -> None:
    with site.exim("light", {"OBORONA_AWAY": "defer"} | PATIENT) as exim:
        smtp = exim.connect("192.0.2.7")
        assert smtp.mail("ann@a.example")[0] == 250
        with stopped(site):
            assert smtp.docmd("RCPT", "TO:<joe@example.test>") == (451, AWAY[4:].encode())
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 250
        with stopped(site):
            assert smtp.data(letter()) == (451, AWAY[4:].encode())
        assert smtp.mail("ann@a.example")[0] == 250, "and when it is back, all is well"
        smtp.quit()


@contextmanager
def stopped(site: Site) -> Iterator[None]:
    """The worker hangs."""
    os.kill(site.worker(), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(site.worker(), signal.SIGCONT)


@pytest.mark.parametrize("variant", ["whole", "light"])
@pytest.mark.parametrize("away", ["accept", "defer"])
def test_a_daemon_that_hangs_is_waited_for_as_long_as_set(
    site: Site, variant: str, away: str
) -> None:
    with site.exim(variant, {"OBORONA_AWAY": away} | PATIENT) as exim:
        started = time.monotonic()
        with stopped(site):
            replies = exim.send(letter(FORGED))
        assert time.monotonic() - started < 30, (
            "four stages of a second each, and not their default of 20"
        )
        if away == "accept":
            passed(exim, replies)
        else:
            assert replies == [AWAY]


def asked(site: Site, words: bytes) -> socket.socket:
    """Connect to the door for Exim, and say something."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(10)
    sock.connect(f"{site.folder}/exim.sock")
    sock.sendall(words)
    return sock


@contextmanager
def full(site: Site) -> Iterator[None]:
    """The door for Exim has as many connections as it takes: each waits for the rest of a
    question.
    """
    with asked(site, b"oborona/1 "), asked(site, b"oborona/1 "):
        while True:
            with asked(site, b"oborona/1 ping\n") as one:
                if b"4.3.2 Too busy" in one.recv(4096):
                    break
        yield


@pytest.mark.parametrize("away", ["accept", "defer"])
def test_a_door_that_is_full_lets_nothing_in_whatever_is_set(site: Site, away: str) -> None:
    with site.exim("light", {"OBORONA_AWAY": away}) as exim, full(site):
        (reply,) = exim.send(letter(FORGED))
        assert re.fullmatch(TOO_BUSY, reply), reply
