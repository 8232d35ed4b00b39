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
from collections.abc import Sequence

import msgspec

from oborona.accounts.limits.decision import (
    FEWEST,
    NOTHING_PASSED,
    LimitReading,
    LimitRuling,
    MessageAmounts,
    rule_on_limits,
)
from oborona.accounts.limits.plan import PLACES, WINDOWS, LimitPlan, NumberPlace, limit_shingle
from oborona.accounts.limits.subjects import domain_of, subject_shingles
from oborona.accounts.limits.usual import UNKNOWN_PAST, AccountPast, account_past
from oborona.counters.window import DAY_S
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import CONTINUE, TAKES, ReplyAction, SessionReply
from oborona.errors import StoreError
from oborona.message.hashing import Hasher
from oborona.policy.limit_table import LimitAction
from oborona.policy.limits import Limit, LimitFacts
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.policy.ports import CounterReader
from oborona.session.limit_memory import LimitMemory
from oborona.session.limit_report import limit_reply, report_passed
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import CounterPrefix, Envelope, Shingle, Stage

log = logging.getLogger("oborona.session")


def early_limits(policy: Policy) -> bool:
    """Tell whether a mail server has to wait for an answer at MAIL FROM."""
    return not policy.outgoing.inside and bool(LimitPlan(policy.limits).early)


async def check_sender(
    services: SessionServices, envelope: Envelope, policy: Policy
) -> SessionReply:
    """Return the answer to MAIL FROM: a refusal where a limit is used up already.

    Args:
        services: of the worker.
        envelope: as far as it is known.
        policy: of the message.
    """
    early = services.limits.plan(policy).early
    if not early or not policy.outgoing.leaves(envelope) or is_program(envelope):
        return CONTINUE
    now = services.clock()
    ruling = await _ruling(services, early, FEWEST, envelope, now)
    if ruling.by is None:
        return CONTINUE
    ident = services.numbers.next(now)
    asyncio.get_running_loop().call_soon(
        report_passed, services, ruling, envelope, ident, now, Stage.SENDER
    )
    return limit_reply(services, ruling.by, ruling.action, ident, CONTINUE)


async def check_message(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    policy: Policy,
    ident: int,
    now: float,
    reply: SessionReply,
) -> tuple[LimitRuling, SessionReply]:
    """Return what limits make of a whole message, and the answer to it.

    Args:
        services: of the worker.
        message: as it came.
        envelope: of the message.
        policy: of the message.
        ident: of its entry in the journal.
        now: Unix seconds.
        reply: to it by its content; one that is refused already uses up nothing.
    """
    plan = services.limits.plan(policy)
    if not plan.limits or reply.answer not in TAKES or not policy.outgoing.leaves(envelope):
        return NOTHING_PASSED, reply
    adds = MessageAmounts(recipients=len(envelope.recipients), octets=message.size)
    ruling = await _ruling(services, plan.limits, adds, envelope, now)
    if ruling.by is None:
        return ruling, reply
    if reply.answer is ReplyAction.HOLD and ruling.action is not LimitAction.REFUSE:
        return msgspec.structs.replace(ruling, action=None, by=None), reply  # it is held already
    return ruling, limit_reply(services, ruling.by, ruling.action, ident, reply)


def sent_by(services: SessionServices, envelope: Envelope, policy: Policy) -> tuple[Shingle, ...]:
    """Return under what an outgoing message that is taken is counted."""
    subjects = services.limits.plan(policy).subjects
    return tuple(subject_shingles(subjects, envelope, services.site.hasher).values())


async def _ruling(
    services: SessionServices,
    limits: Sequence[Limit],
    adds: MessageAmounts,
    envelope: Envelope,
    now: float,
) -> LimitRuling:
    """Return what some limits make of a message; never raises."""
    memory, hasher = services.limits, services.site.hasher
    try:
        readings = await _readings(memory, limits, envelope, hasher, services.site.counters, now)
        ruling = rule_on_limits(readings, adds, _facts(envelope), program=is_program(envelope))
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


async def _readings(
    memory: LimitMemory,
    limits: Sequence[Limit],
    envelope: Envelope,
    hasher: Hasher,
    counters: CounterReader,
    now: float,
) -> list[LimitReading]:
    """Return the limits that are for a message, with what the counters know.

    Raises:
        StoreError: they can't be asked, or not for all.
    """
    shingles = subject_shingles({limit.each for limit in limits}, envelope, hasher)
    wanted = [
        (limit, PLACES[limit.count], shingle)
        for limit in limits
        if (shingle := limit_shingle(limit, shingles, envelope, hasher)) is not None
    ]
    asked: dict[CounterPrefix, dict[Shingle, None]] = {}
    for _, place, shingle in wanted:
        asked.setdefault(place.prefix, {})[shingle] = None
    rows: dict[tuple[CounterPrefix, Shingle], list[list[int]]] = {}
    for prefix, distinct in asked.items():
        for shingle, row in zip(
            distinct, await counters.read(tuple(distinct), now, prefix), strict=True
        ):
            rows[prefix, shingle] = row
    return [
        LimitReading(
            limit=limit,
            counted=rows[place.prefix, shingle][WINDOWS[limit.window]][place.metric],
            past=await _past(memory, place, shingle, counters, now)
            if limit.asks_past
            else UNKNOWN_PAST,
        )
        for limit, place, shingle in wanted
    ]


async def _past(
    memory: LimitMemory, place: NumberPlace, shingle: Shingle, counters: CounterReader, now: float
) -> AccountPast:
    """Return what is known of somebody's earlier days: read once a day."""
    day = int(now // DAY_S)
    past = memory.past(place, shingle, day)
    if past is None:
        (line,) = await counters.timelines([shingle], now, place.prefix)
        past = account_past([counts[place.metric] for counts in line.days])
        memory.keep(place, shingle, day, past)
    return past


def _facts(envelope: Envelope) -> LimitFacts:
    return LimitFacts(
        login=envelope.login.lower(),
        domain=domain_of(envelope.login),
        client_ip=envelope.client.ip,
        sender=envelope.sender,
        recipients=len(envelope.recipients),
    )
