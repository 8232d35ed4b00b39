"""Letters with what authentication found of each, judged in the order in which they came: for
streams of mail that is proved as in life, without a DNS.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Final

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, IpRev, Spf
from oborona.counters.memory import MemoryCounters
from oborona.message.model import Message
from oborona.message.shingles import Hasher
from oborona.policy.accounting import record_verdict
from oborona.policy.evidence import NoInquiry, SenderEvidence
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction
from oborona.policy.scan import Scan, ScanSite, scan
from oborona.types import Client, Envelope, RuleHit
from tests.letters import Kind, Letter


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedLetter:
    """A letter, when it came and who is proved to have sent it."""

    letter: Letter
    at: float  # Unix seconds
    kind: str  # for tables
    identity: AuthIdentity  # what authentication found
    client_name: str = ""  # by the reverse DNS


UNPROVED: Final = AuthIdentity(iprev=IpRev(result=AuthResult.PASS))
"""The DNS was asked and answered, and nothing was proved."""


_MASS: Final = ("MASS_", "SAME_FILE_", "PICTURE_EVERYWHERE")


class FoundInquiry(NoInquiry):
    """An inquiry whose answer is known: what authentication found of one message."""

    def __init__(self, identity: AuthIdentity) -> None:
        self._identity = identity

    async def whole(
        self, message: Message, envelope: Envelope, policy: Policy, *, truncated: bool
    ) -> SenderEvidence:
        """Return it."""
        return SenderEvidence(identity=self._identity)


def plain_letter(
    *,
    kind: Kind,
    author: str,
    sender: str,
    recipient: str,
    subject: str,
    message_id: str,
    text: str,
    client_ip: str,
    helo: str,
    fields: str = "",
) -> Letter:
    """Return a letter of one text/plain part.

    Args:
        kind: what it is.
        author: value of From.
        sender: address in MAIL FROM.
        recipient: address in RCPT TO and in To.
        subject: of it.
        message_id: without its brackets.
        text: with the line feed at its end.
        client_ip: the SMTP client's.
        helo: what the client says it is called.
        fields: more header fields, each with its line feed.
    """
    raw = (
        f"From: {author}\nTo: {recipient}\nSubject: {subject}\n"
        f"Date: Fri, 15 Jan 2027 08:00:00 +0000\nMessage-ID: <{message_id}>\n{fields}"
        "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        f"Content-Transfer-Encoding: 8bit\n\n{text}"
    )
    return Letter(
        kind=kind,
        raw=raw.encode(),
        client_ip=client_ip,
        helo=helo,
        sender=sender,
        recipient=recipient,
    )


def proved(author: str, *, sender: str = "", signer: str = "") -> AuthIdentity:
    """Return what authentication finds of a message that its senders vouch for.

    Args:
        author: domain in From.
        sender: domain of MAIL FROM, for which SPF passed; empty = it passed for none.
        signer: domain of the DKIM signature; empty = there is none.
    """
    return AuthIdentity(
        iprev=UNPROVED.iprev,
        spf=Spf(result=AuthResult.PASS, domain=sender) if sender else Spf(),
        dkim=(DkimSignature(result=AuthResult.PASS, domain=signer),) if signer else (),
        dmarc=Dmarc(
            result=AuthResult.PASS if author in (sender, signer) else AuthResult.NONE,
            domain=author,
            spf_aligned=_aligned(sender, author),
            dkim_aligned=_aligned(signer, author),
        ),
    )


def _aligned(proof: str, author: str) -> bool:
    return bool(proof) and f".{author}".endswith(f".{proof}")


def mass_hits(scan: Scan) -> list[RuleHit]:
    """Return the rules of campaigns that gave a message points."""
    return [hit for hit in scan.verdict.rules if hit.score and hit.name.startswith(_MASS)]


async def judgements(
    posted: Iterable[PostedLetter], policy: Policy, *, key: bytes
) -> AsyncIterator[tuple[PostedLetter, Scan]]:
    """Yield letters with their scans, each counted before the next comes, at a site that is new.

    Args:
        posted: in order of time.
        policy: that they are judged by.
        key: the site's secret.
    """
    counters = MemoryCounters()
    site = ScanSite(name="mx.example.test", hasher=Hasher(key), counters=counters)
    for post in posted:
        letter = post.letter
        envelope = Envelope(
            client=Client(ip=letter.client_ip, name=post.client_name),
            helo=letter.helo,
            sender=letter.sender,
            recipients=(letter.recipient,),
        )
        result = await scan(
            letter.raw, envelope, site, policy, FoundInquiry(post.identity), now=post.at
        )
        record_verdict(
            result.pieces, result.verdict, counters, now=post.at, prefix=direction(result.envelope)
        )
        yield post, result


async def judged(posted: Iterable[PostedLetter], policy: Policy, *, key: bytes) -> list[Scan]:
    """Return the scans of `judgements`, all at once: some 130 kB each."""
    return [result async for _, result in judgements(posted, policy, key=key)]
