"""One whole message, from any door: judged, journaled and counted, answered, and then logged.

The journal entry and the counts are in the spools of this process before the answer goes out, so
that a crash loses nothing of a message that was answered.  The journal comes first: whatever is
counted is journaled.

The crash barrier of the content is here, and it is decided here what a message gets that nobody
could judge: the finding `partial`, and
    451 4.3.2             where others' messages kept the loop busy: it is late by no fault of its
                          own, and nothing is let in for that
    the configured answer where what it waited for did not come, or a fault of ours ended it; the
    log has the traceback under the message's id
    the spam folder       where even its head takes more than may be computed
Whoever is let in like this has lost what was written in our name, and bears ours.  What a scan
computes is bounded by the parser's limits, and by `CpuMeter`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from oborona.doors.probe import TOLD
from oborona.doors.raw_message import MAX_HEADERS, RawMessage
from oborona.doors.reply import ACCEPT, BUSY, ReplyAction, SessionReply, refusal_reply
from oborona.ident import to_text
from oborona.policy.budget import OverBudgetError, ScanProgress
from oborona.policy.decision import (
    COSTS,
    DEADLINE,
    FAULT,
    LOAD,
    PARTIAL,
    SET_APART,
    unfinished_verdict,
    with_findings,
)
from oborona.policy.load import Policy
from oborona.policy.local_clients import is_program
from oborona.policy.scan import Scan, scan
from oborona.session import traps
from oborona.session.bounces import may_be_bounce, take_bounce
from oborona.session.cpu_meter import CpuMeter
from oborona.session.inquiry import Inquirer
from oborona.session.judged_message import (
    JudgedMessage,
    keep_verdict,
    log_fault,
    publish_verdict,
    verdict_of,
)
from oborona.session.outgoing_limits import check_message
from oborona.session.refusals import put_off_reply
from oborona.session.replies import TOO_MANY_HEADERS, reply_text, verdict_reply
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import Action, Envelope, Finding, Stage, Verdict

REPORT: Final = "report"  # decides: spam that somebody reports is in the message, and is not theirs

log = logging.getLogger("oborona.session")


async def judge_message(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
) -> SessionReply:
    """Judge a whole message, count and journal it, answer, and then log it; never raises.

    Args:
        services: of the worker.
        message: as it came.
        envelope: what is known of it beside its bytes.
        inquirer: asks the DNS for this client.
        policy: to judge by.

    Returns:
        The answer; where too many messages are being judged already, that of one that nobody
        judged: it is to come again, or it goes on (`is_program`).
    """
    if not services.concurrency.enter(envelope.client.ip):
        if is_program(envelope):
            return ACCEPT
        return put_off_reply(services, envelope, policy, Stage.CONTENT, busy=True)
    meter = CpuMeter(services.settings.scan_cpu_s)
    try:
        return await _judge(
            services, message, traps.with_traps(envelope, policy), inquirer, policy, meter
        )
    finally:
        services.concurrency.leave(envelope.client.ip, meter.spent_s)


async def judge_probe(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
) -> SessionReply:
    """Judge a message of our own (`oborona.doors.probe`) and answer.

    It leaves a line in the log and nothing else.
    """
    if not services.concurrency.enter(envelope.client.ip):
        return BUSY
    meter = CpuMeter(services.settings.scan_cpu_s)
    try:
        now = services.clock()
        ident = services.numbers.next(now)
        result, reply = await _answered(
            services, message, envelope, inquirer, policy, ident, now, meter
        )
        inquirer.end_message()
    finally:
        services.concurrency.leave(envelope.client.ip, meter.spent_s)
    verdict = verdict_of(result)
    event(log, logging.INFO, TOLD, id=to_text(ident), verdict=verdict.action, score=verdict.score)
    if reply.answer in (ReplyAction.REJECT, ReplyAction.TEMPFAIL):
        return msgspec.structs.replace(reply, text=f"{reply.text} ({TOLD})")
    return reply


def unjudged_reply(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    policy: Policy,
    lost_s: float,
) -> SessionReply:
    """Return the answer to a message whose judging did not end in time, or ended by a fault that
    nobody caught; at once, and without a scan.

    Args:
        services: of the worker.
        message: as it came.
        envelope: what is known of it beside its bytes.
        policy: it was to be judged by.
        lost_s: by the pulse, as the message came.
    """
    now = services.clock()
    ident = services.numbers.next(now)
    deadline_s = services.settings.deadline_s
    why = LOAD if services.concurrency.pulse.held_up(lost_s, deadline_s) else FAULT
    if len(message.headers) >= MAX_HEADERS:
        result = _too_many_headers(policy)
    elif traps.with_traps(envelope, policy).traps:  # which is written down when it comes again
        result = _put_off(why, policy)
    else:
        result = _unfinished(services, why, policy, envelope)
    reply = verdict_reply(services, result, message, envelope, ident, policy)
    judged = JudgedMessage(
        result=result,
        policy=policy,
        envelope=envelope,
        message=message,
        ident=ident,
        now=now,
        took_s=deadline_s,
    )
    keep_verdict(services, judged)
    asyncio.get_running_loop().call_soon(publish_verdict, services, judged)
    return reply


async def _judge(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
    meter: CpuMeter,
) -> SessionReply:
    now = services.clock()
    ident = services.numbers.next(now)
    loop = asyncio.get_running_loop()
    started = loop.time()
    result, reply = await _answered(
        services, message, envelope, inquirer, policy, ident, now, meter
    )
    inquirer.end_message()
    known = result.facts.known if isinstance(result, Scan) else None
    ruling, reply = await check_message(
        services, message, envelope, policy, ident, now, reply, known
    )
    if envelope.traps:
        result, reply = await _keep_trap_event(
            services, reply, result, policy, envelope, message, ident, now
        )
    if may_be_bounce(message, envelope):
        await take_bounce(services, message, policy, ident, now)
    took_s = loop.time() - started
    judged = JudgedMessage(
        result=result,
        policy=policy,
        envelope=envelope,
        message=message,
        ident=ident,
        now=now,
        took_s=took_s,
        limits=ruling,
    )
    keep_verdict(services, judged)
    # after the answer: the transport writes the reply before the loop comes to this
    loop.call_soon(publish_verdict, services, judged)
    return reply


async def _answered(
    services: SessionServices,
    message: RawMessage,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
    ident: int,
    now: float,
    meter: CpuMeter,
) -> tuple[Scan | Verdict, SessionReply]:
    """Return what was found of a message, and the answer to it; never raises."""
    result: Scan | Verdict
    lost_s = services.concurrency.pulse.lost_s
    course = ScanProgress(meter)
    try:
        if len(message.headers) >= MAX_HEADERS:
            result = _too_many_headers(policy)
        elif traps.is_report(envelope.recipients, services.reports):
            result = _report(policy)
        elif (flight := services.flights.begin(message, envelope)).apart:
            result = services.flights.aside(flight, message, ident, policy)
        else:
            async with asyncio.timeout(services.settings.deadline_s):
                scanning = scan(
                    message.raw,
                    envelope,
                    services.site,
                    policy,
                    inquirer,
                    now=now,
                    size=message.size,
                    course=course,
                )
                result = await flight.through(scanning, meter)
                result = traps.with_trap_action(result, policy.traps.then)
        return result, verdict_reply(services, result, message, envelope, ident, policy)
    except Exception as error:  # noqa: BLE001 - the crash barrier: any fault of ours ends here, with its traceback
        why = _why(services, ident, error, lost_s)
        if isinstance(error, TimeoutError) and course.scan is not None:
            result = traps.with_trap_action(_first(course.scan, why), policy.traps.then)
        else:
            result = _unfinished(services, why, policy, envelope)
        return result, verdict_reply(services, result, message, envelope, ident, policy)


def _first(result: Scan, why: str) -> Scan:
    """Return a scan with its first verdict, which says that something was still asked for: no
    answer to that makes less of what is known.
    """
    verdict = with_findings(result.verdict, [Finding(PARTIAL, why)])
    return msgspec.structs.replace(result, verdict=verdict)


async def _keep_trap_event(
    services: SessionServices,
    reply: SessionReply,
    result: Scan | Verdict,
    policy: Policy,
    envelope: Envelope,
    message: RawMessage,
    ident: int,
    now: float,
) -> tuple[Scan | Verdict, SessionReply]:
    """Return what became of a message that came to a trap, and the answer to it, once that is
    written down.

    One that has to come again for that is put off as if nobody had judged it: what is found of it
    then is counted then, once.
    """
    message_id = result.message.message_id if isinstance(result, Scan) else ""
    written = True
    try:
        event_of = traps.trap_event(message.raw, envelope, ident, message_id, now)
        # the trainer would look into what is set apart
        apart = isinstance(result, Verdict) and result.decided_by == SET_APART
        if event_of is not None and not apart:
            written = await services.trap(event_of)
    except Exception as error:  # noqa: BLE001 - the crash barrier
        log_fault(ident, error, Stage.CONTENT)
        written = False
    if not written and traps.is_only_for_traps(envelope) and reply.answer in traps.TAKEN:
        put_off = _put_off(FAULT, policy)
        return put_off, refusal_reply(
            451, "4.7.1", reply_text(services, "Try again later", ident), reply.judged
        )
    return result, traps.without_trap_copies(reply, envelope, policy.traps.then)


def _why(services: SessionServices, ident: int, error: Exception, lost_s: float) -> str:
    """Return why a scan did not end, and log what is a fault of ours."""
    if isinstance(error, OverBudgetError):
        return COSTS
    late = isinstance(error, TimeoutError)
    if late and services.concurrency.pulse.held_up(lost_s, services.settings.deadline_s):
        return LOAD
    log_fault(ident, error, Stage.CONTENT)
    return DEADLINE if late else FAULT


def _put_off(why: str, policy: Policy) -> Verdict:
    return unfinished_verdict(why, on_failure=Action.TEMPFAIL, spam_score=policy.verdict.spam_score)


def _unfinished(services: SessionServices, why: str, policy: Policy, envelope: Envelope) -> Verdict:
    """Return the verdict of a message that could not be judged; a program's is never put off."""
    verdict = unfinished_verdict(
        why, on_failure=Action(services.settings.on_failure), spam_score=policy.verdict.spam_score
    )
    if verdict.action is Action.TEMPFAIL and is_program(envelope):
        return msgspec.structs.replace(verdict, action=Action.ACCEPT)
    return verdict


def _report(policy: Policy) -> Verdict:
    return Verdict(
        action=Action.ACCEPT, score=0.0, line=policy.verdict.spam_score, decided_by=REPORT
    )


def _too_many_headers(policy: Policy) -> Verdict:
    line = policy.verdict.reject_score
    return Verdict(action=Action.REJECT, score=0.0, line=line, decided_by=TOO_MANY_HEADERS)
