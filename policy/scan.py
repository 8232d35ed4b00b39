"""The content stage: one message with its envelope in, one verdict with all its evidence out.

Reads top to bottom: parse, take apart, ask the counters, find, rule, decide.  Nothing is counted here: `settle` does that, after
the answer is given.  Stores come as arguments; the same message, counts, policy and time give the same verdict.
"""

from __future__ import annotations

import msgspec

from oborona.errors import StoreError, StorePartial
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.shingles import Hasher, envelope_shingles, shingles
from oborona.policy.checks import CHECKS
from oborona.policy.checks.context import Context
from oborona.policy.decide import PARTIAL, decide
from oborona.policy.facts import Facts, early_facts, facts_of
from oborona.policy.known import Known, asked
from oborona.policy.load import Policy
from oborona.policy.ports import CounterReader, CounterWriter
from oborona.types import Action, Amounts, Envelope, Finding, Pieces, Stage, Verdict


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and all that led to it: what is logged, journaled, counted and explained."""

    envelope: Envelope
    message: Message
    pieces: Pieces
    facts: Facts
    verdict: Verdict
    policy: Policy
    faults: tuple[str, ...] = ()  # for the log: rules that failed, a store that did not answer


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What every scan of a process shares."""

    name: str  # authserv-id
    hasher: Hasher
    counters: CounterReader


async def scan(
    raw: bytes, envelope: Envelope, site: Site, policy: Policy, *, now: float, size: int = 0
) -> Scan:
    """Judge a whole message.

    Args:
        raw: the message, or its head where it was too large to be scanned whole.
        envelope: what the mail server told.
        site: the parts that all scans share.
        policy: the rules; one version for the whole scan.
        now: Unix seconds.
        size: bytes of the whole message; 0 = those of `raw`.

    Returns:
        The verdict with its evidence. A store that does not answer, or not for all, means the counts that are known, the finding `partial`
        and a fault, no exception.
    """
    message = parse(raw, truncated=size > len(raw))
    pieces = shingles(message, envelope, site.hasher)
    known, faults = await _known(site.counters, pieces, now, message.words)
    findings = [*message.findings, *_checked(message, envelope, site, now)]
    if faults:
        findings.append(Finding(PARTIAL, "counters"))
    facts = facts_of(
        message, envelope, findings, known, now=now, size=max(size, message.size), partial=bool(faults)
    )
    hits, failed = policy.compiled.run(facts, Stage.CONTENT)
    verdict = decide(
        hits, findings, spam_score=policy.verdict.spam_score, reject_score=policy.verdict.reject_score
    )
    return Scan(
        envelope=envelope,
        message=message,
        pieces=pieces,
        facts=facts,
        verdict=verdict,
        policy=policy,
        faults=(*faults, *failed),
    )


async def glance(
    envelope: Envelope, stage: Stage, site: Site, policy: Policy, *, now: float
) -> tuple[Verdict, tuple[str, ...]]:
    """Judge what is known before the content, by the rules of this stage and those before it.

    Returns:
        The verdict, reject only where the sum reached the reject score; and faults for the log.
    """
    known, faults = await _known(site.counters, envelope_shingles(envelope, site.hasher), now)
    hits, failed = policy.compiled.run(early_facts(envelope, known), stage)
    verdict = decide(hits, (), spam_score=policy.verdict.spam_score, reject_score=policy.verdict.reject_score)
    return verdict, (*faults, *failed)


def settle(pieces: Pieces, verdict: Verdict, counters: CounterWriter, *, now: float) -> None:
    """Count a message once its answer is given; one that was put off is counted when it comes again."""
    if verdict.action is not Action.TEMPFAIL:
        spam = verdict.action in (Action.SPAM, Action.REJECT)
        counters.add(pieces, Amounts(seen=1, spam=int(spam)), now)


async def _known(
    counters: CounterReader, pieces: Pieces, now: float, words: int = 0
) -> tuple[Known, tuple[str, ...]]:
    wanted = asked(pieces)
    try:
        return Known(wanted, await counters.read(wanted, now), words=words), ()
    except StorePartial as error:
        return Known(wanted, error.totals, words=words), (f"counters: {error}",)
    except StoreError as error:
        return Known(), (f"counters: {error}",)


def _checked(message: Message, envelope: Envelope, site: Site, now: float) -> list[Finding]:
    context = Context(message=message, envelope=envelope, site=site.name, now=now)
    return [finding for check in CHECKS if (finding := check(context)) is not None]
