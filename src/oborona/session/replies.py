"""The SMTP reply to a verdict: refusals with their reference, and the header edits of a message
that passes.
"""

from __future__ import annotations

from typing import Final

from oborona.doors.headers import header_edits
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import (
    ACCEPT,
    SessionReply,
    VerdictDetails,
    hold_reply,
    refusal_reply,
    refused_hold,
)
from oborona.ident import sign, to_text
from oborona.policy.decision import is_late
from oborona.policy.disclosure import public_verdict
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_own, own_name
from oborona.policy.outgoing_table import OutgoingOutcome
from oborona.policy.rules import VerdictLines
from oborona.policy.scan import Scan
from oborona.session.services import SessionServices
from oborona.types import Action, Envelope, Stage, Verdict

# decides: forged headers among so many could not be removed
TOO_MANY_HEADERS: Final = "too-many-headers"


def verdict_reply(
    services: SessionServices,
    result: Scan | Verdict,
    message: RawMessage,
    envelope: Envelope,
    ident: int,
    policy: Policy,
) -> SessionReply:
    """Return the reply to a message.

    Args:
        services: of the worker.
        result: of the scan; a verdict alone where there was none.
        message: as it came.
        envelope: what is known of it beside its bytes.
        ident: of its entry in the journal.
        policy: it was judged by.
    """
    verdict = result.verdict if isinstance(result, Scan) else result
    rests = verdict_details(services, result, ident, policy, lines=policy.lines(envelope))
    if is_late(verdict):
        # nobody judged it
        return refusal_reply(451, "4.3.2", reply_text(services, "Too busy, try again later", ident))
    if verdict.action is Action.TEMPFAIL:
        return refusal_reply(451, "4.7.1", reply_text(services, "Try again later", ident), rests)
    if verdict.decided_by == TOO_MANY_HEADERS:
        return refusal_reply(
            550, "5.6.0", reply_text(services, "Message has too many headers", ident), rests
        )
    if verdict.action is Action.REJECT and policy.verdict.refuse:
        return refusal_reply(
            550, "5.7.1", reply_text(services, "Message refused as spam", ident), rests
        )
    leaves = policy.outgoing.leaves(envelope)
    edits = header_edits(
        rests,
        message,
        own_name(services.site.name, envelope.server),
        own=is_own(envelope),
        leaves=leaves,
    )
    outcome = policy.outgoing.outcome(
        verdict.action, refuse=policy.verdict.refuse, holds=envelope.holds
    )
    if leaves and outcome in (OutgoingOutcome.HOLD, OutgoingOutcome.REJECT):
        held = hold_reply(reply_text(services, "Message looks like spam", ident), rests, edits)
        return held if outcome is OutgoingOutcome.HOLD else refused_hold(held)
    return SessionReply(answer=ACCEPT.answer, edits=edits, judged=rests)


def verdict_details(
    services: SessionServices,
    result: Scan | Verdict,
    ident: int,
    policy: Policy,
    *,
    lines: VerdictLines | None = None,
    stage: Stage = Stage.CONTENT,
    karma: float | None = None,
) -> VerdictDetails:
    """Return what a reply rests on.

    Args:
        services: of the worker.
        result: of a scan or of a stage.
        ident: under which the log has it.
        policy: it was judged by.
        lines: that it was held to; None = those of all mail.
        stage: of what was judged.
        karma: of the sender, where it is known and not the scan's.
    """
    scanned, lines = result if isinstance(result, Scan) else None, lines or policy.verdict
    return VerdictDetails(
        verdict=public_verdict(result.verdict if isinstance(result, Scan) else result, policy),
        ident=sign(ident, services.signing_key),
        detail=services.detail,
        stage=stage,
        reference=to_text(ident),
        spam_score=lines.spam_score,
        reject_score=lines.reject_score,
        karma=scanned.facts.karma if scanned is not None else karma,
        scan=scanned,
    )


def reply_text(services: SessionServices, reason: str, ident: int) -> str:
    """Return a text that is short and generic, with the id under which the log has the detail."""
    contact = f"; {services.contact}" if services.contact else ""
    return f"{reason}, reference {to_text(ident)}{contact}"
