"""Couriers: each brings a mail by one door, as the clients of that door do, and tells what it heard
there.

    with rspamc(house) as bring:
        assert bring(mail) == Heard("spam", 105.0)

The mail is the same for all, and so is what is known beside it: SENDER, RECIPIENT, CLIENT, NAME and
HELO. Where a protocol has no place for these the client puts them where such clients do: into the
message, as its mail server writes them there.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import secrets
import smtplib
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from aiosmtpd.controller import Controller
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from oborona.config.address import parse_address
from tests.peers import exim as exim_peer
from tests.peers import postfix as postfix_peer
from tests.peers.dns import Zones
from tests.peers.mail_server import MailServer
from tests.peers.ports import free_port
from tests.peers.readsocket import extract, readsocket, request

SENDER: Final = "ann@a.example"
RECIPIENT: Final = "joe@example.test"
CLIENT: Final = "192.0.2.7"
NAME: Final = "mail.a.example"
HELO: Final = "client.a.example"
PATIENCE_S: Final = 60.0

_FIELDS: Final = re.compile(rb"[^\s:][^\n]*\n(?:[ \t][^\n]*\n)*")
_WORDS: Final = {"Ok": "accept", "Probable": "spam", "Spam": "reject"}
_ACTIONS: Final = {"no action": "accept", "add header": "spam", "reject": "reject"}


class Heard(NamedTuple):
    """What a client was told of a mail."""

    # accept, spam, reject; "flagged": spam or reject, where the protocol has one word for both
    verdict: str
    score: float | None = None  # where it was told


Bring = Callable[[bytes], Heard]


class House:
    """Where the doors of one daemon are, and what they need of it.

    Args:
        folder: for sockets, which any user can enter.
    """

    def __init__(self, folder: Path) -> None:
        self.milter = f"unix:{folder}/milter.sock"
        self.exim = f"unix:{folder}/exim.sock"
        self.spamd = ("127.0.0.1", free_port())
        self.http = ("127.0.0.1", free_port())
        self.proxy = ("127.0.0.1", free_port())
        self.next_hop = ("127.0.0.1", free_port())
        self.folder = folder

    @property
    def settings(self) -> dict[str, object]:
        """All doors, open."""
        return {
            "doors.milter.listen": self.milter,
            "doors.milter.socket_mode": "0666",
            "doors.exim.listen": self.exim,
            "doors.exim.socket_mode": "0666",
            "doors.spamd.listen": _inet(self.spamd),
            "doors.http.listen": _inet(self.http),
            "doors.proxy.listen": _inet(self.proxy),
            "doors.proxy.next_hop": _inet(self.next_hop),
        }


def _inet(place: tuple[str, int]) -> str:
    return f"inet:{place[1]}@{place[0]}"


# --- what a message says when it has passed ---


def _marked(raw: bytes) -> Heard:
    """Return what our headers say."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("latin-1")
    (word,) = re.findall(r"^X-Mras: (\w+)$", head, re.MULTILINE)
    (score,) = re.findall(r"^X-Mras-Score: (\S+)", head, re.MULTILINE)
    return Heard(_WORDS[word], float(score))


class _PatientSmtp(SMTP):
    line_length_limit = 1 << 20  # golden mails have lines that are too long


class _PatientLmtp(LMTP):
    line_length_limit = 1 << 20


class _Sink:
    """A next hop that takes everything, and gives out the last message."""

    def __init__(self) -> None:
        self._there = threading.Condition()
        self._messages: list[bytes] = []

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take a message."""
        assert isinstance(envelope.content, bytes)
        with self._there:
            self._messages.append(envelope.content)
            self._there.notify()
        return "250 2.0.0 taken"

    def forget(self) -> None:
        """Be as if nothing had come."""
        with self._there:
            self._messages.clear()

    def take(self) -> bytes:
        """Return the message that came, which is the only one."""
        with self._there:
            assert self._there.wait_for(lambda: self._messages, PATIENCE_S), "no message came"
            (message,) = self._messages
            self._messages.clear()
        return message


@contextmanager
def next_hop(place: tuple[str, int], *, lmtp: bool = False) -> Iterator[_Sink]:
    sink = _Sink()

    class Served(Controller):
        def factory(self) -> SMTP:
            return (_PatientLmtp if lmtp else _PatientSmtp)(sink, enable_SMTPUTF8=True)

    served = Served(sink, hostname=place[0], port=place[1], ready_timeout=PATIENCE_S)
    served.start()
    try:
        yield sink
    finally:
        served.stop()


def _told(replies: list[str], passed: Callable[[], bytes]) -> Heard:
    """Return what SMTP's last reply and, where it was taken, the message itself say."""
    if replies[-1].startswith("550"):
        return Heard("reject")
    assert replies[-1].startswith("250"), replies
    return _marked(passed())


