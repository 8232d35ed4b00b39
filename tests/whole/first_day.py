"""Mail of a first day: ten kinds of spam and thirty ordinary letters, twelve of each in twelve
other languages, and ten of each that were written together, with clients and proofs as in life,
judged by the policy that ships and an empty state.

tests/golden/first_day/SET.toml says of each SET/NN-slug.eml which client brought it (`ip`, `name`
that leads back to it, `helo`), MAIL FROM, the recipient, and what the sender proves: `spf = "pass"`
publishes a record for the client, `dkim` names the domain that signs.  Domains that are registered
for a day do both, as most spam does today.  Date and signature are written when a mail is sent, so
that none of them grows old.
"""

from __future__ import annotations

import time
import tomllib
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.authentication.signing import dkim_field, rsa
from tests.peers.dns import Zones
from tests.whole.golden import GOLDEN

FOLDER: Final = GOLDEN / "first_day"
SELECTOR: Final = "day"
AGE_S: Final = 90  # of a mail that comes


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One mail with what is known of its way."""

    name: str
    path: Path
    ip: str
    name_of_client: str  # empty: the address has none
    helo: str
    sender: str
    recipient: str
    spf: str  # pass, or none
    dkim: str  # the domain that signs; empty = none

    @property
    def options(self) -> list[str]:
        """The envelope, as commands take it."""
        words = [
            "--ip",
            self.ip,
            "--helo",
            self.helo,
            "--from",
            self.sender,
            "--rcpt",
            self.recipient,
        ]
        return [*words, "--name", self.name_of_client] if self.name_of_client else words

    def raw(self, *, signed: bool = True) -> bytes:
        """Return the mail as it comes now, lines ending in CR LF."""
        written = self.path.read_bytes().replace(b"\r\n", b"\n")
        dated = f"Date: {formatdate(time.time() - AGE_S)}\n".encode() + written
        raw = dated.replace(b"\n", b"\r\n")
        if not self.dkim or not signed:
            return raw
        return dkim_field(raw, rsa(), tags={"d": self.dkim, "s": SELECTOR}) + raw


def mails(kind: str) -> list[Sent]:
    """Return the mails of a set, in their order."""
    table: dict[str, Any] = tomllib.loads((FOLDER / f"{kind}.toml").read_text("utf-8"))
    return [
        Sent(
            name=name,
            path=FOLDER / kind / f"{name}.eml",
            ip=said["ip"],
            name_of_client=said["name"],
            helo=said["helo"],
            sender=said["sender"],
            recipient=said["recipient"],
            spf=said["spf"],
            dkim=said["dkim"],
        )
        for name, said in table.items()
    ]


def publish(zones: Zones, sent: Sent, *, proofs: bool = True) -> None:
    """Have the DNS say of a mail's client and sender what is true of them."""
    if sent.name_of_client:
        reverse = ".".join(reversed(sent.ip.split("."))) + ".in-addr.arpa"
        zones.add(
            {sent.name_of_client: {"A": sent.ip}, reverse: {"PTR": f"{sent.name_of_client}."}}
        )
    domain = sent.sender.rpartition("@")[2]
    if proofs and domain and sent.spf == "pass":
        zones.add({domain: {"TXT": f"v=spf1 ip4:{sent.ip} -all"}})
    if proofs and sent.dkim:
        zones.add({f"{SELECTOR}._domainkey.{sent.dkim}": {"TXT": rsa().record}})
