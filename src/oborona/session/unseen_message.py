"""A message of our own people whose content nobody shows us: counted, put under limits, journaled
and logged by its envelope and its size.

The content is not judged: such a message is refused or held by limits alone.  It is counted as one
that was scanned is, as far as an envelope tells: what it used up, whom its account writes to, from
where.  Mail of strangers is none of it, for there is nothing that it could be counted for.
"""

from __future__ import annotations

import asyncio
from typing import Final

from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import CONTINUE, SessionReply
from oborona.message.shingles import envelope_shingles
from oborona.message.unique_pairs import account_pairs
from oborona.policy.accounting import record_new_recipients, record_unseen
from oborona.policy.limit_table import LimitAction
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction
from oborona.session.judged_message import (
    JudgedMessage,
    keep_verdict,
    log_fault,
    publish_verdict,
)
from oborona.session.outgoing_limits import account_of, check_message, new_recipients
from oborona.session.replies import verdict_details
from oborona.session.services import SessionServices
from oborona.types import Action, CountedPieces, Envelope, Stage, Verdict

UNSEEN: Final = "unseen"
"""Decides, where nobody has shown us a message."""


async def judge_unseen(
    services: SessionServices, envelope: Envelope, size: int, policy: Policy
) -> SessionReply:
    """Put a message that is whole under limits, count and journal it, answer, and then log it.

    Never raises.

    Args:
        services: of the worker.
        envelope: of the message; an empty recipient is one whose name nobody told.
        size: octets.
        policy: of the message.

    Returns:
        CONTINUE where no limit is passed, and for mail that does not leave.
    """
    if not policy.outgoing.leaves(envelope):
        return CONTINUE
    now = services.clock()
    ident = services.numbers.next(now)
    loop = asyncio.get_running_loop()
    started = loop.time()
    verdict = Verdict(
        action=Action.ACCEPT,
        score=0.0,
        line=policy.lines(envelope).spam_score,
        decided_by=UNSEEN,
    )
    message = RawMessage(raw=b"", headers=(), size=size, truncated=True)
    rests = verdict_details(services, verdict, ident, policy, lines=policy.lines(envelope))
    ruling, reply = await check_message(
        services, message, envelope, policy, ident, now, SessionReply(judged=rests)
    )
    asked = services.limits.plan(policy).asks_new  # then the limits have counted them
    fresh = ruling.new_recipients if asked else await new_recipients(services, envelope, now)
    judged = JudgedMessage(
        result=verdict,
        policy=policy,
        envelope=envelope,
        message=message,
        ident=ident,
        now=now,
        took_s=loop.time() - started,
        limits=ruling,
    )
    keep_verdict(services, judged)
    if ruling.action is not LimitAction.TEMPFAIL:  # else it comes again
        _count(services, judged, fresh)
    loop.call_soon(publish_verdict, services, judged)
    return reply


def _count(services: SessionServices, judged: JudgedMessage, fresh: int) -> None:
    """Count what an envelope tells of a message: by this the next one finds recipients known."""
    envelope, hasher, now = judged.envelope, services.site.hasher, judged.now
    try:
        location = services.site.places.find(envelope.client.ip)
        pieces = envelope_shingles(envelope, hasher, location)
        shingles, pairs, named = pieces.shingles, pieces.pairs, 0
        if envelope.login:
            known = account_pairs(envelope.login.lower(), envelope, hasher)
            shingles += (account_of(services, envelope),)
            pairs += tuple(known)
            named = len(known)
        record_unseen(
            CountedPieces(shingles=shingles, pairs=pairs),
            services.counters,
            now=now,
            first=bool(named) and fresh == named,
            prefix=direction(envelope),
        )
        if judged.limits.new_recipients:
            record_new_recipients(
                account_of(services, envelope),
                judged.limits.new_recipients,
                services.counters,
                now=now,
            )
        services.written(now)
    except Exception as error:  # noqa: BLE001 - what failed here costs a count, not the mail
        log_fault(judged.ident, error, Stage.CONTENT)
