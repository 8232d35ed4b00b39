"""Many messages at once through a real Postfix, each of which wants to make the daemon late.

And honest mail beside them.

Each hostile one holds GTUBE, a verdict in our name and an Authentication-Results in our name:
whoever finds one of these three behind the daemon has found a gap.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from typing import Final

import msgspec
from aiosmtpd.controller import Controller
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from oborona.desk.postfix.change import OPTIONS
from tests.peers.oborona import Oborona
from tests.peers.ports import free_port
from tests.peers.postfix import Postfix

GTUBE: Final = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
SITE: Final = "mx.test"
SWELLS: Final = chr(0xFDFA)  # one character that NFKC makes 18 of
HONEST: Final = "198.51.100.7"
AT_ONCE: Final = 40  # connections of those who send the flood
CLIENTS: Final = 200  # of theirs: none is refused for what it sent before
HONEST_EVERY_S: Final = 0.5
CLAIM: Final = "dmarc=pass header.from=bank.example"
FORGED: Final = f"X-Mras: Ok\r\nX-Spam-Flag: NO\r\nAuthentication-Results: {SITE}; {CLAIM}\r\n"


def big(number: int) -> bytes:
    """Return a letter of 0.8 MB whose text grows to eighteen times its length where it is
    normalised whole.
    """
    page = f"<html><body><p>{SWELLS * 87_000}</p><p>{GTUBE}</p></body></html>"
    part = (
        "--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        + "\r\n".join(page[at : at + 300] for at in range(0, len(page), 300))
        + "\r\n"
    )
    return (
        f"From: Bank <a{number}@bank.example>\r\nTo: joe@example.test\r\nSubject: number "
        f"{number}\r\n{FORGED}"
        f"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; "
        f'boundary="b"\r\n\r\n{part * 3}--b--\r\n'
    ).encode()


def small(number: int) -> bytes:
    """Return a letter of 63 kB whose subject is what grows."""
    subject = "".join(f"\r\n {SWELLS * 250}" for _ in range(84))
    return (
        f"From: Bank <a{number}@bank.example>\r\nTo: joe@example.test\r\n{FORGED}Subject: number "
        f"{number}{subject}\r\n"
        f"\r\n{GTUBE}\r\n"
    ).encode()


def plain(number: int) -> bytes:
    """Return a letter that costs no more than others: whatever makes it late is not in it."""
    return (
        f"From: Bank <a{number}@bank.example>\r\nTo: joe@example.test\r\nSubject: number "
        f"{number}\r\n{FORGED}\r\n{GTUBE}\r\n"
    ).encode()


def honest(number: int) -> bytes:
    """Return a letter from a friend."""
    return (
        f"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch, number {number}\r\n"
        f"Message-ID: <{number}@a.example>\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\nShall "
        f"we meet at noon?\r\n"
    ).encode()


class Came(msgspec.Struct, frozen=True):
    """A message as it was delivered."""

    raw: bytes

    @property
    def head(self) -> Message:
        """Its headers."""
        return message_from_bytes(self.raw)

    @property
    def hostile(self) -> bool:
        """It is of the flood."""
        return "bank.example" in str(self.head["From"])

    @property
    def filed(self) -> bool:
        """It goes to the spam folder."""
        return self.head.get_all("X-Spam-Flag") == ["YES"]

    @property
    def forged(self) -> bool:
        """It lacks our verdict, or something is there that its sender wrote in our name."""
        head = self.head
        judged = len(head.get_all("X-Mras", [])) == 1 and "X-Mras-Id" in head
        return (
            not judged
            or "NO" in head.get_all("X-Spam-Flag", [])
            or any(CLAIM in one for one in head.get_all("Authentication-Results", []))
        )


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a flood."""

    told: Counter[str]  # SMTP's last words to hostile messages: code and status
    friends: Counter[str]  # the same, to honest ones
    came: list[Came]  # what was delivered
    took_s: float

    @property
    def hostile(self) -> list[Came]:
        """Hostile ones that were delivered."""
        return [one for one in self.came if one.hostile]

    @property
    def inbox(self) -> list[Came]:
        """Hostile ones that no spam folder gets."""
        return [one for one in self.hostile if not one.filed]

    @property
    def forged(self) -> list[Came]:
        """Delivered ones that speak in our name what we never said."""
        return [one for one in self.came if one.forged]


class Sink:
    """Where Postfix delivers; keeps everything."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take a message."""
        assert isinstance(envelope.content, bytes)
        self.messages.append(envelope.content)
        return "250 2.0.0 taken"


class _Patient(LMTP):
    line_length_limit = 1 << 20


class Gate(msgspec.Struct, frozen=True):
    """Postfix, with the line that ships, in front of a daemon.

    Behind it, what keeps all that passes.
    """

    oborona: Oborona
    postfix: Postfix
    sink: Sink

    def flood(
        self, letters: Sequence[bytes], *, meanwhile: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Send letters, `AT_ONCE` at a time, and a friend's beside them all the while.

        Args:
            letters: hostile ones.
            meanwhile: called once they are under way.
        """
        before = len(self.sink.messages)
        friends: Counter[str] = Counter()
        over = threading.Event()

        def write() -> None:
            number = 0
            while True:
                friends[self.send_honest(number)] += 1
                number += 1
                if over.wait(HONEST_EVERY_S):
                    return

        began = time.monotonic()
        beside = threading.Thread(target=write)
        beside.start()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = [
                pool.submit(
                    self.send,
                    letter,
                    f"192.0.2.{number % CLIENTS + 1}",
                    f"a@n{number}.bank.example",
                )
                for number, letter in enumerate(letters)
            ]
            meanwhile()
            told = Counter(one.result() for one in running)
        over.set()
        beside.join()
        took = time.monotonic() - began
        passed = sum(count for words, count in (told + friends).items() if words.startswith("250"))
        until = time.monotonic() + 60
        while len(self.sink.messages) < before + passed:
            assert time.monotonic() < until, "what Postfix took was not delivered"
            time.sleep(0.05)
        came = [Came(one) for one in self.sink.messages[before:]]
        return Outcome(told=told, friends=friends, came=came, took_s=took)

    def send(self, letter: bytes, client: str, sender: str = "a@bank.example") -> str:
        """Send one as a client; return code and status of SMTP's last word."""
        said = self.postfix.send(
            letter, sender=sender, xclient={"ADDR": client, "NAME": "mail.example"}
        )
        return said[-1][:9]

    def send_honest(self, number: int = 0) -> str:
        """Send a friend's letter; return code and status of SMTP's last word."""
        return self.send(honest(number), HONEST, "ann@a.example")


@contextmanager
def gate(settings: Mapping[str, object] | None = None) -> Iterator[Gate]:
    """Open one.

    Args:
        settings: of the daemon, over those that ship.
    """
    place, port, sink = free_port(), free_port(), Sink()

    class Served(Controller):
        def factory(self) -> SMTP:
            return _Patient(sink, enable_SMTPUTF8=True)

    served = Served(sink, hostname="127.0.0.1", port=place, ready_timeout=60)
    served.start()
    own = {
        "site.name": SITE,
        "doors.milter.listen": f"inet:{port}@127.0.0.1",
        "reader.enabled": False,
    }
    try:
        with (
            Oborona(own | dict(settings or {})) as oborona,
            Postfix(
                f"{{ inet:127.0.0.1:{port}, {OPTIONS} }}",
                virtual_transport=f"lmtp:inet:127.0.0.1:{place}",
            ) as postfix,
        ):
            yield Gate(oborona, postfix, sink)
    finally:
        served.stop()
