"""Limits on outgoing mail, as a session asks the counters for them and answers.

    MAIL FROM          what is used up already is refused or put off
    end of message     with this message it would be too much: refused, held, put off; or said alone

A mail server whose own mailboxes are known (`[outgoing] inside`) is answered at the end alone: at
MAIL FROM nobody knows whether the message leaves.  While the counters can't be asked no limit is
passed by anybody: that is said once, and again when it is over.  Nothing here raises, or stands in
the way of mail by a fault of ours.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from oborona.accounts.limits.decision import (
    FEWEST,
    NOTHING_PASSED,
    LimitRuling,
    MessageAmounts,
    rule_on_limits,
)
from oborona.accounts.limits.plan import LimitReads
from oborona.accounts.limits.reader import count_new_recipients, read_limits, read_place
from oborona.accounts.limits.report import report_passed
from oborona.accounts.limits.subjects import facts_of, subject_shingle
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import CONTINUE, TAKES, ReplyAction, SessionReply
from oborona.errors import StoreError
from oborona.journal.refusal import Told
from oborona.message.hashing import ShingleType
from oborona.policy.counts import MessageCounts
from oborona.policy.limit_table import LimitAction
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.session.limit_report import hand_over_excesses, limit_reply, limit_verdict
from oborona.session.refusals import refusal_of
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import Envelope, Shingle, Stage

log = logging.getLogger("oborona.session")


def early_limits(services: SessionServices, policy: Policy) -> bool:
    """Tell whether a mail server has to wait for an answer at MAIL FROM."""
    early = bool(services.limits.plan(policy).early.limits)
    return early and policy.verdict.refuse and not policy.outgoing.inside


async def check_sender(
    services: SessionServices, envelope: Envelope, policy: Policy
) -> SessionReply:
    """Return the answer to MAIL FROM: a refusal where a limit is used up already.

    Args:
        services: of the worker.
        envelope: as far as it is known.
        policy: of the message.
    """
    if not early_limits(services, policy) or not policy.outgoing.leaves(envelope):
        return CONTINUE
    if is_program(envelope):  # which is told at the end
        return CONTINUE
    early = services.limits.plan(policy).early
    now = services.clock()
    ruling = await _ruling(services, early, FEWEST, envelope, now)
    if ruling.by is None:
        return CONTINUE
    ident = services.refusals.take(
        refusal_of(
            services.numbers.next(now),
            now,
            policy,
            envelope,
            limit_verdict(ruling.by, ruling.action, policy),
            stage=Stage.SENDER,
            told=Told.SENDER,
            door=services.door,
        )
    )
    hand_over_excesses(services, ruling, envelope, ident, now)
    asyncio.get_running_loop().call_soon(report_passed, ruling, envelope, ident, Stage.SENDER)
    return limit_reply(services, ruling.by, ruling.action, ident, CONTINUE)


async def check_message(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    policy: Policy,
    ident: int,
    now: float,
    reply: SessionReply,
    known: MessageCounts | None = None,
) -> tuple[LimitRuling, SessionReply]:
    """Return what limits make of a whole message, and the answer to it.

    Where the policy refuses no mail at all, limits are told and nothing is done.

    Args:
        services: of the worker.
        message: as it came.
        envelope: of the message.
        policy: of the message.
        ident: of its entry in the journal.
        now: Unix seconds.
        reply: to it by its content; one that is refused already uses up nothing.
        known: its counts, where it was scanned.
    """
    plan = services.limits.plan(policy)
    if not plan.whole.limits or not policy.outgoing.leaves(envelope):
        return NOTHING_PASSED, reply
    fresh = await new_recipients(services, envelope, now) if plan.asks_new else 0
    if reply.answer not in TAKES:
        return LimitRuling(new_recipients=fresh), reply
    adds = MessageAmounts(
        recipients=len(envelope.recipients), octets=message.size, new_recipients=fresh
    )
    ruling = await _ruling(services, plan.whole, adds, envelope, now, known)
    ruling = msgspec.structs.replace(ruling, new_recipients=fresh)
    if ruling.by is None:
        return ruling, reply
    if not policy.verdict.refuse:
        return msgspec.structs.replace(ruling, action=None, by=None), reply
    if reply.answer is ReplyAction.HOLD and ruling.action is not LimitAction.REFUSE:
        return msgspec.structs.replace(ruling, action=None, by=None), reply  # it is held already
    return ruling, limit_reply(services, ruling.by, ruling.action, ident, reply)


def account_of(services: SessionServices, envelope: Envelope) -> Shingle:
    """Return what counts what the account of a message with a login does."""
    return services.site.hasher.shingle(ShingleType.ACCOUNT, envelope.login.lower())


def sent_by(services: SessionServices, envelope: Envelope, policy: Policy) -> tuple[Shingle, ...]:
    """Return under what an outgoing message that is taken is counted."""
    hasher, subjects = services.site.hasher, services.limits.plan(policy).subjects
    known = services.known_accounts
    shingles = (subject_shingle(subject, envelope, hasher, known) for subject in subjects)
    return tuple(shingle for shingle in shingles if shingle is not None)


async def rule_on_bounces(
    services: SessionServices, policy: Policy, envelope: Envelope, adds: MessageAmounts, now: float
) -> LimitRuling:
    """Return what limits make of messages that did not arrive; never raises.

    Args:
        services: of the worker.
        policy: in force.
        envelope: of the message that comes back.
        adds: recipients whom it did not reach, and were not counted before.
        now: Unix seconds.
    """
    return await _ruling(services, services.limits.plan(policy).bounced, adds, envelope, now)


async def rule_on_failed_login(
    services: SessionServices, policy: Policy, envelope: Envelope, now: float
) -> LimitRuling:
    """Return what limits make of one more login that failed; never raises.

    Args:
        services: of the worker.
        policy: in force.
        envelope: with the login, and the client that tried it.
        now: Unix seconds.
    """
    wanted, adds = services.limits.plan(policy).denied, MessageAmounts(failed_logins=1)
    return await _ruling(services, wanted, adds, envelope, now)


async def new_recipients(services: SessionServices, envelope: Envelope, now: float) -> int:
    """Return how many recipients are new; 0 where the counters can't be asked; never raises."""
    try:
        return await count_new_recipients(
            envelope, services.site.hasher, services.site.counters, now
        )
    except StoreError:  # the limits will say it
        return 0
    except Exception:
        log.exception("fault in limits")  # which no mail hangs on
        return 0


async def _ruling(
    services: SessionServices,
    wanted: LimitReads,
    adds: MessageAmounts,
    envelope: Envelope,
    now: float,
    known: MessageCounts | None = None,
) -> LimitRuling:
    """Return what some limits make of a message; never raises."""
    memory, hasher, accounts = services.limits, services.site.hasher, services.known_accounts
    try:
        readings = await read_limits(
            memory, wanted, envelope, hasher, services.site.counters, accounts, now, known
        )
        facts = facts_of(envelope, accounts, now)
        if wanted.asks_place:
            facts.elsewhere = await read_place(envelope, hasher, services.site.counters, now, known)
        ruling = rule_on_limits(
            readings, adds, facts, program=is_program(envelope), holds=envelope.holds
        )
    except StoreError as error:
        if not memory.blind:
            memory.blind = True
            event(log, logging.WARNING, "limits blind", why=str(error))
        return NOTHING_PASSED
    except Exception:
        log.exception("fault in limits")  # which no mail hangs on
        return NOTHING_PASSED
    if memory.blind:
        memory.blind = False
        event(log, logging.INFO, "limits see again")
    for fault in ruling.faults:
        event(log, logging.WARNING, "fault", stage=Stage.CONTENT, what=f"limit {fault}")
    return ruling
