"""The stages before the content: facts of client, sender and recipient in, one verdict out.

Cheapest first.

    local lists → RepIP → what DNS lists, SPF and iprev say → rules

A refusal ends it: a client on a local list is not looked up, and one that RepIP refuses waits for
no DNS.  Nothing here is counted as evidence: a refusal follows from evidence that is counted
elsewhere, and would reinforce itself (`oborona.reputation.address`).
"""

from __future__ import annotations

import msgspec

from oborona.authentication.proof import prove_sender
from oborona.message.shingles import ShingleType, envelope_shingles
from oborona.policy.accounting import read_counts
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.decision import TEMPERROR, decide, enforced_verdict
from oborona.policy.evidence import Inquiry, SenderEvidence
from oborona.policy.facts import Facts, with_values
from oborona.policy.facts.build import early_facts
from oborona.policy.history import REPIP_POOR, refusal
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction, is_own
from oborona.policy.local_list_match import match_local_lists
from oborona.policy.reputation_facts import client_standings, pin_address, pins_of, sender_standing
from oborona.policy.scan import ScanSite
from oborona.policy.stages import awaited_answers
from oborona.policy.verdict import Evaluator, VerdictGrounds, judge
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.karma import KarmaInputs, karma
from oborona.types import Action, Envelope, Finding, RuleHit, Stage, Verdict


class StageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer at a stage, and its reason."""

    verdict: Verdict
    wait_s: float = 0.0  # before the answer is given
    # of client and sender; None: a local list decided, and nothing was looked up
    karma: float | None = None
    faults: tuple[str, ...] = ()  # for the log


async def check_envelope(
    envelope: Envelope,
    stage: Stage,
    site: ScanSite,
    policy: Policy,
    inquiry: Inquiry,
    *,
    now: float,
) -> StageVerdict:
    """Judge what is known before the content, by the rules of this stage and those before it.

    Args:
        envelope: as far as it is known.
        stage: connect, sender or recipient.
        site: the parts that all scans share.
        policy: one version for the whole glance.
        inquiry: asks the DNS.
        now: Unix seconds.

    Returns:
        The verdict: reject where a list, RepIP or a sum of scores says so; tempfail where RepIP
        does; else accept.
    """
    listed = match_local_lists(policy.local_lists, envelope, stage)
    if listed is not None:
        return StageVerdict(
            verdict=enforced_verdict(
                _nothing(policy), listed, reject_score=policy.verdict.reject_score
            )
        )
    location = site.places.find(envelope.client.ip)
    pieces = envelope_shingles(envelope, site.hasher, location)
    shingles = shingles_to_read(pieces)
    counts, faults = await read_counts(
        site.counters,
        shingles,
        now,
        policy.compiled.timelines,
        direction(envelope),
        policy.compiled.across(direction(envelope)),
    )
    pinned = pins_of(shingles, site.pins, now)
    pin_address(counts, pinned)
    standings = client_standings(counts, pinned, own=is_own(envelope))
    wait_s = 0.0
    if stage is Stage.CONNECT and not is_own(envelope):
        await site.memory.look(site.counters, now)
        by_history, wait_s = _remembered(counts, envelope, policy, young=site.memory.young)
        if by_history is not None:
            return StageVerdict(
                verdict=by_history, faults=faults, karma=float(karma(standings).value)
            )
    awaited = awaited_answers(policy, stage)
    evidence = await inquiry.until(stage, envelope, policy, spf=awaited.spf, iprev=awaited.iprev)
    evidence = msgspec.structs.replace(evidence, location=location)
    facts = early_facts(envelope, counts, evidence, now=now)
    if stage is not Stage.CONNECT:
        facts, standings = await _with_sender(facts, standings, envelope, evidence, site, now)
    missing = [Finding(TEMPERROR, ", ".join(evidence.unanswered))] if evidence.unanswered else []
    grounds = VerdictGrounds(
        envelope=envelope, identity=evidence.identity, hits=evidence.hits, missing=missing
    )
    ruling = judge(facts, grounds, stage, Evaluator(policy))
    return StageVerdict(
        verdict=ruling.verdict,
        wait_s=wait_s,
        faults=(*faults, *ruling.failed),
        karma=float(karma(standings).value),
    )


async def _with_sender(
    facts: Facts,
    standings: KarmaInputs,
    envelope: Envelope,
    evidence: SenderEvidence,
    site: ScanSite,
    now: float,
) -> tuple[Facts, KarmaInputs]:
    """Return facts and standings with what is remembered of who was proved: the login, or MAIL FROM
    where SPF passed; a store away knows nothing.
    """
    sender = prove_sender(evidence.identity, envelope)
    of = (
        (ShingleType.ACCOUNT, sender.account)
        if sender.account
        else (ShingleType.PROVED_SENDER, sender.sender)
    )
    if not of[1]:
        return facts, standings
    counts, _ = await read_counts(
        site.counters, (site.hasher.shingle(*of),), now, prefix=direction(envelope)
    )
    user = sender_standing(counts, sender, pins_of(counts.asked, site.pins, now))
    answered = with_values(
        facts, sender_proved=sender.sender, repuser_flag=user.flag.value, repuser_share=user.share
    )
    return answered, msgspec.structs.replace(
        standings, **{"account" if sender.account else "sender": user}
    )


def _remembered(
    counts: MessageCounts, envelope: Envelope, policy: Policy, *, young: bool
) -> tuple[Verdict | None, float]:
    """Return what the counters' memory of the address alone decides, and how long it makes a client
    wait; a young one decides nothing.
    """
    refused = refusal(counts, envelope, policy, young=young)
    if refused is not None:
        return _by_history(Action.REJECT, refused, policy), 0.0
    if young and counts.pinned is None:
        return None, 0.0
    repip, table = counts.repip(), policy.repip
    if repip.flag in (ReputationFlag.BAD, ReputationFlag.POOR):
        if table.poor == "tempfail":
            hit = RuleHit(name=REPIP_POOR, score=0.0, say=repip.say)
            return _by_history(Action.TEMPFAIL, hit, policy), 0.0
        if table.poor == "slow":
            return None, table.slow_s
    return None, 0.0


def _by_history(action: Action, hit: RuleHit, policy: Policy) -> Verdict:
    return Verdict(
        action=action,
        score=hit.score,
        line=policy.verdict.reject_score,
        decided_by=hit.name,
        rules=(hit,),
    )


def _nothing(policy: Policy) -> Verdict:
    return decide(
        (), (), spam_score=policy.verdict.spam_score, reject_score=policy.verdict.reject_score
    )
