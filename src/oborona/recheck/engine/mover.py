"""Makes the moves that were decided: written down as issued, sent to the mailboxes in batches,
settled by their answers.

A process that is killed leaves issued moves; they are made again first, and a mailbox reports a
move that was made already as done.  A mailbox that is busy or away is asked again, later each time,
until the message is too old to be moved.

In a site of several machines the others know what is to be moved before it is, and make what a
machine that died has left undone, where they reach its mailboxes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from oborona.ident import time_of_id, to_text
from oborona.metrics import Counter
from oborona.recheck.engine.model import SiteMoves
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult, SiteMailboxes
from oborona.recheck.moves import Move, MoveState, MoveStore

BATCH: Final = 32  # letters in one call to the mailboxes
CALLS: Final = 4  # at once
FIRST_RETRY_S: Final = 2.0  # after the first time that a mailbox was busy; doubled with each
LAST_RETRY_S: Final = 300.0
# a message that is younger and nowhere may still be on its way to the mailbox
ARRIVES_S: Final = 600.0
NO_MAILBOXES: Final = "no mailboxes are set"
STOOD_STILL: Final = "this machine stood still before it asked"
TOO_OLD: Final = "its mailbox could not be asked until it was too old"

MADE: Final = Counter(
    "oborona_recheck_moves",
    (
        "Copies whose mailbox was asked for a move, by what it said; seen, listed, person, "
        "gone: they stay; busy: asked again later."
    ),
    ("outcome",),
)

_Found = TypeVar("_Found")

log = logging.getLogger("oborona.recheck")

_STATES: Final[Mapping[MoveOutcome, MoveState]] = {
    MoveOutcome.MOVED: MoveState.DONE,
    MoveOutcome.SEEN: MoveState.KEPT,
    MoveOutcome.LISTED: MoveState.KEPT,
    MoveOutcome.PERSON: MoveState.KEPT,
    MoveOutcome.GONE: MoveState.KEPT,
    MoveOutcome.UNABLE: MoveState.FAILED,
}


_TOLD: Final[Mapping[MoveState, str]] = {
    MoveState.DONE: "moved",
    MoveState.KEPT: "not moved",
    MoveState.FAILED: "can't be moved",
}


class CopyMover:
    """Makes moves, in one event loop.

    Args:
        moves: this one's own access to them.
        mailboxes: None = none are set: what is decided is written down and not made.
        user: the mailbox user of a recipient's address.
        message_id: the Message-ID of a journal entry, empty where it is not known.
        window_s: a message older than this is not moved any more.
        site: what other machines know of the moves; None = this one is alone.
        clock: Unix seconds.
    """

    def __init__(
        self,
        moves: MoveStore,
        mailboxes: SiteMailboxes | None,
        *,
        user: Callable[[str], str],
        message_id: Callable[[int], Awaitable[str]],
        window_s: float,
        site: SiteMoves | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._moves = moves
        self._site = site
        self._mailboxes = mailboxes
        self._user = user
        self._message_id = message_id
        self._window_s = window_s
        self._clock = clock
        self._busy = ""  # said once
        # calls end at the same time, and the store is for one thread at a time
        self._one = asyncio.Lock()
        self._left = True  # something may be on its way that nobody makes
        self.first: float | None = None  # when the first move of all was asked for, Unix seconds

    async def resume(self) -> int:
        """Make what is on its way and made by nobody: somebody died, or could not write down what
        became of it; return how many.
        """
        left = await self._held(await self._stored(self._moves.issued))
        await self._make(left)
        # those that others may have taken wait for the site's log
        self._left = self._site is not None and not self._site.reachable
        return len(left)

    async def step(self) -> int:
        """Make the moves whose time has come, the newest messages first; return how many.

        While moves have stopped, only what an admin takes back is moved.
        """
        told = await self._shared()
        if self._left:
            await self.resume()
        now = self._clock()
        shared = self._site is None or self._site.reachable
        due = await self._stored(lambda: self._moves.due(now, BATCH * CALLS, shared=shared))
        if due and await self._stored(self._moves.paused) is not None:
            due = await self._stored(
                lambda: self._moves.due(now, BATCH * CALLS, back=True, shared=shared)
            )
        if not due:
            return told
        late = [
            move
            for move in due
            if move.undoes is None and now - time_of_id(move.message) > self._window_s
        ]
        await self._settle([(move, MoveState.FAILED, move.note or TOO_OLD) for move in late])
        left = await self._held([move for move in due if move not in late])
        going = await self._stored(
            lambda: set(self._moves.issue([move.id for move in left], now=now))
        )
        await self._make([move for move in left if move.id in going])
        if going:
            await self._follow()
        return told + len(late) + len(left)

    async def _shared(self) -> int:
        """Have the other machines know what is to be moved here; return how many moves are new to
        them.
        """
        site = self._site
        if site is None:
            return 0
        paused = await self._follow()
        if self._mailboxes is None or not site.reachable:
            return 0
        new = await self._stored(lambda: site.untold(back=paused))
        if not new:
            return 0
        told = [(move, await self._message_id(move.message)) for move in new]
        return await self._stored(lambda: site.tell(told))

    async def _follow(self) -> bool:
        """Follow what others know of the moves; return whether moves have stopped here."""
        paused = await self._stored(self._moves.paused) is not None
        site = self._site
        if site is not None:
            await self._stored(lambda: site.follow(paused=paused))
        return paused

    async def _held(self, moves: list[Move]) -> list[Move]:
        """Return those of some moves that no other machine makes."""
        site = self._site
        if site is None or self._mailboxes is None or not moves:
            return moves
        held = await self._stored(lambda: site.held(moves))
        return [move for move in moves if move.id in held]

    async def _stored(self, action: Callable[[], _Found]) -> _Found:
        """Do something with the store, in a thread; one thing at a time."""
        async with self._one:
            return await asyncio.to_thread(action)

    async def _make(self, moves: Sequence[Move]) -> None:
        """Ask the mailboxes; moves of one way together, a few calls at once.

        Raises:
            StoreError: what became of some can't be written down; they are on their way, and made
                again by a later step.
        """
        ways: dict[tuple[str, str, bool], list[Move]] = {}
        for move in moves:
            ways.setdefault((move.source, move.target, move.undoes is not None), []).append(move)
        calls = [
            (way, some[start : start + BATCH])
            for way, some in ways.items()
            for start in range(0, len(some), BATCH)
        ]
        for start in range(0, len(calls), CALLS):
            some_calls = [self._call(way, some) for way, some in calls[start : start + CALLS]]
            for came in await asyncio.gather(*some_calls, return_exceptions=True):
                if came is not None:
                    self._left = True
                    raise came

    async def _call(self, way: tuple[str, str, bool], moves: Sequence[Move]) -> None:
        source, target, force = way
        if self._mailboxes is None:
            await self._settle([(move, MoveState.KEPT, NO_MAILBOXES) for move in moves])
            return
        letters = [await self._letter(move) for move in moves]
        if self._site is not None and not self._site.valid():
            waits = [(move, MoveResult(MoveOutcome.BUSY, STOOD_STILL)) for move in moves]
            await self._came(waits)
            return
        self.first = self.first or self._clock()
        try:
            results = await self._mailboxes.move(letters, source, target, force=force)
        except Exception as error:  # the barrier: what a mailbox does is not the next one's fault
            log.exception("fault in moving", extra={"fields": {"messages": len(moves)}})
            results = [MoveResult(MoveOutcome.BUSY, str(error))] * len(moves)
        await self._came(list(zip(moves, results, strict=True)))

    async def _came(self, results: Sequence[tuple[Move, MoveResult]]) -> None:
        for _, done in results:
            MADE.inc(done.outcome)
        young = self._clock() - ARRIVES_S
        coming = [
            (move, _words(done))
            for move, done in results
            if done.outcome is MoveOutcome.GONE
            and move.undoes is None
            and time_of_id(move.message) > young
        ]
        later = {move.id for move, _ in coming}
        settled = [
            (move, _STATES[done.outcome], "" if done.outcome is MoveOutcome.MOVED else _words(done))
            for move, done in results
            if done.outcome is not MoveOutcome.BUSY and move.id not in later
        ]
        await self._settle(settled)
        await self._put_off(coming)
        busy = [
            (move, done.say or "busy") for move, done in results if done.outcome is MoveOutcome.BUSY
        ]
        if busy:
            if not self._busy:
                log.error("mailboxes are busy, moves wait", extra={"fields": {"error": busy[0][1]}})
            self._busy = busy[0][1]
            await self._put_off(busy)
        elif self._busy and settled:
            log.warning("mailboxes take moves again")
            self._busy = ""

    async def _put_off(self, waiting: Sequence[tuple[Move, str]]) -> None:
        """Have moves asked again later."""
        if not waiting:
            return
        now = self._clock()

        def put_off() -> None:
            for move, why in waiting:
                pause_s = min(FIRST_RETRY_S * 2 ** min(move.tries, 20), LAST_RETRY_S)
                self._moves.again(move.id, due=now + pause_s, now=now, note=why)

        await self._stored(put_off)

    async def _settle(self, settled: Sequence[tuple[Move, MoveState, str]]) -> None:
        """Write down what became of moves, and tell of each."""
        if not settled:
            return
        rows = [(move.id, state, note) for move, state, note in settled]
        await self._stored(lambda: self._moves.settle_all(rows, now=self._clock()))
        for move, state, note in settled:
            fields = {
                "id": to_text(move.message),
                "recipient": move.recipient,
                "source": move.source,
                "target": move.target,
                "why": move.why,
                "event": move.event,
            }
            more = {"because": move.because, "note": note}
            fields |= {name: value for name, value in more.items() if value}
            log.info(_TOLD[state], extra={"fields": fields})

    async def _letter(self, move: Move) -> MailboxItem:
        return MailboxItem(
            user=self._user(move.recipient),
            ident=to_text(move.message),
            message_id=await self._known_message_id(move),
            delivered=time_of_id(move.message),
        )

    async def _known_message_id(self, move: Move) -> str:
        site = self._site
        if site is not None:
            known = await self._stored(lambda: site.message_id(move.id))
            if known is not None:
                return known
        return await self._message_id(move.message)


def _words(done: MoveResult) -> str:
    """Return what a mailbox said."""
    return " ".join(filter(None, (done.outcome.value, done.say)))
