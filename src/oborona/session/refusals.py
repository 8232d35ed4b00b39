"""What the journal is told of refusals before the content, and answers to whom nobody judges.

A refusal is recorded before it is told, for it is told with the reference that the journal gives:
its own, or that of an earlier one which says the same (`oborona.journal.refusal_ledger`).
"""

from __future__ import annotations

from typing import Final

from oborona.doors.guard import NO_ANSWER
from oborona.doors.reply import BUSY, SessionReply, refusal_reply
from oborona.journal.refusal import Refusal, Told
from oborona.policy.load import Policy
from oborona.session.replies import reply_text
from oborona.session.services import SessionServices
from oborona.types import Action, Client, Envelope, Stage, Verdict

TOO_BUSY: Final = "busy"
"""Decides, where too much was to be judged at a time."""
TOO_MANY: Final = "connections"
"""Decides, where a door has as many connections as it may, or as many of one client."""
UNANSWERED: Final = "no-answer"
"""Decides, where a fault of ours left nothing else to say."""


def refusal_of(
    ident: int,
    now: float,
    policy: Policy,
    envelope: Envelope,
    verdict: Verdict,
    *,
    stage: Stage,
    told: Told,
    door: str,
) -> Refusal:
    """Return a refusal as the journal takes it.

    Args:
        ident: its reference, unless the journal has one for it.
        now: Unix seconds.
        policy: it was judged by.
        envelope: as far as it is known.
        verdict: that refuses.
        stage: of what was judged.
        told: where the client hears of it.
        door: the listener that it came by.
    """
    return Refusal(
        id=ident,
        time=now,
        stage=stage,
        told=told,
        verdict=verdict.action,
        score=verdict.score,
        line=verdict.line,
        decided_by=verdict.decided_by,
        client_ip=envelope.client.ip,
        helo=envelope.helo,
        sender=envelope.sender,
        recipients=envelope.recipients,
        login=envelope.login,
        queue_id=envelope.queue_id,
        rules=verdict.rules,
        policy_version=policy.version,
        door=door,
    )


def put_off_reply(
    services: SessionServices, envelope: Envelope, policy: Policy, stage: Stage, *, busy: bool
) -> SessionReply:
    """Return the answer to who comes again, for nobody judged it: at once, without I/O.

    Args:
        services: of the worker.
        envelope: as far as it is known.
        policy: in force.
        stage: that was reached.
        busy: there was no room; else a fault of ours.
    """
    answer = BUSY if busy else NO_ANSWER
    return _put_off(services, envelope, policy, stage, answer, TOO_BUSY if busy else UNANSWERED)


def turned_away_reply(services: SessionServices, address: str) -> SessionReply:
    """Return the answer to who comes when a door is full: at once, without I/O.

    Args:
        services: of the worker.
        address: of who came: a client, or the mail server that asks for one; empty = not known.
    """
    policy, envelope = services.policy.current, Envelope(client=Client(ip=address))
    return _put_off(services, envelope, policy, Stage.CONNECT, BUSY, TOO_MANY)


def _put_off(
    services: SessionServices,
    envelope: Envelope,
    policy: Policy,
    stage: Stage,
    answer: SessionReply,
    decided_by: str,
) -> SessionReply:
    now = services.clock()
    verdict = Verdict(
        action=Action.TEMPFAIL,
        score=0.0,
        line=policy.verdict.spam_score,
        decided_by=decided_by,
    )
    refusal = refusal_of(
        services.numbers.next(now),
        now,
        policy,
        envelope,
        verdict,
        stage=stage,
        told=Told(stage.value),
        door=services.door,
    )
    text = reply_text(services, answer.text, services.refusals.take(refusal))
    return refusal_reply(answer.code, answer.enhanced, text)
