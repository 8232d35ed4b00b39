"""The content stage: one message with its envelope in, one verdict with all its evidence out.

Reads top to bottom: parse, look at pictures, authenticate, extract hashes, read the counters, find
signatures, run rules, decide, apply other engines; if the verdict depends on a picture, read it and
decide again (`rescan`).  Nothing is counted here: `policy.accounting` does that, after the answer.
Stores and answers of the DNS come as arguments; the same message, evidence, counts, policy and time
give the same verdict.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from oborona.authentication.proof import prove_sender
from oborona.message.model import Message
from oborona.message.parse import parse
from oborona.message.pictures.enrichment import enrich_message
from oborona.message.shingles import NOBODY, Hasher, shingles
from oborona.policy.accounting import read_counts
from oborona.policy.budget import HEAD_OCTETS, NoScanBudget, OverBudgetError, ScanProgress
from oborona.policy.checks import CHECKS
from oborona.policy.checks.context import CheckContext
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.decision import PARTIAL, TEMPERROR, UNFINISHED, with_findings
from oborona.policy.engines import EngineOpinion, NoOtherEngines, OtherEngines, PendingOpinions
from oborona.policy.evidence import Inquiry, SenderEvidence
from oborona.policy.facts import Facts
from oborona.policy.facts.build import facts_of
from oborona.policy.greylist import check_greylist
from oborona.policy.histories import Histories, Judgements, judge_histories
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction, is_own, own_name
from oborona.policy.local_list_match import not_counted
from oborona.policy.memory_age import MemoryAge, OldMemory
from oborona.policy.models.meaning import MeaningModel, NoMeaningModel, wants_meaning
from oborona.policy.models.opinion import UNTAUGHT, ContentOpinion
from oborona.policy.models.ports import ContentModel, FinalModel, NoModels
from oborona.policy.personal_list_match import (
    NoPersons,
    Persons,
    delivered_facts,
    mildest_verdict,
    personal_verdict,
    readers,
    unproved_allows,
)
from oborona.policy.pictures import UNREAD, NoPictures, waits_for_pictures
from oborona.policy.ports import CounterReader, GeoIpLookup, Pictures, PictureView
from oborona.policy.reputation_facts import (
    NOT_JUDGED,
    ReputationInputs,
    pin_address,
    pins_of,
    with_reputation,
)
from oborona.policy.signatures import SignatureBook, SignatureMatches, Signatures
from oborona.policy.signatures.model import SignatureKind
from oborona.policy.verdict import Evaluator, VerdictGrounds, judge
from oborona.reputation.geoip import NoGeoIp
from oborona.reputation.pins import NoPins, Pins
from oborona.types import (
    Action,
    CountedPieces,
    Envelope,
    Finding,
    ProvedIdentity,
    Shingle,
    Stage,
    Verdict,
)


class Sender(NamedTuple):
    """The proved sender of a message."""

    who: ProvedIdentity = NOBODY
    judgements: Judgements = NOT_JUDGED  # of their time-lines


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and all that led to it: what is logged, journaled, counted and explained."""

    envelope: Envelope
    message: Message
    evidence: SenderEvidence
    pieces: CountedPieces
    facts: Facts
    verdict: Verdict
    policy: Policy
    signatures: SignatureMatches = SignatureMatches()
    opinion: ContentOpinion = UNTAUGHT
    engines: tuple[EngineOpinion, ...] = ()  # what others say of it
    # where lists of its readers made another of it: what is counted
    site_verdict: Verdict | None = None
    behind: Sender = Sender()
    young: bool = False  # memory was: it refused nobody
    put_off: Shingle | None = None  # what is remembered of a greylisted message
    found: tuple[Finding, ...] = ()  # as its pictures were looked at
    faults: tuple[str, ...] = ()  # for the log: a store that did not answer
    failed: tuple[str, ...] = ()  # for the log: rules that failed

    @property
    def counted(self) -> Verdict:
        """The verdict that is counted: the site's, for what a reader's list says of a sender is
        their own.
        """
        return self.verdict if self.site_verdict is None else self.site_verdict


