"""A verdict in the words of SMTP: refusals with their reference, and what is done to the headers of
a message that passes.
"""

from __future__ import annotations

from typing import Final

from oborona.doors.gather import Gathered
from oborona.doors.headers import marks
from oborona.doors.reply import ACCEPT, Judged, Reply, refuse
from oborona.ident import sign, to_text
from oborona.policy.decide import late
from oborona.policy.load import Policy
from oborona.policy.outward import outward
from oborona.policy.own import is_own, own_name
from oborona.policy.scan import Scan
from oborona.session.services import Bench
from oborona.types import Action, Envelope, Stage, Verdict

# decides: forged headers among so many could not be removed
TOO_MANY_HEADERS: Final = "too-many-headers"


def answer(
    bench: Bench,
    result: Scan | Verdict,
    message: Gathered,
    envelope: Envelope,
    ident: int,
    policy: Policy,
) -> Reply:
    """Return the reply to a message.

    Args:
        bench: of the worker.
        result: of the scan; a verdict alone where there was none.
        message: as it came.
        envelope: what is known of it beside its bytes.
        ident: of its entry in the journal.
        policy: it was judged by.
    """
    verdict = result.verdict if isinstance(result, Scan) else result
    rests = judged(bench, result, ident, policy)
    if late(verdict):
        # nobody judged it
        return refuse(451, "4.3.2", words(bench, "Too busy, try again later", ident))
    if verdict.action is Action.TEMPFAIL:
        return refuse(451, "4.7.1", words(bench, "Try again later", ident), rests)
    if verdict.decided_by == TOO_MANY_HEADERS:
        return refuse(550, "5.6.0", words(bench, "Message has too many headers", ident), rests)
    if verdict.action is Action.REJECT and policy.verdict.refuse:
        return refuse(550, "5.7.1", words(bench, "Message refused as spam", ident), rests)
    return Reply(
        answer=ACCEPT.answer,
        edits=marks(
            rests, message, own_name(bench.site.name, envelope.server), own=is_own(envelope)
        ),
        judged=rests,
    )


def judged(
    bench: Bench,
    result: Scan | Verdict,
    ident: int,
    policy: Policy,
    *,
    stage: Stage = Stage.CONTENT,
    karma: float | None = None,
) -> Judged:
    """Return what a reply rests on.

    Args:
        bench: of the worker.
        result: of a scan or of a stage.
        ident: under which the log has it.
        policy: it was judged by.
        stage: of what was judged.
        karma: of the sender, where it is known and not the scan's.
    """
    scanned = result if isinstance(result, Scan) else None
    return Judged(
        verdict=outward(result.verdict if isinstance(result, Scan) else result, policy),
        ident=sign(ident, bench.signing_key),
        detail=bench.detail,
        stage=stage,
        reference=to_text(ident),
        spam_score=policy.verdict.spam_score,
        reject_score=policy.verdict.reject_score,
        karma=scanned.facts.karma if scanned is not None else karma,
        scan=scanned,
    )


def words(bench: Bench, what: str, ident: int) -> str:
    """Return a text that is short and generic, with the id under which the log has the detail."""
    contact = f"; {bench.contact}" if bench.contact else ""
    return f"{what}, reference {to_text(ident)}{contact}"
