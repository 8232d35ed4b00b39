"""The whole way, with real parts: Postfix → Oborona → Dovecot, one of each for a test module.

And what golden mails need.
"""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.letters import Letter
from tests.peers.dns import Zones
from tests.peers.dovecot import Dovecot
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix
from tests.whole.golden import GOLDEN, MAILS


@dataclass
class Way:
    """Three servers in a row."""

    postfix: Postfix
    oborona: Oborona
    dovecot: Dovecot

    def send(self, letter: Letter) -> str:
        """Send one letter as the client it came from; return the last reply."""
        return self.postfix.send(
            letter.wire,
            sender=letter.sender,
            recipients=[letter.recipient],
            xclient={
                "ADDR": letter.client_ip,
                "NAME": f"host-{letter.client_ip.replace('.', '-')}.example",
            },
            helo=letter.helo,
        )[-1]

    def delivered(self, total: int, within_s: float = 60.0) -> None:
        """Wait until so many messages are in mailboxes.

        Raises:
            TimeoutError: they are not.
        """
        until = time.monotonic() + within_s
        while (there := self.dovecot.counts().total()) < total:
            if time.monotonic() > until:
                raise TimeoutError(f"{there} of {total} were delivered")
            time.sleep(0.05)

    def message(self, user: str, mailbox: str = "INBOX") -> bytes:
        """Wait for the one message of a mailbox."""
        until = time.monotonic() + 20
        while not (found := self.dovecot.messages(user, mailbox)):
            if time.monotonic() > until:
                raise TimeoutError(f"nothing in {mailbox} of {user}")
            time.sleep(0.02)
        (only,) = found
        return only


@pytest.fixture(scope="module")
def way() -> Iterator[Way]:
    with (
        Dovecot() as dovecot,
        Oborona(
            {"site.name": "mx.example.test", "worker.processes": 2, "headers.reason": "full"}
        ) as oborona,
        Postfix(oborona.milter, virtual_transport=f"lmtp:unix:{dovecot.lmtp}") as postfix,
    ):
        yield Way(postfix, oborona, dovecot)


@pytest.fixture(scope="module")
def golden_dns() -> Iterator[Zones]:
    """What the DNS says about all golden mails."""
    with Zones() as running:
        for mail in MAILS:
            if mail.with_suffix(".dns").exists():
                running.add(tomllib.loads(mail.with_suffix(".dns").read_text()))
        yield running


@pytest.fixture(scope="module")
def golden_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what golden mails are judged by: what ships, and more."""
    folder = tmp_path_factory.mktemp("policy")
    for source in (SETTINGS.parent / "policy.d", GOLDEN / "policy.d"):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder
