"""Messages judged a second time, many at once: the facts of then, the counts, reputations and lists
of now.

    counts of all their pieces in one call → a glance: what has hardly moved is left → judged → copy
    by copy

The text is in the mailbox and not in the journal, so what needs it stays as it was found then:
phrases, the content model's opinion.  Entities of new signatures are found by their shingles
(`signed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.evidence import unpack_evidence
from oborona.policy.counts import MessageCounts, timelines_to_read
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
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
from oborona.recheck.facts_today import pieces_of, with_counts
from oborona.recheck.moves import Move
from oborona.recheck.rejudgement import Rejudged, Rejudger
from oborona.reputation.personal import NOBODY
from oborona.types import Action, Shingle, Stage

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
        asked: what each rule of a version of the policy asked (`recheck.asks`).
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
        self._read: dict[Shingle, list[list[int]]] = {}
        self._read_at = float("nan")

    async def worth(self, briefs: Sequence[MessageBrief], now: float) -> list[int]:
        """Return the ids of the messages that are worth a whole look.

        Args:
            briefs: of messages.
            now: Unix seconds.

        Raises:
            StoreError: the counters can't be read.
        """
        found: list[int] = []
        waiting: list[tuple[MessageBrief, tuple[Shingle, ...]]] = []
        wanted: dict[Shingle, None] = {}
        kept = {}
        for one in briefs:
            if one.policy_version != self.policy.version:
                found.append(one.id)
                continue
            if one.kept is None:
                continue
            try:
                kept[one.id] = unpack_evidence(one.kept)
            except ValueError:
                continue  # a damaged row: whoever asks for it is told
            pieces = tuple(
                dict.fromkeys((*one.shingles, *(Shingle(*each) for each in kept[one.id].distinct)))
            )
            waiting.append((one, pieces))
            wanted.update(dict.fromkeys(pieces))
        counts = await self._counts(tuple(wanted), now)
        found += [one.id for one, pieces in waiting if counts_moved(kept[one.id], pieces, counts)]
        return found

    async def again(
        self, taken: Sequence[RecheckCandidate], cause: RecheckCause, now: float
    ) -> list[RecheckResult]:
        """Return what the second look at some messages says, in their order.

        Args:
            taken: messages of the journal.
            cause: why.
            now: Unix seconds.

        Raises:
            StoreError: the counters, or what people did, can't be read.
        """
        await self._site.memory.look(self._site.counters, now)
        pieces = [pieces_of(one.entry, one.late) for one in taken]
        counts = await self._counts(
            tuple(dict.fromkeys(one for some in pieces for one in some)), now
        )
        return [
            await self._second(one, some, counts, cause, now)
            for one, some in zip(taken, pieces, strict=True)
        ]

    async def _second(
        self,
        taken: RecheckCandidate,
        pieces: tuple[Shingle, ...],
        counts: Counts,
        cause: RecheckCause,
        now: float,
    ) -> RecheckResult:
        entry = _whole(taken)
        before = facts_then(entry)
        if taken.late is not None:
            entry = with_late(entry, taken.late)
        then = facts_then(entry)
        if then is None or entry.kept is None:
            return RecheckResult(entry=entry, cause=cause, why_not=why_not(entry))
        known = await self._known(pieces, counts, now)
        unsigned = then
        entry, then = self._signed.applied(entry, then, pieces, now)
        facts = await with_counts(then, known, pieces, self._site, now)
        asked = self._asked.get(entry.policy_version)
        looked = _Look(entry, unsigned, then, known, pieces, asked, cause, now)
        again = self._judged(entry, asked, facts)
        if again is None:
            return RecheckResult(entry=entry, cause=cause, why_not=why_not(entry))
        found = await self._by_copies(
            RecheckResult(entry=entry, cause=cause, again=again), taken.went, again, looked
        )
        if not found.moves:
            return found
        # what spoke for it is forgotten, or against it
        if before is not None and counts_lost(before.known, known):
            return msgspec.structs.replace(found, moves=(), why_not=LOST)
        return msgspec.structs.replace(
            found, word=before is not None and complained_since(before.known, known)
        )

    def _judged(
        self, entry: JournalEntry, asked: Mapping[str, str] | None, facts: Facts
    ) -> Rejudged | None:
        """Judge a message by what is known now; a memory that is young now refuses nobody."""
        young = self._site.memory.young
        return self._judge.judge(by_site(entry), asked, facts, stage=Stage.RECHECK, young=young)

    async def _by_copies(
        self, found: RecheckResult, went: Sequence[CopyDelivery], again: Rejudged, looked: _Look
    ) -> RecheckResult:
        entry = found.entry
        if entry.verdict not in PASSED or not entry.recipients:
            return found
        filed = entry.verdict is Action.SPAM or any(one.spam for one in went)
        if not filed and found.cause in _AGAINST and not may_move(again, filed=False):
            return found  # most messages: nobody need be asked
        people = [
            await self._site.persons.of(one) if place < MOST_ASKED else NOBODY
            for place, one in enumerate(entry.recipients)
        ]
        moves, stays = decide_copies(
            entry,
            went,
            again,
            self.policy,
            people=people,
            touched=self._people.touched(entry.id),
            made=self._made.of(entry.id),
            folders=self._folders,
            cause=found.cause,
            because=lambda made: self._because(looked, again, made),
            now=looked.now,
        )
        return msgspec.structs.replace(found, moves=moves, stays=stays)

    def _because(self, looked: _Look, again: Rejudged, made: Sequence[Move]) -> tuple[str, ...]:
        """Return what was learned that speaks for a message that is filed.

        Nothing where that alone does not let it in.
        """
        entry, then, known, cause = looked.entry, looked.then, looked.known, looked.cause
        pinned = pins_of(looked.pieces, self._site.pins, looked.now)
        if made:
            return reasons_of_ours(
                entry, then.known, known, again, self.policy, made, pinned=pinned, cause=cause
            )
        facts = with_learned(then, known, looked.pieces, self._site, looked.now, cause=cause)
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

    async def _counts(self, wanted: tuple[Shingle, ...], now: float) -> Counts:
        """Return counts; those that the glance of the same moment has read are not read again."""
        if self._read_at != now or len(self._read) > MOST_READ:
            self._read_at, self._read = now, {}
        new = tuple(one for one in wanted if one not in self._read)
        if new:
            self._read.update(zip(new, await self._site.counters.read(new, now), strict=True))
        return self._read

    async def _known(
        self, pieces: tuple[Shingle, ...], counts: Counts, now: float
    ) -> MessageCounts:
        totals = [counts[one] for one in pieces]
        types = self.policy.compiled.timelines
        wanted = timelines_to_read(pieces, totals, types) if types else ()
        if not wanted:
            return MessageCounts(pieces, totals)
        lines: dict[int, list[object]] = {}
        for shingle, line in zip(
            wanted, await self._site.counters.timelines(wanted, now), strict=True
        ):
            lines.setdefault(shingle.type, []).append(line)
        return MessageCounts(pieces, totals, lines=lines)  # type: ignore[arg-type]


def _whole(taken: RecheckCandidate) -> JournalEntry:
    """Return a message with the counts that it was judged by."""
    if taken.kept is None:
        return taken.entry
    return msgspec.structs.replace(taken.entry, kept=unpack_evidence(taken.kept))


def with_late(entry: JournalEntry, late: LateFindings) -> JournalEntry:
    """Return a message as if what was found in it after its answer had been known before."""
    there = {one.name for one in entry.findings}
    kept = entry.kept
    if kept is not None:
        known = {hit.name for hit in kept.signatures}
        more = [
            hit for hit in late.rules if hit.name.startswith(OWN_PREFIX) and hit.name not in known
        ]
        kept = msgspec.structs.replace(kept, signatures=(*kept.signatures, *more))
    return msgspec.structs.replace(
        entry,
        facts=entry.facts | late.facts,
        findings=(*entry.findings, *(one for one in late.findings if one.name not in there)),
        shingles=(*entry.shingles, *late.shingles),
        rules=late.rules,
        kept=kept,
    )