class ScanSite(msgspec.Struct, frozen=True, kw_only=True):
    """What every scan of a process shares."""

    name: str  # authserv-id
    hasher: Hasher
    counters: CounterReader
    regions: tuple[str, ...] = ()  # whose telephone numbers may stand without their country
    places: GeoIpLookup = NoGeoIp()
    pins: Pins = NoPins()
    histories: Histories = msgspec.field(default_factory=Histories)
    pictures: Pictures = NoPictures()
    signatures: Signatures = SignatureBook({})
    content: ContentModel = NoModels()
    final: FinalModel = NoModels()
    meanings: MeaningModel = NoMeaningModel()
    persons: Persons = NoPersons()
    engines: OtherEngines = NoOtherEngines()
    memory: MemoryAge = OldMemory()


async def scan(
    raw: bytes,
    envelope: Envelope,
    site: ScanSite,
    policy: Policy,
    inquiry: Inquiry,
    *,
    now: float,
    size: int = 0,
    course: ScanProgress | None = None,
) -> Scan:
    """Judge a whole message.

    Args:
        raw: the message, or its head where it was too large to be scanned whole.
        envelope: what the mail server told.
        site: the parts that all scans share.
        policy: the rules; one version for the whole scan.
        inquiry: asks the DNS.
        now: Unix seconds.
        size: bytes of the whole message; 0 = those of `raw`.
        course: has the budget, and keeps what is known for who waits no longer; None = it may take
            what it takes.

    Returns:
        The verdict with its evidence. One that used up its budget is the verdict on the message's
        head, with what was found of the whole by then and the finding `scan-unfinished`. A store
        that does not answer, or not for all, means the counts that are known, the finding `partial`
        and a fault, no exception; the DNS, the finding `temperror`; another engine, no opinion of
        it.

    Raises:
        OverBudgetError: the head took as much again.
    """
    asking = site.engines.ask(raw, envelope, max(size, len(raw)), policy)
    course = course or ScanProgress(NoScanBudget())
    try:
        return await _scanned(
            raw, envelope, site, policy, inquiry, asking, course, now=now, size=size
        )
    except OverBudgetError as spent:
        course.ended(Finding(UNFINISHED, str(spent)))
        size, raw = max(size, len(raw)), raw[:HEAD_OCTETS]
        return await _scanned(
            raw, envelope, site, policy, inquiry, asking, course, now=now, size=size
        )
    finally:
        if asking is not None:
            asking.cancel()


async def _scanned(
    raw: bytes,
    envelope: Envelope,
    site: ScanSite,
    policy: Policy,
    inquiry: Inquiry,
    asking: PendingOpinions | None,
    course: ScanProgress,
    *,
    now: float,
    size: int,
) -> Scan:
    message = parse(raw, truncated=size > len(raw), regions=site.regions, step=course.step)
    course.findings = message.findings
    course.step()
    view = PictureView(pictures=())
    if message.pictures or message.documents:
        view = await site.pictures.look((*message.pictures, *message.documents))
        message = enrich_message(message, view.pictures, site.regions)
    if course.evidence is None:
        evidence = await inquiry.whole(message, envelope, policy, truncated=size > len(raw))
        course.evidence = msgspec.structs.replace(
            evidence, location=site.places.find(envelope.client.ip)
        )
    evidence = course.evidence
    course.step()
    sender = prove_sender(
        evidence.identity,
        envelope,
        message.from_.address if message.from_ else "",
        message.from_domains,
    )
    pieces = shingles(
        message, envelope, site.hasher, evidence.identity.dkim_domains, evidence.location, sender
    )
    course.step()
    await site.memory.look(site.counters, now)
    counts, faults = await read_counts(
        site.counters,
        shingles_to_read(pieces),
        now,
        policy.compiled.timelines,
        direction(envelope),
        policy.compiled.across(direction(envelope)),
    )
    judgements, more = await judge_histories(
        site.counters,
        counts,
        sender,
        site.hasher,
        site.histories,
        now=now,
        prefix=direction(envelope),
    )
    faults += more
    if course.said is None:
        course.said = () if asking is None else await asking.said()
    result = _judged(
        message,
        envelope,
        site,
        policy,
        evidence,
        Sender(sender, judgements),
        pieces,
        counts,
        course,
        found=view.findings,
        faults=faults,
        now=now,
        size=max(size, message.size),
        said=course.said,
    )
    course.scan = result
    if message.pictures and waits_for_pictures(
        result.facts, result.verdict, policy.pictures, spam_score=policy.lines(envelope).spam_score
    ):
        view = await site.pictures.read(message.pictures)
        if not all(picture.read for picture in view.pictures):
            view = msgspec.structs.replace(view, findings=(*view.findings, Finding(UNREAD)))
        result = await rescan(result, view, site, inquiry, now=now, course=course)
    if wants_meaning(
        result.message, result.verdict, policy.meaning, spam_score=policy.lines(envelope).spam_score
    ):
        meaning = await site.meanings.read(result.message)
        if meaning is not None:
            unchanged = PictureView(pictures=result.message.pictures)
            result = await rescan(
                result, unchanged, site, inquiry, now=now, meaning=meaning, course=course
            )
    # of mail that leaves the mildest of its readers is no judge: one who allows its sender would
    # let it out to all others
    if not policy.outgoing.leaves(envelope):
        result = await _for_readers(result, site.persons, now)
    decided = result.site_verdict is not None  # by who reads it: nothing is grey
    if decided or not policy.verdict.refuse:
        return result
    put_off = await check_greylist(
        result.verdict,
        envelope,
        result.evidence,
        result.facts.known,
        counters=site.counters,
        hasher=site.hasher,
        table=policy.greylist,
        now=now,
    )
    if put_off is None:
        return result
    return msgspec.structs.replace(result, verdict=put_off.verdict, put_off=put_off.shingle)


