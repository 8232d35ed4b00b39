"""A site with Exim: our daemon with the doors that Exim asks, and Exim instances in front of it
with the files of etc/exim.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tests.peers.exim import SHIPPED, Exim
from tests.peers.oborona import SETTINGS, Oborona
from tests.whole.gate import eventually

MAILBOXES: Final = ("joe", "ann", "bob", "trap")
NAME: Final = "mx.example.test"
LETTER: Final = (
    b"From: Ann <ann@a.example>\r\nTo: joe@example.test\r\nSubject: Lunch\r\nDate: Fri, 20 Nov "
    b"2026 10:00:00 +0000\r\n"
    b"Message-ID: <1@a.example>\r\n%b\r\nAt noon?\r\n"  # too short to be counted as a text
)
GTUBE: Final = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"
VARIANTS: Final[Mapping[str, Mapping[str, str]]] = {
    "whole": {},
    "light": {"OBORONA_LIGHT": "yes"},
    "spamassassin": {"OBORONA_SPAMASSASSIN": "yes"},
}
"""How a message is shown to us, and the names that say so."""

_LIGHT: Final = "message_body_visible = 100000\nmessage_body_newlines = true"


def letter(more: bytes = b"", end: bytes = b"") -> bytes:
    """A good letter.

    Args:
        more: header lines.
        end: of the body.
    """
    return LETTER % more + end


class Site:
    """The daemon, and what it listens on.

    Args:
        dns: servers that it asks.
        policy: over the shipped one.
        settings: further ones, by SECTION.KEY.
        alone: the policy is all there is.
        exported: tables are written, too.
    """

    def __init__(
        self,
        dns: str,
        policy: str = "",
        settings: Mapping[str, object] | None = None,
        *,
        alone: bool = False,
        exported: bool = False,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="oborona-site-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.tables = self.folder / "tables"
        self.tables.mkdir()
        if alone:
            (self.folder / "policy.d").mkdir()
        else:
            shutil.copytree(SETTINGS.parent / "policy.d", self.folder / "policy.d")
        (self.folder / "policy.d" / "90-local.toml").write_text(f"# what is ours\n{policy}")
        doors = {
            f"doors.{name}.{key}": value
            for name in ("exim", "spamd")
            for key, value in (
                ("listen", f"unix:{self.folder}/{name}.sock"),
                ("socket_mode", "0666"),
            )
        }
        self.oborona = Oborona(
            {
                "worker.processes": 1,
                "headers.reason": "full",
                "site.name": NAME,
                "dns.servers": dns,
                "paths.policy": self.folder / "policy.d",
                "log.format": "json",
            }
            | doors
            | ({"export.folder": self.tables} if exported else {})
            | dict(settings or {})
        )

    def __enter__(self) -> Self:
        try:
            self.oborona.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.oborona.stop()
        shutil.rmtree(self.folder)

    def exim(
        self,
        variant: str = "light",
        macros: Mapping[str, str] | None = None,
        *,
        folder: Path = SHIPPED,
        more: str = "",
    ) -> Exim:
        """Return an Exim that asks this daemon, not yet started; `more` are lines of its main
        section.
        """
        known = {
            "OBORONA_SOCKET": f"{self.folder}/exim.sock",
            "OBORONA_SPAMD": f"{self.folder}/spamd.sock",
            "OBORONA_SITE": NAME,
        }
        main = "acl_not_smtp = acl_check_data\n" + (_LIGHT if variant == "light" else "") + more
        return Exim(
            known | dict(VARIANTS[variant]) | dict(macros or {}),
            mailboxes=MAILBOXES,
            main=main,
            folder=folder,
        )

    def verdict(self, words: str) -> dict[str, Any]:
        """Wait for the line of the log that a refusal refers to, and return it."""
        found = re.search(r", reference ([0-9A-Z]{13})", words)
        assert found, words
        eventually(lambda: found[1] in {one["id"] for one in self._verdicts()})
        return next(one for one in self._verdicts() if one["id"] == found[1])

    def last_verdict(self, ip: str) -> dict[str, Any]:
        """Wait for a verdict on a client, and return the latest; it is written after the answer."""
        eventually(lambda: any(one["client"] == ip for one in self._verdicts()))
        return [one for one in self._verdicts() if one["client"] == ip][-1]

    def _verdicts(self) -> list[dict[str, Any]]:
        lines = self.oborona.log().splitlines(keepends=True)
        found = [
            msgspec.json.decode(line)
            for line in lines
            if line.startswith("{") and line.endswith("\n")
        ]
        return [one for one in found if one["msg"] == "verdict"]

    def worker(self) -> int:
        """Return the worker's process id."""
        found = re.findall(
            r'"process":"worker-0","child":(\d+)', self.oborona.log().replace(" ", "")
        )
        return int(found[-1])
