"""One whole message, whatever door it came by: judged, counted and journaled, answered, and then
logged.

What is counted and journaled is in the spools of this process before the answer goes out: whoever
is killed then, nothing of a message that was answered is missing.  The journal comes first, so
whatever is counted is journaled.

The crash barrier of the content is here, and it is decided here what a message gets that nobody
could judge: the finding `partial`, and
    451 4.3.2             where others' messages kept the loop busy: it is late by no fault of its
                          own, and nothing is let in for that
    the configured answer where what it waited for did not come, or a fault of ours ended it; the
    log has the traceback under the message's id
    the spam folder       where even its head takes more than may be computed
Whoever is let in like this has lost what was written in our name, and bears ours.  What a scan
computes is bounded by the parser's limits, and by `Meter`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from oborona.doors.gather import MAX_HEADERS, Gathered
from oborona.doors.probe import TOLD
from oborona.doors.reply import BUSY, Answer, Reply, refuse
from oborona.ident import to_text
from oborona.policy.budget import Course, OverBudgetError
from oborona.policy.decide import (
    COSTS,
    DEADLINE,
    FAULT,
    LOAD,
    PARTIAL,
    SET_APART,
    unfinished,
    with_findings,
)
from oborona.policy.load import Policy
from oborona.policy.scan import Scan, scan
from oborona.session import traps as trapping
from oborona.session.inquiry import Inquirer
from oborona.session.judged_message import JudgedMessage, keep, log_fault, tell, verdict_of
from oborona.session.meter import Meter
from oborona.session.replies import TOO_MANY_HEADERS, answer, words
from oborona.session.services import Bench
from oborona.telemetry.log import event
from oborona.types import Action, Envelope, Finding, Stage, Verdict

REPORT: Final = "report"  # decides: spam that somebody reports is in the message, and is not theirs

log = logging.getLogger("oborona.session")


async def judge(
    bench: Bench, message: Gathered, envelope: Envelope, inquirer: Inquirer, policy: Policy
) -> Reply:
    """Judge a whole message, count and journal it, answer, and then log it; never raises.

    Args:
        bench: of the worker.
        message: as it came.
        envelope: what is known of it beside its bytes.
        inquirer: asks the DNS for this client.
        policy: to judge by.

    Returns:
        The answer; `BUSY`, which nobody judged, where too many messages are being judged already.
    """
    if not bench.crowd.enter(envelope.client.ip):
        return BUSY
    meter = Meter(bench.settings.scan_cpu_s)
    try:
        return await _judge(
            bench, message, trapping.trapped(envelope, policy), inquirer, policy, meter
        )
    finally:
        bench.crowd.leave(envelope.client.ip, meter.spent_s)


async def tried(
    bench: Bench, message: Gathered, envelope: Envelope, inquirer: Inquirer, policy: Policy
) -> Reply:
    """Judge a message of our own (`oborona.doors.probe`) and answer.

    It leaves a line in the log and nothing else.
    """
    if not bench.crowd.enter(envelope.client.ip):
        return BUSY
    meter = Meter(bench.settings.scan_cpu_s)
    try:
        now = bench.clock()
        ident = bench.numbers.next(now)
        result, reply = await _answered(
            bench, message, envelope, inquirer, policy, ident, now, meter
        )
        inquirer.end_message()
    finally:
        bench.crowd.leave(envelope.client.ip, meter.spent_s)
    verdict = verdict_of(result)
    event(log, logging.INFO, TOLD, id=to_text(ident), verdict=verdict.action, score=verdict.score)
    if reply.answer in (Answer.REJECT, Answer.TEMPFAIL):
        return msgspec.structs.replace(reply, text=f"{reply.text} ({TOLD})")
    return reply


def unjudged(
    bench: Bench, message: Gathered, envelope: Envelope, policy: Policy, lost_s: float
) -> Reply:
    """Return the answer to a message whose judging did not end in time, or ended by a fault that
    nobody caught; at once, and without a scan.

    Args:
        bench: of the worker.
        message: as it came.
        envelope: what is known of it beside its bytes.
        policy: it was to be judged by.
        lost_s: by the pulse, as the message came.
    """
    now = bench.clock()
    ident = bench.numbers.next(now)
    deadline_s = bench.settings.deadline_s
    why = LOAD if bench.crowd.pulse.held_up(lost_s, deadline_s) else FAULT
    if len(message.headers) >= MAX_HEADERS:
        result = _too_many_headers(policy)
    elif trapping.trapped(envelope, policy).traps:  # which is written down when it comes again
        result = _put_off(why, policy)
    else:
        result = _unfinished(bench, why, policy)
    reply = answer(bench, result, message, envelope, ident, policy)
    judged = JudgedMessage(
        result=result,
        policy=policy,
        envelope=envelope,
        message=message,
        ident=ident,
        now=now,
        took_s=deadline_s,
    )
    keep(bench, judged)
    asyncio.get_running_loop().call_soon(tell, bench, judged)
    return reply


async def _judge(
    bench: Bench,
    message: Gathered,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
    meter: Meter,
) -> Reply:
    now = bench.clock()
    ident = bench.numbers.next(now)
    loop = asyncio.get_running_loop()
    started = loop.time()
    result, reply = await _answered(bench, message, envelope, inquirer, policy, ident, now, meter)
    inquirer.end_message()
    if envelope.traps:
        result, reply = await _trapped(bench, reply, result, policy, envelope, message, ident, now)
    took_s = loop.time() - started
    judged = JudgedMessage(
        result=result,
        policy=policy,
        envelope=envelope,
        message=message,
        ident=ident,
        now=now,
        took_s=took_s,
    )
    keep(bench, judged)
    # after the answer: the transport writes the reply before the loop comes to this
    loop.call_soon(tell, bench, judged)
    return reply


async def _answered(
    bench: Bench,
    message: Gathered,
    envelope: Envelope,
    inquirer: Inquirer,
    policy: Policy,
    ident: int,
    now: float,
    meter: Meter,
) -> tuple[Scan | Verdict, Reply]:
    """Return what was found of a message, and the answer to it; never raises."""
    result: Scan | Verdict
    lost_s = bench.crowd.pulse.lost_s
    course = Course(meter)
    try:
        if len(message.headers) >= MAX_HEADERS:
            result = _too_many_headers(policy)
        elif trapping.is_report(envelope.recipients, bench.reports):
            result = _report(policy)
        elif (flight := bench.flights.begin(message, envelope)).apart:
            result = bench.flights.aside(flight, message, ident, policy)
        else:
            async with asyncio.timeout(bench.settings.deadline_s):
                scanning = scan(
                    message.raw,
                    envelope,
                    bench.site,
                    policy,
                    inquirer,
                    now=now,
                    size=message.size,
                    course=course,
                )
                result = await flight.through(scanning, meter)
                result = trapping.judged(result, policy.traps.then)
        return result, answer(bench, result, message, envelope, ident, policy)
    except Exception as error:  # noqa: BLE001 - the crash barrier: any fault of ours ends here, with its traceback
        why = _why(bench, ident, error, lost_s)
        if isinstance(error, TimeoutError) and course.scan is not None:
            result = trapping.judged(_first(course.scan, why), policy.traps.then)
        else:
            result = _unfinished(bench, why, policy)
        return result, answer(bench, result, message, envelope, ident, policy)


def _first(result: Scan, why: str) -> Scan:
    """Return a scan with its first verdict, which says that something was still asked for: no
    answer to that makes less of what is known.
    """
    verdict = with_findings(result.verdict, [Finding(PARTIAL, why)])
    return msgspec.structs.replace(result, verdict=verdict)


async def _trapped(
    bench: Bench,
    reply: Reply,
    result: Scan | Verdict,
    policy: Policy,
    envelope: Envelope,
    message: Gathered,
    ident: int,
    now: float,
) -> tuple[Scan | Verdict, Reply]:
    """Return what became of a message that came to a trap, and the answer to it, once that is
    written down.

    One that has to come again for that is put off as if nobody had judged it: what is found of it
    then is counted then, once.
    """
    message_id = result.message.message_id if isinstance(result, Scan) else ""
    kept = True
    try:
        event_of = trapping.event_of(message.raw, envelope, ident, message_id, now)
        # the trainer would look into what is set apart
        apart = isinstance(result, Verdict) and result.decided_by == SET_APART
        if event_of is not None and not apart:
            kept = await bench.trap(event_of)
    except Exception as error:  # noqa: BLE001 - the crash barrier
        log_fault(ident, error, Stage.CONTENT)
        kept = False
    if not kept and trapping.alone(envelope) and reply.answer in trapping.TAKEN:
        put_off = _put_off(FAULT, policy)
        return put_off, refuse(451, "4.7.1", words(bench, "Try again later", ident), reply.judged)
    return result, trapping.delivered(reply, envelope, policy.traps.then)


def _why(bench: Bench, ident: int, error: Exception, lost_s: float) -> str:
    """Return why a scan did not end, and log what is a fault of ours."""
    if isinstance(error, OverBudgetError):
        return COSTS
    late = isinstance(error, TimeoutError)
    if late and bench.crowd.pulse.held_up(lost_s, bench.settings.deadline_s):
        return LOAD
    log_fault(ident, error, Stage.CONTENT)
    return DEADLINE if late else FAULT


def _put_off(why: str, policy: Policy) -> Verdict:
    return unfinished(why, on_failure=Action.TEMPFAIL, spam_score=policy.verdict.spam_score)


def _unfinished(bench: Bench, why: str, policy: Policy) -> Verdict:
    return unfinished(
        why, on_failure=Action(bench.settings.on_failure), spam_score=policy.verdict.spam_score
    )


def _report(policy: Policy) -> Verdict:
    return Verdict(
        action=Action.ACCEPT, score=0.0, line=policy.verdict.spam_score, decided_by=REPORT
    )


def _too_many_headers(policy: Policy) -> Verdict:
    line = policy.verdict.reject_score
    return Verdict(action=Action.REJECT, score=0.0, line=line, decided_by=TOO_MANY_HEADERS)