async def _for_readers(result: Scan, persons: Persons, now: float) -> Scan:
    """Return the verdict as the lists of its readers have it; of most messages nobody has any."""
    people = await readers(result.envelope.recipients, persons)
    if not people:
        return result
    policy = result.policy
    message = delivered_facts(
        result.facts,
        result.behind.who,
        result.pieces.shingles,
        result.verdict,
        spam_score=policy.verdict.spam_score,
        reject_score=policy.verdict.reject_score,
        lists=[entry.name for entry in policy.local_lists.lists],
    )
    personal = mildest_verdict(message, people, now)
    verdict = result.verdict if personal is None else personal_verdict(result.verdict, personal)
    if verdict.action is not Action.ACCEPT:
        reason = unproved_allows(message, people, now)
        identity, envelope = result.evidence.identity, result.envelope
        verdict = with_findings(
            verdict, (not_counted(has, subject, identity, envelope) for has, subject in reason)
        )
    site_verdict = None if personal is None else result.verdict
    return msgspec.structs.replace(result, verdict=verdict, site_verdict=site_verdict)


async def rescan(
    result: Scan,
    view: PictureView,
    site: ScanSite,
    inquiry: Inquiry,
    *,
    now: float,
    stage: Stage = Stage.CONTENT,
    meaning: float | None = None,
    course: ScanProgress | None = None,
) -> Scan:
    """Judge a message again, of which more has been seen since.

    Only what is new is asked for: of the pieces that were there the counts stay those of the first
    time, which do not hold the message itself.

    Args:
        result: of the first time.
        view: its pictures, and what was found as they were looked at.
        site: as of the first time.
        inquiry: asks the DNS about what is new.
        now: Unix seconds, of this moment.
        stage: recheck, once the message was answered: rules of that stage run, too.
        meaning: what was found out of its text; None = no more than before.
        course: of the scan that this is part of; None = it is part of none.

    Raises:
        OverBudgetError: as the budget of that scan has it.
    """
    before, envelope = result.message, result.envelope
    message, evidence = enrich_message(before, view.pictures, site.regions), result.evidence
    if (message.links, message.addresses) != (before.links, before.addresses):
        evidence = await inquiry.again(evidence, message, envelope, result.policy)
    pieces = shingles(
        message,
        envelope,
        site.hasher,
        evidence.identity.dkim_domains,
        evidence.location,
        result.behind.who,
    )
    earlier = frozenset(shingles_to_read(result.pieces))
    new = tuple(shingle for shingle in shingles_to_read(pieces) if shingle not in earlier)
    counts, faults = await read_counts(
        site.counters,
        new,
        now,
        result.policy.compiled.timelines,
        direction(envelope),
        result.policy.compiled.across(direction(envelope)),
    )
    names = {finding.name for finding in result.found}
    return _judged(
        message,
        envelope,
        site,
        result.policy,
        evidence,
        result.behind,
        pieces,
        result.facts.known.joined(counts),
        course or ScanProgress(NoScanBudget()),
        found=(*result.found, *(finding for finding in view.findings if finding.name not in names)),
        faults=(*result.faults, *faults),
        now=now,
        size=result.facts.message_size,
        stage=stage,
        said=result.engines,
        meaning=result.opinion.meaning if meaning is None else meaning,
    )


