"""Load on the scene: mail by all hosts, and complaints about it, each until it is acknowledged.

A client that is put off comes again, to the next host, as to the next MX of a domain.
"""

from __future__ import annotations

import http.client
import random
import re
import smtplib
import threading
import time
from contextlib import suppress
from typing import Final, NamedTuple, Self

from oborona.ident import from_text
from tests.scene.scene_site import SceneSite
from tests.whole.after import DOMAIN

PAUSE_S: Final = 0.25  # between messages of a client
REPORTED_EACH: Final = 3  # message: that somebody complains of
_REFERENCE: Final = re.compile(rb"(?mi)^X-Mras-Id: *([^\r\n]+)")


class SentMail(NamedTuple):
    """A message that was taken."""

    sender: str
    tries: int
    took_s: float


class SceneLoad:
    """Sends and complains until it is ended; use it as a context.

    Attributes:
        sent: what was taken.
        refused: replies that are for ever, of which there should be none.
        acknowledged: journal ids of the messages that somebody complained of.
    """

    def __init__(self, site: SceneSite, users: list[str], seed: int) -> None:
        self.sent: list[SentMail] = []
        self.refused: list[str] = []
        self.acknowledged: set[int] = set()
        self._site, self._users, self._seed = site, users, seed
        self._begun: dict[int, float] = {}  # message on its way, by its client
        self._stop = threading.Event()
        self._threads = [
            *(
                threading.Thread(target=self._mail, args=(place,))
                for place in range(len(site.hosts))
            ),
            threading.Thread(target=self._complain),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Send and complain no more; what was begun is brought to its end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def longest_s(self) -> float:
        """Return for how long the message that waits longest has been on its way."""
        now = time.monotonic()
        return max((now - begun for begun in list(self._begun.values())), default=0.0)

    def _mail(self, place: int) -> None:
        chance = random.Random(f"{self._seed} {place}")
        number = 0
        while not self._stop.wait(PAUSE_S):
            number += 1
            sender = f"p{number}@s{self._seed}m{place}n{number}.example"
            ip = f"{60 + place}.{chance.randrange(256)}.{chance.randrange(256)}.9"
            text = " ".join(f"{chance.getrandbits(40):x}" for _ in range(12))
            self._begun[place] = time.monotonic()
            self._send(place, chance.choice(self._users), text, ip, sender)
            del self._begun[place]

    def _send(self, place: int, user: str, text: str, ip: str, sender: str) -> None:
        begun, hosts = time.monotonic(), self._site.hosts
        for tries in range(1, 1000):
            host = hosts[(place + tries - 1) % len(hosts)]
            try:
                reply = host.post(user, text, ip=ip, sender=sender)
            except (OSError, smtplib.SMTPException):
                reply = "4 no answer"
            if reply.startswith("2"):
                self.sent.append(SentMail(sender, tries, time.monotonic() - begun))
                return
            if reply.startswith("5"):
                self.refused.append(f"{sender}: {reply}")
                return
            time.sleep(0.2)

    def _complain(self) -> None:
        chance, seen = random.Random(self._seed), set[str]()
        while not self._stop.wait(PAUSE_S):
            user = chance.choice(self._users)
            for folder in ("INBOX", "Junk"):
                with suppress(FileNotFoundError):  # it is just being moved
                    for raw in self._site.dovecot.messages(user, folder):
                        found = _REFERENCE.search(raw)
                        if found is None or found[1].decode() in seen:
                            continue
                        seen.add(found[1].decode())
                        if chance.randrange(REPORTED_EACH) == 0:
                            self._report(chance, found[1].decode(), f"{user}@{DOMAIN}")

    def _report(self, chance: random.Random, reference: str, person: str) -> None:
        while True:
            with suppress(OSError, http.client.HTTPException):
                if chance.choice(self._site.hosts).report(reference, person) in {200, 201}:
                    break
            time.sleep(0.2)
        ident = from_text(reference.partition(".")[0])
        assert ident is not None, reference
        self.acknowledged.add(ident)
