"""Judges messages a second time, many at once: the facts of delivery, with today's counts,
reputations and lists.

    counts of all their hashes in one call → prefilter: what has hardly moved is left → judged →
    copy by copy

The journal does not have the text, so results that need it stay as they were: phrases, the content
model's opinion.  Entities of new signatures are found by their shingles (`signed`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.evidence import unpack_evidence
from oborona.policy.counts import MessageCounts, timelines_to_read
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.local_clients import direction_of_pieces, opposite
from oborona.policy.personal_list_match import MOST_ASKED
from oborona.policy.reputation_facts import pins_of
from oborona.policy.scan import ScanSite
from oborona.policy.signatures.finder import OWN_PREFIX
from oborona.recheck.engine.copies import PASSED, by_site, decide_copies, may_move
from oborona.recheck.engine.learned_counts import with_learned
from oborona.recheck.engine.model import (
    DecidedMoves,
    MailboxFolders,
    MessageBrief,
    ReaderActions,
    RecheckCandidate,
    RecheckCause,
    RecheckResult,
)
from oborona.recheck.engine.pardon_reasons import reasons, reasons_of_ours
from oborona.recheck.engine.prefilter import complained_since, counts_lost, counts_moved
from oborona.recheck.engine.signature_changes import SignatureChanges
from oborona.recheck.facts_at_delivery import facts_then, why_not
from oborona.recheck.facts_today import direction_of, pieces_of, with_counts
from oborona.recheck.moves import Move
from oborona.recheck.rejudgement import Rejudged, Rejudger
from oborona.reputation.personal import NOBODY
from oborona.types import Action, CounterPrefix, Shingle, Stage

MOST_READ: Final = 20_000  # pieces whose counts are kept for a moment
AT_ONCE: Final = 32  # messages whose counts are read in one call: some 2,000 shingles
LOST: Final = "counts were lost since it was judged"

_AGAINST: Final = frozenset({RecheckCause.WORD, RecheckCause.CLOCK, RecheckCause.LATE})
"""Causes that bring nothing back that was moved."""

Counts = Mapping[Shingle, list[list[int]]]


class _Look(NamedTuple):
    """What one look at a message rests on."""

    entry: JournalEntry  # with the signatures of now
    before: Facts  # of then
    then: Facts  # of then, with the signatures of now
    known: MessageCounts  # counts of now
    pieces: tuple[Shingle, ...]
    asked: Mapping[str, str] | None
    cause: RecheckCause
    now: float


class Rescorer:
    """Judges messages a second time.

    Args:
        site: whose counters, persons, pins and final model are asked.
        policy: in force.
        asked: what each rule of a version of the policy asked (`recheck.rule_fingerprints`).
        people: what persons did with messages.
        made: the moves so far.
        folders: of the site.
        signed: the signatures in force.
    """

    def __init__(
        self,
        site: ScanSite,
        policy: Policy,
        *,
        asked: Mapping[str, Mapping[str, str]],
        people: ReaderActions,
        made: DecidedMoves,
        folders: MailboxFolders,
        signed: SignatureChanges | None = None,
    ) -> None:
        self.policy = policy
        self._site = site
        self._asked = asked
        self._people = people
        self._made = made
        self._folders = folders
        self._signed = signed or SignatureChanges({}, site.hasher)
        self._judge = Rejudger(policy, site.final)
        self._read: dict[CounterPrefix, dict[Shingle, list[list[int]]]] = {}
        self._read_at = float("nan")

    async def worth(self, briefs: Sequence[MessageBrief], now: float) -> list[int]:
        """Return the ids of the messages that are worth a whole look.

        Args:
            briefs: of messages.
            now: Unix seconds.

        Raises:
            StoreError: the counters can't be read.
        """
        moved: list[int] = []
        waiting: list[tuple[MessageBrief, tuple[Shingle, ...]]] = []
        shingles = defaultdict[CounterPrefix, dict[Shingle, None]](dict)
        evidence = {}
        for brief in briefs:
            if brief.policy_version != self.policy.version:
                moved.append(brief.id)
                continue
            if brief.kept is None:
                continue
            try:
                evidence[brief.id] = unpack_evidence(brief.kept)
            except ValueError:
                continue  # a damaged row: whoever asks for it is told
            pieces = tuple(
                dict.fromkeys(
                    (*brief.shingles, *(Shingle(*pair) for pair in evidence[brief.id].distinct))
                )
            )
            waiting.append((brief, pieces))
            shingles[direction_of_pieces(pieces)].update(dict.fromkeys(pieces))
        counts = {
            prefix: await self._counts(tuple(of_direction), now, prefix)
            for prefix, of_direction in shingles.items()
        }
        moved += [
            brief.id
            for brief, pieces in waiting
            if counts_moved(evidence[brief.id], pieces, counts[direction_of_pieces(pieces)])
        ]
        return moved

    async def again(
        self, candidates: Sequence[RecheckCandidate], cause: RecheckCause, now: float
    ) -> list[RecheckResult]:
        """Return what the second look at some messages says, in their order.

        Args:
            candidates: messages of the journal.
            cause: why.
            now: Unix seconds.

        Raises:
            StoreError: the counters, or what people did, can't be read.
        """
        await self._site.memory.look(self._site.counters, now)
        pieces = [pieces_of(candidate.entry, candidate.late) for candidate in candidates]
        shingles = defaultdict[CounterPrefix, dict[Shingle, None]](dict)
        for candidate, some in zip(candidates, pieces, strict=True):
            shingles[direction_of(candidate.entry)].update(dict.fromkeys(some))
        counts = {
            prefix: await self._counts(tuple(of_direction), now, prefix)
            for prefix, of_direction in shingles.items()
        }
        return [
            await self._second(candidate, some, counts[direction_of(candidate.entry)], cause, now)
            for candidate, some in zip(candidates, pieces, strict=True)
        ]

    async def _second(
        self,
        candidate: RecheckCandidate,
        pieces: tuple[Shingle, ...],
        counts: Counts,
        cause: RecheckCause,
        now: float,
    ) -> RecheckResult:
        entry = _whole(candidate)
        before = then = facts_then(entry)
        if candidate.late is not None:
            entry = with_late(entry, candidate.late)
            then = facts_then(entry)
        if then is None or entry.kept is None:
            return RecheckResult(entry=entry, cause=cause, why_not=why_not(entry))
        counts_now = await self._message_counts(pieces, counts, now, direction_of(entry))
        unsigned = then
        entry, then = self._signed.applied(entry, then, pieces, now)
        facts = await with_counts(then, counts_now, pieces, self._site, now)
        fingerprints = self._asked.get(entry.policy_version)
        looked = _Look(entry, unsigned, then, counts_now, pieces, fingerprints, cause, now)
        rejudged = self._judged(entry, fingerprints, facts)
        if rejudged is None:
            return RecheckResult(entry=entry, cause=cause, why_not=why_not(entry))
        result = await self._by_copies(
            RecheckResult(entry=entry, cause=cause, again=rejudged),
            candidate.went,
            rejudged,
            looked,
        )
        if not result.moves:
            return result
        # what spoke for it is forgotten, or against it
        if before is not None and counts_lost(before.known, counts_now):
            return msgspec.structs.replace(result, moves=(), why_not=LOST)
        return msgspec.structs.replace(
            result, word=before is not None and complained_since(before.known, counts_now)
        )

    def _judged(
        self, entry: JournalEntry, fingerprints: Mapping[str, str] | None, facts: Facts
    ) -> Rejudged | None:
        """Judge a message by what is known now; a memory that is young now refuses nobody."""
        young = self._site.memory.young
        return self._judge.judge(
            by_site(entry), fingerprints, facts, stage=Stage.RECHECK, young=young
        )

    async def _by_copies(
        self, result: RecheckResult, went: Sequence[CopyDelivery], rejudged: Rejudged, looked: _Look
    ) -> RecheckResult:
        entry = result.entry
        if entry.verdict not in PASSED or not entry.recipients:
            return result
        filed = entry.verdict is Action.SPAM or any(delivery.spam for delivery in went)
        if not filed and result.cause in _AGAINST and not may_move(rejudged, filed=False):
            return result  # most messages: nobody need be asked
        people = [
            await self._site.persons.of(recipient) if place < MOST_ASKED else NOBODY
            for place, recipient in enumerate(entry.recipients)
        ]
        moves, stays = decide_copies(
            entry,
            went,
            rejudged,
            self.policy,
            people=people,
            touched=self._people.touched(entry.id),
            made=self._made.of(entry.id),
            folders=self._folders,
            cause=result.cause,
            because=lambda moves: self._because(looked, rejudged, moves),
            now=looked.now,
        )
        return msgspec.structs.replace(result, moves=moves, stays=stays)

    def _because(self, looked: _Look, rejudged: Rejudged, moves: Sequence[Move]) -> tuple[str, ...]:
        """Return what was learned that speaks for a message that is filed.

        Nothing where that alone does not let it in.
        """
        entry, then, counts, cause = looked.entry, looked.then, looked.known, looked.cause
        pinned = pins_of(looked.pieces, self._site.pins, looked.now)
        if moves:
            return reasons_of_ours(
                entry, then.known, counts, rejudged, self.policy, moves, pinned=pinned, cause=cause
            )
        facts = with_learned(then, counts, looked.pieces, self._site, looked.now, cause=cause)
        without = self._judged(entry, looked.asked, facts)
        if without is None or without.severest is not Action.ACCEPT:
            return ()
        return reasons(
            by_site(entry),
            looked.before,
            facts,
            without,
            self.policy,
            asked=looked.asked,
            asks=self._judge.asks,
            pinned=pinned,
            cause=cause,
        )

    async def _counts(
        self, shingles: tuple[Shingle, ...], now: float, prefix: CounterPrefix
    ) -> Counts:
        """Return counts; those that the glance of the same moment has read are not read again."""
        if self._read_at != now or sum(map(len, self._read.values())) > MOST_READ:
            self._read_at, self._read = now, {}
        known = self._read.setdefault(prefix, {})
        new = tuple([shingle for shingle in shingles if shingle not in known])
        if new:
            rows = await self._site.counters.read(new, now, prefix)
            known.update(zip(new, rows, strict=True))
        return known

    async def _message_counts(
        self, pieces: tuple[Shingle, ...], counts: Counts, now: float, prefix: CounterPrefix
    ) -> MessageCounts:
        known = await self._with_timelines(pieces, counts, now, prefix)
        types = self.policy.compiled.across(prefix)
        if types:
            asked = tuple(piece for piece in pieces if piece.type in types)
            other = await self._counts(asked, now, opposite(prefix))
            known.across = MessageCounts(asked, [other[piece] for piece in asked])
        return known

    async def _with_timelines(
        self, pieces: tuple[Shingle, ...], counts: Counts, now: float, prefix: CounterPrefix
    ) -> MessageCounts:
        totals = [counts[shingle] for shingle in pieces]
        types = self.policy.compiled.timelines
        timelines = timelines_to_read(pieces, totals, types) if types else ()
        if not timelines:
            return MessageCounts(pieces, totals)
        lines: dict[int, list[object]] = {}
        for shingle, line in zip(
            timelines,
            await self._site.counters.timelines(timelines, now, prefix),
            strict=True,
        ):
            lines.setdefault(shingle.type, []).append(line)
        return MessageCounts(pieces, totals, lines=lines)  # type: ignore[arg-type]


def _whole(candidate: RecheckCandidate) -> JournalEntry:
    """Return a message with the counts that it was judged by."""
    if candidate.kept is None:
        return candidate.entry
    return msgspec.structs.replace(candidate.entry, kept=unpack_evidence(candidate.kept))


def with_late(entry: JournalEntry, late: LateFindings) -> JournalEntry:
    """Return a message as if what was found in it after its answer had been known before."""
    names = {names.name for names in entry.findings}
    evidence = entry.kept
    if evidence is not None:
        names = {hit.name for hit in evidence.signatures}
        more = [
            hit for hit in late.rules if hit.name.startswith(OWN_PREFIX) and hit.name not in names
        ]
        evidence = msgspec.structs.replace(evidence, signatures=(*evidence.signatures, *more))
    return msgspec.structs.replace(
        entry,
        facts=entry.facts | late.facts,
        findings=(
            *entry.findings,
            *(finding for finding in late.findings if finding.name not in names),
        ),
        shingles=(*entry.shingles, *late.shingles),
        rules=late.rules,
        kept=evidence,
    )