def _judged(
    message: Message,
    envelope: Envelope,
    site: ScanSite,
    policy: Policy,
    evidence: SenderEvidence,
    behind: Sender,
    pieces: CountedPieces,
    counts: MessageCounts,
    course: ScanProgress,
    *,
    found: tuple[Finding, ...],
    faults: tuple[str, ...],
    now: float,
    size: int,
    stage: Stage = Stage.CONTENT,
    said: tuple[EngineOpinion, ...] = (),
    meaning: float | None = None,
) -> Scan:
    """Return the verdict on all that was learned, with the facts that it rests on: pure."""
    findings = course.found(
        [*message.findings, *_checked(message, envelope, site, policy, now), *found]
    )
    course.step()
    missing = [Finding(PARTIAL, "counters")] if faults else []
    if evidence.unanswered:
        missing.append(Finding(TEMPERROR, ", ".join(evidence.unanswered)))
    signatures = course.matched(site.signatures.under(policy.signatures).find(message, now))
    course.step()
    opinion = site.content.read(message, envelope)
    if meaning is not None:
        opinion = msgspec.structs.replace(opinion, meaning=meaning)
    # a store that is away was asked nothing
    pinned = pins_of(counts.asked or shingles_to_read(pieces), site.pins, now)
    pin_address(counts, pinned)
    facts = facts_of(
        message,
        envelope,
        [*findings, *missing],
        counts,
        evidence,
        signatures,
        opinion,
        now=now,
        size=size,
        partial=bool(faults),
    )
    everybodys, own = _everybodys(signatures, policy.karma.shared), is_own(envelope)
    facts = with_reputation(
        facts, ReputationInputs(behind.who, site.hasher, everybodys, pinned, own, behind.judgements)
    )
    course.step()
    ruling = judge(
        facts,
        VerdictGrounds(
            envelope=envelope,
            identity=evidence.identity,
            author=message.from_.address if message.from_ else "",
            hits=[*evidence.hits, *signatures.hits],
            findings=findings,
            missing=missing,
            engines=said,
            young=site.memory.young,
        ),
        stage,
        Evaluator(policy, site.final),
        step=course.step,
    )
    return Scan(
        envelope=envelope,
        message=message,
        evidence=evidence,
        pieces=pieces,
        facts=ruling.facts,
        verdict=ruling.verdict,
        policy=policy,
        signatures=signatures,
        opinion=opinion,
        engines=said,
        behind=behind,
        young=site.memory.young,
        found=found,
        faults=faults,
        failed=ruling.failed,
    )


def _everybodys(signatures: SignatureMatches, lists: Collection[str]) -> frozenset[str]:
    """Return the domains that marks of these lists found in a message."""
    marks = (
        signature
        for signature in signatures.signatures
        if signature.kind in (SignatureKind.DOMAIN, SignatureKind.HOST)
    )
    return frozenset(entity.value for entity in marks if entity.id.partition(":")[0] in lists)


def _checked(
    message: Message, envelope: Envelope, site: ScanSite, policy: Policy, now: float
) -> list[Finding]:
    context = CheckContext(
        message=message,
        envelope=envelope,
        site=own_name(site.name, envelope.server),
        now=now,
        brands=policy.brands,
        people=policy.people,
    )
    return [finding for check in CHECKS if (finding := check(context)) is not None]
