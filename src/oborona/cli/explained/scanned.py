"""Why a message file would get its verdict now."""

from __future__ import annotations

from oborona.cli.explained.gathered import (
    by_name,
    counted,
    lines_of,
    opinion_of,
    rows_now,
    rows_then,
)
from oborona.cli.explained.model import Explanation, side_of
from oborona.cli.explained.pulled import content_parts, final_parts
from oborona.policy.known import asked
from oborona.policy.scan import Scan, Site


async def explained(name: str, result: Scan, site: Site, now: float) -> Explanation:
    """Return why a scan ended as it did.

    Args:
        name: of the file.
        result: the scan.
        site: that it was made with.
        now: Unix seconds.
    """
    envelope, message = result.envelope, result.message
    pieces = asked(result.pieces)
    return Explanation(
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
        counts=counted(pieces, rows_then((), pieces), await rows_now(site, pieces, now)),
        content_model=content_parts(site.content, message, envelope, result.opinion),
        final_model=final_parts(site.final, result.facts, result.verdict.rules),
    )