# --- the doors ---


@contextmanager
def milter(house: House) -> Iterator[Bring]:
    """A mail server that speaks milter, without the mail server."""

    def bring(raw: bytes) -> Heard:
        head, _, body = raw.partition(b"\r\n\r\n")
        unfolded = (
            one.replace(b"\r\n", b"\n").partition(b":") for one in _FIELDS.findall(head + b"\r\n")
        )
        headers = [(name, value.removesuffix(b"\n")) for name, _, value in unfolded]
        with MailServer(parse_address(house.milter)) as server:
            server.connect(NAME, CLIENT, 4711)
            server.helo(HELO)
            server.mail(f"<{SENDER}>")
            server.rcpt(f"<{RECIPIENT}>")
            server.content(headers, [body])
            edits, letter, said = server.end()
            server.quit()
        if letter == b"y" and said.startswith(b"550"):
            return Heard("reject")
        # the others change what came, or go on top
        added = [data for each, data in edits if each == b"h"]
        return _marked(b"\n".join(b":".join(one.split(b"\0")[:2]) for one in added) + b"\n\n")

    yield bring


@contextmanager
def postfix(house: House) -> Iterator[Bring]:
    """A real Postfix that asks the milter door."""
    place = ("127.0.0.1", free_port())
    onward = f"lmtp:inet:{place[0]}:{place[1]}"
    with (
        next_hop(place, lmtp=True) as sink,
        postfix_peer.Postfix(house.milter, virtual_transport=onward) as server,
    ):
        yield lambda raw: _told(
            server.send(raw, sender=SENDER, xclient={"ADDR": CLIENT, "NAME": NAME}, helo=HELO),
            sink.take,
        )


@contextmanager
def exim_line(house: House) -> Iterator[Bring]:
    """Exim's line protocol with the message in it, as an Exim without content scanning sends it."""

    def bring(raw: bytes) -> Heard:
        head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
        asked = request(
            "data",
            ip=CLIENT,
            port=4711,
            name=NAME,
            helo=HELO.encode(),
            rcpts=RECIPIENT.encode(),
            headers=head + b"\n",
            body=body,
            size=len(raw),
            **{"from": SENDER.encode()},
        )
        line = readsocket(house.exim, asked)
        return Heard(extract("verdict", line), float(extract("score", line)))

    yield bring


@contextmanager
def _exim(house: House, **macros: str) -> Iterator[Bring]:
    host, port = house.spamd
    places = {
        "OBORONA_SOCKET": house.exim.removeprefix("unix:"),
        "OBORONA_SPAMD": f"{host} {port}",
        "OBORONA_CLIENT_NAME": "$sender_host_name",  # as it ships
    }
    # Exim itself looks a client's name up, at the port of the DNS
    nameserver = f"127.53.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
    names = {
        f"{ipaddress.ip_address(CLIENT).reverse_pointer}": {"PTR": f"{NAME}."},
        NAME: {"A": CLIENT},
    }
    with (
        Zones(names, host=nameserver, port=53),
        exim_peer.Exim(places | macros, mailboxes=["joe"], nameserver=nameserver) as server,
    ):

        def passed() -> bytes:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                for folder in (".", ".Junk"):
                    new = server.root / "mail" / "joe" / folder / "new"
                    for found in new.iterdir() if new.is_dir() else ():
                        raw = found.read_bytes()
                        found.unlink()
                        assert (folder == ".Junk") == (_marked(raw).verdict != "accept"), (
                            "the wrong folder"
                        )
                        return raw
                time.sleep(0.01)
            raise TimeoutError(server.log())

        yield lambda raw: _told(
            server.send(raw, ip=CLIENT, sender=SENDER, recipients=[RECIPIENT], helo=HELO), passed
        )


def exim_rspamd(house: House) -> AbstractContextManager[Bring]:
    """A real Exim with the files that ship: `spam =` with variant=rspamd."""
    return _exim(house)


