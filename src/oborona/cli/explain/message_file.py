"""Why a message file would get its verdict now."""

from __future__ import annotations

from oborona.cli.explain.contributions import content_parts, final_parts
from oborona.cli.explain.elements import (
    by_name,
    lines_of,
    opinion_of,
    piece_counts,
    rows_now,
    rows_then,
)
from oborona.cli.explain.model import VerdictExplanation, side_of
from oborona.policy.counts import shingles_to_read
from oborona.policy.scan import Scan, ScanSite


async def explain_message(
    name: str, result: Scan, site: ScanSite, now: float
) -> VerdictExplanation:
    """Return why a scan ended as it did.

    Args:
        name: of the file.
        result: the scan.
        site: that it was made with.
        now: Unix seconds.
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
        counts=piece_counts(pieces, rows_then((), pieces), await rows_now(site, pieces, now)),
        content_model=content_parts(site.content, message, envelope, result.opinion),
        final_model=final_parts(site.final, result.facts, result.verdict.rules),
    )
