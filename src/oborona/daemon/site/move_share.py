"""The moves of a machine of a site, as the others know them: told before they are made, and taken
over from a machine that is silent or forgotten.

Whose a move is is seen within a turn at the common store, in which the machine also says that it is
alive; for `LEASE_S` from then on it may ask the mailbox. Another takes it from a machine that has
said nothing for `SILENT_S`, or that an admin has forgotten, which is refused for one that was heard
of within a minute. What stands still longer asks again whose it is, before it asks the mailbox. One
whose copy the other does not find in its mailboxes goes back to who decided it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from oborona import state_files
from oborona.errors import StoreError
from oborona.metrics import Counter, Gauge
from oborona.recheck.mailboxes.model import MoveOutcome
from oborona.recheck.move_book import EndedMove, MoveBook, SharedMove
from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.recheck.site_moves import SiteMoveStore, ToldMove
from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import LogForeignError, ReplicationLog
from oborona.replication.log_pool import pooled_log
from oborona.telemetry.trouble import TroubleNotice

AT_ONCE: Final = 500  # moves of a change
LEASE_S: Final = (
    20.0  # less than the minute within which nobody forgets a machine that was heard of
)
SILENT_S: Final = 600.0  # a machine that starts anew, or is upgraded, makes its moves itself
LOOK_S: Final = 10.0  # between looks for silent machines
AGAIN_S: Final = 2.0  # before the log is asked again, where it was away
KEPT_S: Final = 60 * 86_400.0  # that the end of a move is kept for a machine that is away
PURGE_S: Final = 3600.0
TAKEN_BACK: Final = "the machine that decided it has taken it back"
LONG_AGO: Final = "another machine had it, and it is not known any more what became of it"
LEFT: Final = "this machine has left the site that it was decided in"
DOUBLE: Final = "this copy had such a move there already"

TAKEN: Final = Counter(
    "oborona_recheck_moves_taken_over",
    "Moves of a silent or forgotten machine of the site that this one has taken over.",
    (),
)
SHARED: Final = Gauge(
    "oborona_recheck_moves_shared",
    "Moves that are not made yet and that the other machines of the site know; elsewhere: another "
    "machine has taken them over from this one; nobody: of a silent machine, and none that looked "
    "has their copy. Of several machines alone.",
    ("where",),
)

log = logging.getLogger("oborona.recheck")


class SiteMoveShare:
    """See `recheck.engine.model.SiteMoves`; for one thread at a time.

    Args:
        state: the state folder.
        link: of the site.
        moves: the mover's access to the moves.
        takes: moves of other machines can be made here: mailboxes are set.
        clock: Unix seconds.
        silent_s: after which a machine's moves are taken.

    Attributes:
        reachable: the log was there, when it was asked last.
        trouble: why it is not.
    """

    def __init__(
        self,
        state: Path,
        link: ReplicationLink,
        moves: MoveStore,
        *,
        takes: bool,
        clock: Callable[[], float] = time.time,
        silent_s: float = SILENT_S,
    ) -> None:
        self._path = state / state_files.SITE_MOVES
        self._link = link
        self._moves = moves
        self._book = MoveBook(moves)
        self._takes = takes
        self._clock = clock
        self._silent_s = silent_s
        self._store: SiteMoveStore | None = None
        self._alive: dict[str, str] = {}  # names of machines that were heard of, by their marks
        self._until = 0.0  # what `held` said is good, by `_now`
        self._again = self._look = self._purge = 0.0
        self.reachable = False
        self.trouble = TroubleNotice(
            "moves of copies wait that other machines know", "moves that others know go on"
        )
        SHARED.set_function(self._counted)
        self._figures = 0, 0
        self._of_nobody = 0

    def close(self) -> None:
        """Let the file go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def untold(self, *, back: bool) -> list[Move]:
        """Return moves that the site does not know yet; see `SiteMoves`."""
        return self._book.moves(self._book.untold(AT_ONCE, back=back))

    def tell(self, moves: Sequence[tuple[Move, str]]) -> int:
        """Have the site know moves; see `SiteMoves`."""
        # what nobody else can know is made while the log is away
        if not self._asked(self._probe):
            return 0
        self._book.note_told([(move.id, name) for move, name in moves], self._link.mark)
        told = [self._told(move, move.id, name) for move, name in moves]
        return len(told) if self._asked(lambda: self._opened().tell(told)) else 0

    def held(self, moves: Sequence[Move]) -> set[int]:
        """Return those of some moves that are this machine's to make now; see `SiteMoves`."""
        known = self._book.known(move.id for move in moves)
        self._until = float("inf")
        if self.reachable:
            asked = _now()
            held = set[int]()
            if self._asked(lambda: held.update(self._looked(moves, known))):
                self._until = asked + LEASE_S
                return held
        return {move.id for move in moves if move.id not in known}

    def valid(self) -> bool:
        """Whether what `held` said last is good still."""
        return _now() < self._until

    def message_id(self, id_: int) -> str | None:
        """Return the Message-ID of a move of another machine; None: it is this one's."""
        shared = self._book.known([id_]).get(id_)
        return None if shared is None or shared.machine == self._link.mark else shared.message_id

    def follow(self, *, paused: bool) -> None:
        """Tell what has ended, hear what others made, take what nobody makes; see `SiteMoves`."""
        if not self.reachable and _now() < self._again:
            return
        if not self.reachable and not self._asked(self._probe):
            return
        self._asked(self._hear)
        self._asked(self._release)
        if paused:
            self._asked(self._withdraw)
        self._asked(lambda: self._look_for_silent(takes=self._takes and not paused))
        self._figures = self._book.counted()

    def _asked(self, action: Callable[[], object]) -> bool:
        """Do something with the common store; return whether that could be.

        Where it could not, moves that others know wait: an error of this machine's own file is met
        by the mover as well, which tells it.
        """
        try:
            action()
        except StoreError as error:
            self.reachable, self._again = False, _now() + AGAIN_S
            self.close()
            self.trouble.failed(error)
            return False
        self.reachable = True
        self.trouble.over()
        return True

    def _probe(self) -> None:
        with pooled_log(self._link) as site_log:
            site_log.check(self._link.site)
            site_log.question("SELECT 1")

    def _opened(self) -> SiteMoveStore:
        if self._store is None:
            self._store = SiteMoveStore(self._path)
            self._store.guard = self._seen
        return self._store

    def _seen(self, site_log: ReplicationLog) -> None:
        """Say within a turn that this machine is alive, and hear who is."""
        with site_log.connected() as db:
            said = db.execute(
                "UPDATE machine SET seen = now() WHERE name = %s AND mark = %s",
                (self._link.machine, self._link.mark),
            )
            if said.rowcount != 1:
                raise LogForeignError(
                    f"the site knows this machine ({self._link.machine}) no more: `oborona site "
                    "join` joins it again"
                )
        self._alive = self._heard_of(site_log)

    def _heard_of(self, site_log: ReplicationLog) -> dict[str, str]:
        return dict(
            site_log.question(
                "SELECT mark, name FROM machine WHERE seen > now() - make_interval(secs => %s)",
                (self._silent_s,),
            )
        )

    def _told(self, move: Move, number: int, message_id: str) -> ToldMove:
        return ToldMove(
            machine=self._link.mark,
            name=self._link.machine,
            number=number,
            message=move.message,
            message_id=message_id,
            recipient=move.recipient,
            source=move.source,
            target=move.target,
            time=move.time,
            why=move.why,
            score=move.score,
            line=move.line,
            event=move.event,
            because=move.because,
            undoes=move.undoes,
            holder=self._link.mark,
            changed=self._clock(),
        )

    def _looked(self, moves: Sequence[Move], known: dict[int, SharedMove]) -> set[int]:
        """Return those of some moves that this machine holds, as the log has it now."""
        store, mine = self._opened(), self._link.mark
        asked = [(move, known[move.id]) for move in moves if move.id in known]
        if not asked:
            return set()
        with store.transaction():
            rows = store.of(shared.key for _, shared in asked)
            missing = [
                (move, shared)
                for move, shared in asked
                if shared.key not in rows and self._may_tell(move, shared)
            ]
            store.tell([self._told(move, one.number, one.message_id) for move, one in missing])
        for move, shared in asked:
            if shared.key not in rows and (move, shared) not in missing:
                self._missed(shared)
        held = {
            move.id
            for move, shared in asked
            if (row := rows.get(shared.key)) and row.holder == mine and row.state == "decided"
        }
        held |= {move.id for move, _ in missing}
        gone = [shared.id for _, shared in asked if shared.key in rows and shared.id not in held]
        if gone:
            self._book.set_elsewhere(gone, elsewhere=True)
        return held

    def _may_tell(self, move: Move, shared: SharedMove) -> bool:
        """Whether a move that is noted as told and is not there never was, so that it is told now.

        What others took is kept for longer than that.
        """
        own = shared.machine == self._link.mark and not shared.elsewhere
        return own and move.time > self._clock() - KEPT_S / 2

    def _missed(self, shared: SharedMove) -> None:
        """End a move here that the site knows no more."""
        note = LONG_AGO if shared.machine == self._link.mark else TAKEN_BACK
        self._moves.settle(shared.id, MoveState.KEPT, note, now=self._clock())

    def _hear(self) -> None:
        """End here what other machines have made."""
        waiting = self._book.elsewhere()
        if not waiting:
            return
        store, now = self._opened(), self._clock()
        rows = store.of(shared.key for shared in waiting)
        for shared in waiting:
            row = rows.get(shared.key)
            if row is None:
                self._missed(shared)
            elif row.state is not MoveState.DECIDED:
                self._moves.settle(shared.id, row.state, row.note, now=now)
            elif row.holder == self._link.mark:
                self._book.set_elsewhere([shared.id], elsewhere=False)

    def _release(self) -> None:
        """Tell of moves that came to their end."""
        while ended := self._book.ended(AT_ONCE):
            store, now = self._opened(), self._clock()
            own = [one.shared.key for one in ended if one.shared.machine == self._link.mark]
            others = [one for one in ended if one.shared.machine != self._link.mark]
            back = [one.shared.key for one in others if _is_out_of_reach(one)]
            with store.transaction():
                store.drop(own)
                store.give_back(back, self._link.mark, now=now)
                store.settle(map(self._outcome, others), self._link.mark, now=now)
            self._book.close(one.shared.id for one in ended)

    def _outcome(self, one: EndedMove) -> tuple[tuple[str, int], MoveState, str]:
        by = f"by {self._link.machine}"
        # taken back there: it is where it was, as one that was never moved
        state = MoveState.KEPT if one.state is MoveState.UNDONE else one.state
        return one.shared.key, state, f"{by}: {one.note}" if one.note else by

    def _withdraw(self) -> None:
        """Leave to nobody what waits while moves have stopped here."""
        waiting = self._book.withdrawable(self._link.mark)
        if waiting:
            self._opened().drop(shared.key for shared in waiting)
            self._book.forget(shared.id for shared in waiting)

    def _look_for_silent(self, *, takes: bool) -> None:
        """Take the moves of machines that nobody hears of any more, and count what stays theirs."""
        if _now() < self._look or not self._path.exists():
            return
        self._look = _now() + LOOK_S
        store, silent = self._opened(), set[str]()
        if holders := store.waiting().keys() - {self._link.mark}:
            with pooled_log(self._link) as site_log:
                silent = holders - self._heard_of(site_log).keys()
        if takes and (reached := silent & store.waiting(self._link.mark).keys()):
            self._take_from(store, reached)
        left = store.waiting() if silent else {}
        self._of_nobody = sum(left.get(holder, 0) for holder in silent)
        if takes:
            self._adopt(store)
        if _now() >= self._purge:
            self._purge = _now() + PURGE_S
            if store.stale(before := self._clock() - KEPT_S):
                store.purge(before)

    def _take_from(self, store: SiteMoveStore, silent: Collection[str]) -> None:
        now = self._clock()
        with store.transaction():
            silent = [holder for holder in silent if holder not in self._alive]
            moves = store.open_to(self._link.mark, silent, AT_ONCE) if silent else []
            store.hand_over([move.key for move in moves], self._link.mark, now=now)
        if moves:
            names = sorted({move.name for move in moves})
            fields = {"machines": names, "moves": len(moves)}
            log.warning("moves of silent machines are taken over", extra={"fields": fields})
            TAKEN.inc(by=len(moves))
            self._look = 0.0  # there may be more

    def _adopt(self, store: SiteMoveStore) -> None:
        """Write down here what this machine has taken, as any other move of its own."""
        taken = store.taken(self._link.mark, AT_ONCE)
        double = [told for told in taken if not self._book.adopt(told, now=self._clock())]
        if double:
            ends = [(told.key, MoveState.KEPT, DOUBLE) for told in double]
            store.settle(ends, self._link.mark, now=self._clock())

    def _counted(self) -> dict[tuple[str], float]:
        here, elsewhere = self._figures
        return {("here",): here, ("elsewhere",): elsewhere, ("nobody",): self._of_nobody}


def open_move_share(
    state: Path, moves: MoveStore, *, takes: bool, clock: Callable[[], float] = time.time
) -> SiteMoveShare | None:
    """Return what the other machines know of the moves; None where this one is alone.

    Raises:
        StoreError: nobody can know whether it is.
    """
    link = read_link(state)
    if link is None or state_files.SITE_MOVES not in link.stores:
        return None
    return SiteMoveShare(state, link, moves, takes=takes, clock=clock)


def give_up_moves(state: Path, link: ReplicationLink, now: float) -> None:
    """Make the moves of a machine that leaves its own, and give back those of others, which it had
    taken; to be done again where it was ended in the middle.

    Raises:
        StoreError: its moves can't be written, or the site's log can't be reached: then they are
            its own all the same.
    """
    path = state / state_files.MOVES
    if state_files.SITE_MOVES not in link.stores:
        return
    if path.exists():
        with MoveStore(path) as moves:
            MoveBook(moves).leave(link.mark, LEFT, now=now)
    if (state / state_files.SITE_MOVES).exists():
        with SiteMoveStore(state / state_files.SITE_MOVES) as store:
            store.give_up(link.mark)


def _is_out_of_reach(one: EndedMove) -> bool:
    """Whether a move of another machine was not made because its copy is in no mailbox here."""
    return one.state is MoveState.FAILED or (
        one.state is MoveState.KEPT and one.note.startswith(MoveOutcome.GONE.value)
    )


def _now() -> float:
    """Return seconds by a clock that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
