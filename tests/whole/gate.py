"""A site's gate: Postfix in front of our daemon, which has a policy of its own and asks the servers
of a test.

What the daemon says it says in JSON here; mail that is let in is held in Postfix's queue, where it
can be read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix

HOLD: Final = {
    "smtpd_recipient_restrictions": "check_client_access static:HOLD, permit_auth_destination, reject"
}
CONTACT: Final = "https://example.test/refused"
LETTER: Final = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <1@a.example>\r\n\r\nAt noon?\r\n"  # too short to be counted as a text
)
SPAM: Final = LETTER + b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"


def eventually(what: Callable[[], bool], within_s: float = 15.0, *, every_s: float = 0.05) -> None:
    """Wait until something is so."""
    until = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(every_s)


class Gate:
    """Postfix and the daemon behind it.

    Args:
        dns: servers that the daemon asks, as dns.servers names them.
        policy: of 90-local.toml, over the shipped one.
        lists: files of local lists, by name.
        settings: further ones, by SECTION.KEY.
    """

    def __init__(
        self,
        dns: str,
        policy: str = "",
        *,
        lists: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="oborona-gate-", dir="/tmp"))
        self.folder.chmod(0o755)
        shutil.copytree(SETTINGS.parent / "policy.d", self.policy_folder)
        self._write(policy)
        for name, text in (lists or {}).items():
            (self.policy_folder / name).write_text(text)
        milter = f"unix:{self.folder}/milter.sock"
        self.postfix = Postfix(milter, main=HOLD)
        self.submission = Postfix(milter, main=HOLD)  # to whose port our own people come
        self.oborona = Oborona(
            {
                "doors.milter.listen": milter,
                "worker.processes": 1,
                "headers.reason": "full",
                "site.name": "mx.example.test",
                "site.contact": CONTACT,
                "site.submission_ports": self.submission.port,
                "dns.servers": dns,
                "paths.policy": self.policy_folder,
                "log.format": "json",
            }
            | dict(settings or {})
        )

    @property
    def policy_folder(self) -> Path:
        return self.folder / "policy.d"

    def _write(self, policy: str) -> None:
        self._policy = policy
        (self.policy_folder / "90-local.toml").write_text(f"# what is ours\n{policy}")

    def __enter__(self) -> Self:
        try:
            self.oborona.start()
            self.postfix.__enter__()
            self.submission.__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        for postfix in (self.submission, self.postfix):
            postfix.__exit__(None, None, None)
        self.oborona.stop()
        shutil.rmtree(self.folder)

    def policy(self, text: str) -> None:
        """Give 90-local.toml this text; the daemon judges by it when this returns."""
        if text == self._policy:
            return
        before = len(self.events("policy loaded"))
        self._write(text)
        eventually(lambda: len(self.events("policy loaded")) > before)

    def send(
        self,
        ip: str,
        raw: bytes = LETTER,
        *,
        name: str = "[UNAVAILABLE]",
        sender: str = "ann@a.example",
        helo: str = "mail.a.example",
        recipients: Sequence[str] = ("joe@example.test",),
        login: str = "",
        submission: bool = False,
    ) -> list[str]:
        """Send one message as a client of that address; return the replies of `Postfix.send`."""
        told = {"ADDR": f"IPV6:{ip}" if ":" in ip else ip, "NAME": name} | (
            {"LOGIN": login} if login else {}
        )
        postfix = self.submission if submission else self.postfix
        return postfix.send(raw, sender=sender, recipients=recipients, xclient=told, helo=helo)

    def held(self, reply: str) -> bytes:
        """Return the message under the queue id that a reply names, as it would be delivered."""
        command = [
            "/usr/sbin/postcat",
            "-c",
            f"{self.postfix.folder}/etc",
            "-hbq",
            reply.rsplit(" ", 1)[-1],
        ]
        return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout

    def events(self, what: str) -> list[dict[str, Any]]:
        """Return the log's lines of one kind."""
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == what]

    def verdicts(self, ip: str, number: int) -> list[dict[str, Any]]:
        """Wait until so many verdicts about a client are logged, and return them.

        They are written after the answer.
        """
        eventually(lambda: len(self._of(ip)) >= number)
        found = self._of(ip)
        assert len(found) == number, found
        return found

    def verdict(self, reply: str) -> dict[str, Any]:
        """Wait for the verdict that a refusal refers to, and return it.

        Who is refused before the content for the same once more is told the same reference: each
        has its line, and the last one is returned. A message has one.
        """
        ident = reference(reply)
        eventually(lambda: ident in {one["id"] for one in self.events("verdict")})
        found = [one for one in self.events("verdict") if one["id"] == ident]
        assert len(found) == 1 or {one["stage"] for one in found} <= {
            "connect",
            "sender",
            "recipient",
        }
        return found[-1]

    def _of(self, ip: str) -> list[dict[str, Any]]:
        return [one for one in self.events("verdict") if one["client"] == ip]


def reference(reply: str) -> str:
    """Return the reference that a refusal names."""
    found = re.search(r", reference ([0-9A-Z]{13})", reply)
    assert found, reply
    return found[1]
