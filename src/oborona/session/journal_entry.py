"""The journal entry of a judged message."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence
from oborona.message.model import Mailbox
from oborona.policy.counts import shingles_to_read
from oborona.policy.fact_table import KEPT
from oborona.policy.load import Policy
from oborona.policy.scan import Scan
from oborona.session.traps import mailbox_recipients
from oborona.types import Envelope, Verdict

_VALUES: Final = attrgetter(*KEPT)


def entry_of(
    ident: int,
    now: float,
    policy: Policy,
    envelope: Envelope,
    size: int,
    verdict: Verdict,
    scanned: Scan | None,
    door: str = "",
) -> JournalEntry:
    """Return a message's entry.

    Args:
        ident: of the journal.
        now: Unix seconds, when it was judged.
        policy: that it was judged by.
        envelope: of the message.
        size: bytes.
        verdict: that was given.
        scanned: how it came about; None where there was no scan to the end.
        door: the listener that it came by.
    """
    facts = {} if scanned is None else dict(zip(KEPT, _VALUES(scanned.facts), strict=True))
    return JournalEntry(
        id=ident,
        time=now,
        verdict=verdict.action,
        score=verdict.score,
        line=verdict.line,
        decided_by=verdict.decided_by,
        queue_id=envelope.queue_id,
        message_id="" if scanned is None else scanned.message.message_id,
        client_ip=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipients=mailbox_recipients(envelope, policy.traps.then),
        login=envelope.login,
        size=size,
        subject="" if scanned is None else scanned.message.subject,
        header_from="" if scanned is None else _mailbox_text(scanned.message.from_),
        rules=verdict.rules,
        findings=verdict.findings,
        facts=facts,
        shingles=() if scanned is None else scanned.pieces.shingles,
        policy_version=policy.version,
        partial=scanned is None or scanned.facts.partial,
        would=verdict.would,
        kept=None if scanned is None else _verdict_evidence(scanned),
        door=door,
    )


def _mailbox_text(mailbox: Mailbox | None) -> str:
    if mailbox is None:
        return ""
    return f"{mailbox.name} <{mailbox.address}>" if mailbox.name else mailbox.address


def _verdict_evidence(scanned: Scan) -> VerdictEvidence:
    known_facts, pieces, site = scanned.facts.known, scanned.pieces, scanned.site_verdict
    return VerdictEvidence(
        counts=tuple(known_facts.rows.items()),
        across=None if known_facts.across is None else tuple(known_facts.across.rows.items()),
        away=known_facts.away,
        robotic={kind: known_facts.robotic(kind) for kind in scanned.policy.compiled.timelines},
        distinct=shingles_to_read(pieces)[len(pieces.shingles) :],
        pinned=known_facts.pinned,
        listings=scanned.evidence.listings,
        signatures=tuple(scanned.signatures.hits),
        spf_aligned=scanned.evidence.identity.dmarc.spf_aligned,
        opinion=scanned.opinion,
        engines=scanned.engines,
        young=scanned.young,
        site=None if site is None else (site.action, site.decided_by),
    )
