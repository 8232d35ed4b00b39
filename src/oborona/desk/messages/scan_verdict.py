"""A message that is scanned now, and counted nowhere: its verdict, and why."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from oborona.desk.messages.contributions import content_parts, final_parts, shipped_parts
from oborona.desk.messages.elements import (
    by_name,
    lines_of,
    opinion_of,
    piece_counts,
    rows_now,
    rows_then,
)
from oborona.desk.messages.explanation import VerdictExplanation, side_of
from oborona.message.shingles import ShingleType
from oborona.policy.counts import shingles_to_read
from oborona.policy.local_clients import direction
from oborona.policy.scan import Scan, ScanSite
from oborona.types import Action, Finding, RuleHit


class ScannedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A shingle of a message."""

    type: int
    name: str
    hash: str  # 16 hexadecimal digits


class ScannedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a message, and what it has.  Names and meaning of its fields stay."""

    file: str
    verdict: Action
    score: float
    line: float
    decided_by: str
    findings: tuple[Finding, ...]
    rules: tuple[RuleHit, ...]
    shingles: tuple[ScannedPiece, ...]


def scanned_message(name: str, result: Scan) -> ScannedMessage:
    """Return what a scan said of a file."""
    verdict = result.verdict
    return ScannedMessage(
        file=name,
        verdict=verdict.action,
        score=float(verdict.score),  # a sum of no scores is the whole number 0
        line=verdict.line,
        decided_by=verdict.decided_by,
        findings=verdict.findings,
        rules=verdict.rules,
        shingles=tuple(
            ScannedPiece(
                type=shingle.type,
                name=ShingleType(shingle.type).name.lower(),
                hash=f"{shingle.hash:016x}",
            )
            for shingle in result.pieces.shingles
        ),
    )


async def explain_scan(
    name: str, result: Scan, site: ScanSite, now: float, notice: Callable[[str], None]
) -> VerdictExplanation:
    """Return why a scan ended as it did.

    Args:
        name: of the file.
        result: the scan.
        site: that it was made with.
        now: Unix seconds.
        notice: gets what could not be read.
    """
    envelope, message = result.envelope, result.message
    pieces = shingles_to_read(result.pieces)
    return VerdictExplanation(
        file=name,
        queue_id=envelope.queue_id,
        client=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipients=envelope.recipients,
        login=envelope.login,
        subject=message.subject,
        message_id=message.message_id,
        size=message.size,
        now=side_of(
            result.verdict,
            policy=result.policy.version,
            lines=lines_of(result.policy),
            facts=by_name(result.facts),
            model=opinion_of(result.opinion),
        ),
        counts=piece_counts(
            pieces,
            rows_then((), pieces),
            await rows_now(site, pieces, now, direction(envelope), notice),
        ),
        content_model=content_parts(site.content, message, envelope, result.opinion),
        final_model=final_parts(site.final, result.facts, result.verdict.rules, result.policy),
        shipped_model=shipped_parts(site.final, result.facts, result.verdict.rules, result.policy),
    )