def exim_spamassassin(house: House) -> AbstractContextManager[Bring]:
    """A real Exim with `spam =` as it asks SpamAssassin."""
    return _exim(house, OBORONA_SPAMASSASSIN="yes")


def _received(raw: bytes) -> bytes:
    """Return a mail as a mail server hands it to spamc: with what it knows of the envelope on
    top.
    """
    trace = (
        f"Return-Path: <{SENDER}>\r\n"
        f"Received: from {HELO} ({NAME} [{CLIENT}])\r\n"
        f"\tby mx.example.test (Postfix) with ESMTP id 4aBcDeFgHi\r\n"
        f"\tfor <{RECIPIENT}>; Sun, 22 Nov 2026 10:00:00 +0000 (UTC)\r\n"
    )
    return trace.encode("ascii") + raw


@contextmanager
def spamc(house: House) -> Iterator[Bring]:
    """SpamAssassin's client."""
    host, port = house.spamd

    def bring(raw: bytes) -> Heard:
        command = ["spamc", "-d", host, "-p", str(port), "-x", "-s", str(256 * 1024 * 1024), "-R"]
        done = subprocess.run(command, input=_received(raw), capture_output=True, timeout=PATIENCE_S, check=True)  # fmt: skip
        score, _, line = done.stdout.decode("utf-8", "replace").splitlines()[0].partition("/")
        return Heard("flagged" if float(score) >= float(line) else "accept", float(score))

    yield bring


@contextmanager
def rspamc(house: House) -> Iterator[Bring]:
    """rspamd's client."""
    host, port = house.http
    known = [
        "--ip",
        CLIENT,
        "--hostname",
        NAME,
        "--helo",
        HELO,
        "--from",
        SENDER,
        "--rcpt",
        RECIPIENT,
    ]

    def bring(raw: bytes) -> Heard:
        command = ["rspamc", "-h", f"{host}:{port}", "-j", *known, "symbols"]
        done = subprocess.run(
            command, input=raw, capture_output=True, timeout=PATIENCE_S, check=True
        )
        said = json.loads(done.stdout)
        return Heard(_ACTIONS[said["action"]], said["score"])

    yield bring


def post(place: tuple[str, int], path: str, asked: object) -> dict[str, Any]:
    """Return what the door for HTTP answers."""
    host, port = place
    wanted = urllib.request.Request(
        f"http://{host}:{port}{path}",
        json.dumps(asked).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(wanted, timeout=PATIENCE_S) as answer:
        said: dict[str, Any] = json.load(answer)
    return said


@contextmanager
def http(house: House) -> Iterator[Bring]:
    """Our own /v1/scan."""

    def bring(raw: bytes) -> Heard:
        asked = {
            "client": {"ip": CLIENT, "name": NAME, "port": 4711},
            "helo": HELO,
            "sender": SENDER,
            "recipients": [RECIPIENT],
            "raw": base64.b64encode(raw).decode(),
        }
        said = post(house.http, "/v1/scan", asked)
        return Heard(said["verdict"], said["score"])

    yield bring


@contextmanager
def _proxy(house: House, *, lmtp: bool) -> Iterator[Bring]:
    with next_hop(house.next_hop, lmtp=lmtp) as sink:

        def bring(raw: bytes) -> Heard:
            sink.forget()  # what strangers got through
            kind = smtplib.LMTP if lmtp else smtplib.SMTP
            with kind(*house.proxy, local_hostname=HELO) as smtp:
                assert smtp.sock is not None
                smtp.sock.settimeout(PATIENCE_S)
                smtp.ehlo()
                assert smtp.docmd("XCLIENT", f"ADDR={CLIENT} NAME={NAME} PORT=4711")[0] == 220
                smtp.ehlo()
                return _told(postfix_peer.transaction(smtp, raw, SENDER, [RECIPIENT]), sink.take)

        yield bring


def smtp_proxy(house: House) -> AbstractContextManager[Bring]:
    """A client of the SMTP proxy."""
    return _proxy(house, lmtp=False)


def lmtp_proxy(house: House) -> AbstractContextManager[Bring]:
    """A client of the LMTP proxy."""
    return _proxy(house, lmtp=True)


def answers(place: tuple[str, int]) -> bool:
    """Tell whether somebody listens there."""
    try:
        socket.create_connection(place, 1.0).close()
    except OSError:
        return False
    return True
