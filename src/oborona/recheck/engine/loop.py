"""The main loop of the recheck: changes and the clock in, moves out.

In one event loop, some messages at a time.

    changes    → jobs → the newest messages that carry them (index) ┐
    late finds                                                      ├→ prefilter → judged again →
    the clock  → messages whose time has come (journal)             ┘  runaway? → decided

One step in four is the clock's.  After each step the loop rests, so that it takes no more than its
share of a core.  If a store can't be read, the loop logs that once and repeats the step later:
nothing is skipped.  It adds nothing to the counters: they have the reports by now, and a verdict
that rests on those would count them a second time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from oborona.errors import StoreError
from oborona.ident import first_id_at, to_text
from oborona.metrics import Counter, Gauge
from oborona.recheck.engine.clock import RecheckClock, name_of
from oborona.recheck.engine.delivered_messages import DeliveredMessages
from oborona.recheck.engine.limits import RecheckLimits
from oborona.recheck.engine.model import MessageBrief, RecheckCandidate, RecheckCause, RecheckResult
from oborona.recheck.engine.rescorer import AT_ONCE, Rescorer
from oborona.recheck.engine.runaway import HOUR_S, RunawayGuard
from oborona.recheck.engine.work_queue import MOST_PIECES, RecheckQueue
from oborona.recheck.moves import MoveDecision, MoveStore
from oborona.types import Shingle

FOUND_AT_ONCE: Final = 64  # messages of one step
CLOCK_AT_ONCE: Final = 200  # of one step of the clock, most of which end with the glance
ECHOES_S: Final = (0.5, 2.0)  # after a change, for counts that were on their way
CLOCK_TURN: Final = 4  # of so many steps one is the clock's
LATE: Final = "late"  # name of the place in what was found late
ALLOWED: Final = "allowed"  # name of the time until which an admin lets everything be moved
SAVE_S: Final = 5.0  # between writes of how far we are, while messages are looked at
UNCHANGED_S: Final = 60.0  # the same, while the clock's places alone move
RESUMED_S: Final = 3600.0  # that an admin's word holds
# where there is nothing to do: so late the clock's looks may be; whoever adds a change wakes it
IDLE_S: Final = 5.0
PAUSED_S: Final = 0.5  # while moves have stopped, or nobody can judge
MOST_ECHOES: Final = 2000  # beyond, the clock finds what they would have
PASSED_S: Final = 10.0  # that the number of messages of the last hour is good for
ARRIVED_AT_ONCE: Final = 10  # looks at the journal in one step
MOST_LATE: Final = 1000  # that wait; the others are in the journal
_GLANCED: Final = frozenset({RecheckCause.WORD, RecheckCause.PARDON})

MESSAGES: Final = Counter(
    "oborona_recheck_messages",
    "Delivered messages that were rechecked, by outcome; glanced: a quick check was enough, as "
    "for most; unjudged: nothing can be"
    " said; failed: a fault; decided: copies that are to be moved.",
    ("outcome",),
)
WAITING: Final = Gauge(
    "oborona_recheck_waiting", "Changes whose messages are not all looked at.", ()
)
PAUSED: Final = Gauge(
    "oborona_recheck_paused", "1 while moves have stopped until an admin says so.", ()
)

log = logging.getLogger("oborona.recheck")


class PieceLookup(Protocol):
    """The index from hashes to messages."""

    def find(
        self, shingles: Sequence[Shingle], *, since: float, before: int | None = None, most: int
    ) -> list[int]:
        """Return the ids of messages that carry any of some pieces, newest first."""
        ...


class RecheckEngine:
    """The recheck of a site.

    Args:
        journal: of delivered messages.
        index: of their pieces.
        moves: this one's own access to them.
        rescorer: returns who judges now; None while nobody can.
        limits: as set.
        asked: gets what each rule of a version asked, as it is read.
        stopped: is told why moves have stopped.
        decided: is told of messages whose moves were decided.
        clock: Unix seconds.
    """

    def __init__(
        self,
        *,
        journal: DeliveredMessages,
        index: PieceLookup,
        moves: MoveStore,
        rescorer: Callable[[], Rescorer | None],
        limits: RecheckLimits,
        asked: dict[str, Mapping[str, str]],
        stopped: Callable[[str], Awaitable[None]],
        decided: Callable[[Sequence[RecheckResult]], Awaitable[None]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._journal = journal
        self._index = index
        self._moves = moves
        self._rescorer = rescorer
        self._limits = limits
        self._asked = asked
        self._stopped = stopped
        self._decided = decided
        self._clock = clock
        self._work = RecheckQueue()
        self._late: deque[int] = deque()
        self._echoes: list[tuple[float, RecheckCause, tuple[Shingle, ...]]] = []
        self._runaway = RunawayGuard(share=limits.runaway_share, least=limits.runaway_messages)
        self._times: RecheckClock | None = None
        self._late_place = 0
        self._steps = 0
        self._saved_at = 0.0
        self._looked = True  # at messages, since that
        self._passed_at = float("-inf")
        self._passed_last = 0  # messages of the last hour
        self._paused = False
        WAITING.set_function(lambda: {(): self.waiting})
        PAUSED.set_function(lambda: {(): self._paused})

    @property
    def waiting(self) -> int:
        """Changes whose messages are not yet all looked at."""
        return len(self._work) + len(self._echoes) + bool(self._late)

    @property
    def paused(self) -> bool:
        """Whether moves have stopped until an admin says so."""
        return self._paused

    async def begin(self) -> None:
        """Take up where the last process was.

        Raises:
            StoreError: that can't be read.
        """
        names = [name_of(delay) for delay in self._limits.looks_s]
        places = await asyncio.to_thread(
            lambda: {delay: self._moves.cursor(delay) for delay in names}
        )
        self._times = RecheckClock(self._limits.looks_s, places, self._clock())
        self._late_place = await asyncio.to_thread(self._moves.cursor, LATE, -1)
        if self._late_place < 0:
            self._late_place = await self._journal.last_place()
        self._paused = await asyncio.to_thread(self._moves.paused) is not None
        await self._remember()
        await self._allow()

    async def _remember(self) -> None:
        """Count on in what the last process decided within the hour: what runs away is not let run
        again by a new start.
        """
        before = await asyncio.to_thread(self._moves.decided, self._clock() - HOUR_S)
        for start in range(0, len(before), AT_ONCE):
            some = before[start : start + AT_ONCE]
            pieces = {
                brief.id: brief.shingles
                for brief in await self._journal.briefs_of([brief.message for brief in some])
            }
            for brief in some:
                self._runaway.decided(
                    brief.message, pieces.get(brief.message, ()), word=brief.word, now=brief.time
                )

    def add(
        self, cause: RecheckCause, pieces: Iterable[Shingle] = (), *, echo: bool = False
    ) -> None:
        """Take a change up.

        Args:
            cause: what changed.
            pieces: messages that carry any of these are looked at; none = all messages.
            echo: counts of it may still be on their way: look again soon.
        """
        pieces = tuple(pieces)
        for some in [
            pieces[at : at + MOST_PIECES] for at in range(0, len(pieces), MOST_PIECES)
        ] or [()]:
            self._add(cause, some, echo=echo)

    def _add(self, cause: RecheckCause, pieces: tuple[Shingle, ...], *, echo: bool) -> None:
        self._work.add(cause, pieces)
        if echo and len(self._echoes) < MOST_ECHOES:
            now = self._clock()
            self._echoes += [(now + delay, cause, pieces) for delay in ECHOES_S]
            self._echoes.sort(key=lambda echo: echo[0])

    async def step(self) -> float:
        """Make one step; return for how many seconds to rest.

        Raises:
            StoreError: a store can't be used: the step is made again by a later call.
        """
        began, now = time.process_time(), self._clock()
        await self._look_at_pause()
        await self._note()
        await self._follow_late()
        while self._echoes and self._echoes[0][0] <= now:
            _, cause, pieces = self._echoes.pop(0)
            self._work.add(cause, pieces)
        rescorer = None if self._paused else self._rescorer()
        if rescorer is None:
            return PAUSED_S
        self._steps += 1
        turns = (
            (self._by_clock, self._by_change)
            if self._steps % CLOCK_TURN == 0
            else (self._by_change, self._by_clock)
        )
        for turn in turns:
            if await turn(rescorer, now):
                self._looked = True
                busy_s = time.process_time() - began
                return min(busy_s * (1 / self._limits.busy_share - 1), 1.0)
        return min(IDLE_S, max(0.0, self._echoes[0][0] - now)) if self._echoes else IDLE_S

    async def _by_change(self, rescorer: Rescorer, now: float) -> bool:
        """Look at messages that a change may concern; return whether there were any."""
        if self._late:
            ids = [self._late[at] for at in range(min(len(self._late), FOUND_AT_ONCE))]
            await self._look(rescorer, ids, RecheckCause.LATE, now)
            for _ in ids:
                self._late.popleft()
            return True
        step = self._work.next()
        if step is None:
            return False
        since, job = now - self._limits.window_s, step.job
        if job.pieces:
            pieces = tuple(job.pieces)
            ids = await asyncio.to_thread(
                lambda: self._index.find(
                    pieces, since=since, before=step.before, most=FOUND_AT_ONCE
                )
            )
        else:
            ids = await self._journal.newest(first_id_at(since), step.before, FOUND_AT_ONCE)
        pending = [message for message in ids if message >= step.until]
        if job.cause in _GLANCED:
            pending = await self._worth(rescorer, pending, now)
        if job.cause is RecheckCause.WORD:
            pending = await asyncio.to_thread(self._undecided, pending)
        await self._look(rescorer, pending, job.cause, now)
        self._work.came(step, ids[-1] if len(ids) == FOUND_AT_ONCE else None)
        return True

    async def _by_clock(self, rescorer: Rescorer, now: float) -> bool:
        """Look at messages whose time has come; return whether there were any."""
        assert self._times is not None
        any_due = False
        for _ in self._limits.looks_s:
            due = self._times.due(now)
            if due is None:
                return any_due
            briefs = await self._journal.briefs(due.after, due.before, CLOCK_AT_ONCE)
            for start in range(0, len(briefs), AT_ONCE):
                some = briefs[start : start + AT_ONCE]
                await self._look(
                    rescorer, await self._glance(rescorer, some, now), RecheckCause.CLOCK, now
                )
            self._times.came(due, briefs[-1].id if len(briefs) == CLOCK_AT_ONCE else None)
            if briefs:
                return True
        return any_due

    async def _worth(self, rescorer: Rescorer, ids: Sequence[int], now: float) -> list[int]:
        return await self._glance(rescorer, await self._journal.briefs_of(ids), now)

    async def _glance(
        self, rescorer: Rescorer, briefs: Sequence[MessageBrief], now: float
    ) -> list[int]:
        MESSAGES.inc("glanced", by=len(briefs))
        try:
            return await rescorer.worth(briefs, now)
        except StoreError:
            raise
        # the barrier: who can't be glanced at is judged again, and that has its own
        except Exception:
            log.exception("fault in a quick check, from id=%s on", to_text(briefs[0].id))
            return [brief.id for brief in briefs]

    def _undecided(self, ids: Sequence[int]) -> list[int]:
        return [message for message in ids if not self._moves.of(message)]

    async def _look(
        self, rescorer: Rescorer, ids: Sequence[int], cause: RecheckCause, now: float
    ) -> None:
        for start in range(0, len(ids), AT_ONCE):
            candidates = await self._journal.taken(ids[start : start + AT_ONCE])
            if any(candidate.entry.policy_version not in self._asked for candidate in candidates):
                self._asked.update(await self._journal.policies())
                for candidate in candidates:
                    self._asked.setdefault(candidate.entry.policy_version, {})
            await self._decide(await self._again(rescorer, candidates, cause, now), now)

    async def _again(
        self,
        rescorer: Rescorer,
        candidates: Sequence[RecheckCandidate],
        cause: RecheckCause,
        now: float,
    ) -> list[RecheckResult]:
        try:
            results = await rescorer.again(candidates, cause, now)
        except StoreError:
            raise
        except Exception:
            if len(candidates) == 1:  # the barrier: one message's fault is not the next one's
                log.exception("fault id=%s in the recheck", to_text(candidates[0].entry.id))
                MESSAGES.inc("failed")
                return []
            return [
                two
                for candidate in candidates
                for two in await self._again(rescorer, [candidate], cause, now)
            ]
        MESSAGES.inc("judged", by=sum(result.again is not None for result in results))
        MESSAGES.inc("unjudged", by=sum(result.again is None for result in results))
        return results

    async def _decide(self, results: Sequence[RecheckResult], now: float) -> None:
        """Write moves down; where they run away, everything stops before they can be made."""
        moving = [result for result in results if result.moves]
        if not moving:
            return
        for result in moving:
            self._runaway.decided(result.entry.id, result.entry.shingles, word=result.word, now=now)
        if not self._paused:
            why = self._runaway.runs(await self._passed(now), now)
            if why:
                await asyncio.to_thread(lambda: self._moves.pause(why, now=now))
                self._paused = True
                log.error("moves have stopped", extra={"fields": {"why": why}})
                await self._stopped(why)
        decisions = [replace(move, word=result.word) for result in moving for move in result.moves]
        new = await self._write_decisions(decisions, now)
        MESSAGES.inc("decided", by=len(new))
        if new:
            await self._decided(moving)

    async def _write_decisions(self, decisions: Sequence[MoveDecision], now: float) -> list[int]:
        """Write decisions down; return the ids of the new moves."""
        try:
            return await asyncio.to_thread(lambda: self._moves.decide(decisions, now=now))
        except StoreError:
            raise
        except Exception:
            # the barrier: a name that no store takes is not the next one's fault
            if len(decisions) == 1:
                log.exception(
                    "fault id=%s: its move can't be written down", to_text(decisions[0].message)
                )
                MESSAGES.inc("failed")
                return []
            return [
                new
                for decision in decisions
                for new in await self._write_decisions([decision], now)
            ]

    async def _passed(self, now: float) -> int:
        """Return how many messages passed in the last hour; counted every few seconds."""
        if abs(now - self._passed_at) >= PASSED_S:
            self._passed_at, self._passed_last = now, await self._journal.passed_since(now - HOUR_S)
        return self._passed_last

    async def _look_at_pause(self) -> None:
        """Go on where an admin said so."""
        if not self._paused:
            return
        if await asyncio.to_thread(self._moves.paused) is None:
            self._paused = False
            await self._allow()
            log.warning("moves go on")

    async def _allow(self) -> None:
        """Let everything be moved for as long as an admin said.

        Who gave moves up has not said so.
        """
        until = await asyncio.to_thread(self._moves.cursor, ALLOWED)
        if until > self._clock():
            self._runaway.allow(until)

    async def _follow_late(self) -> None:
        """Take up messages in which something was found after their answer."""
        for _ in range(ARRIVED_AT_ONCE):
            if len(self._late) >= MOST_LATE:
                return
            arrived = await self._journal.arrived(self._late_place)
            self._late += [message.id for message in arrived if message.late]
            if not arrived:
                return
            self._looked = True
            self._late_place = arrived[-1].place

    async def _note(self) -> None:
        """Write down how far we are, now and then; what is looked at twice by that does no harm."""
        save_s = SAVE_S if self._looked else UNCHANGED_S
        if time.monotonic() - self._saved_at < save_s or self._times is None:
            return
        self._looked = False
        self._saved_at = time.monotonic()
        places = self._times.places | ({} if self._late else {LATE: self._late_place})
        await asyncio.to_thread(self._save, places)

    def _save(self, places: Mapping[str, int]) -> None:
        with self._moves.transaction():
            for name, place in places.items():
                self._moves.set_cursor(name, place)
