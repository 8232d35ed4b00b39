"""The store of moves, copy by copy: written before a mailbox is touched, and settled after.

    decided ── issue ──▶ issued ── settle ──▶ done ── the move that takes it back is done ──▶ undone
       ▲                   │  │
       └────── again ──────┘  └─────────────▶ kept (its reader's, or gone) · failed

A copy is decided once in each direction, however often it is rechecked; a move that an admin took
back is never decided again.  The moves of one copy are made one after the other, in the order of
their decisions.  A process that died leaves moves `issued`: the next process asks the mailbox about
those first.

Any number of processes use the file: the one that moves, and the tools that list and take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from oborona.errors import StoreError
from oborona.recheck.moves_schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

NOTE_LENGTH: Final = 500  # characters kept of why
UNDONE_BEFORE: Final = "taken back before it was made"
NOTHING_MOVED: Final = "there is nothing to take back"


class MoveState(StrEnum):
    """The states of a move."""

    DECIDED = "decided"  # written down; it waits for its time
    ISSUED = "issued"  # on its way: the mailbox may have it, or not
    DONE = "done"
    KEPT = "kept"  # the copy stays where it is: its reader's, or gone
    FAILED = "failed"  # could not be made, and is given up
    UNDONE = "undone"  # was taken back


class MoveDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A copy that is to be moved."""

    message: int  # id in the journal
    recipient: str
    source: str  # mailbox, as IMAP names it
    target: str
    why: str  # rule that decided, and its words
    score: float
    line: float
    event: str  # what made us look
    because: str = ""  # to the inbox: what was learned
    word: bool = False  # people spoke of the message


class DecidedMessage(NamedTuple):
    """A message of which copies were to be moved."""

    message: int  # id in the journal
    word: bool
    time: float  # of the first of them, Unix seconds


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One move and its state."""

    id: int
    message: int
    recipient: str
    source: str
    target: str
    time: float  # when it was decided, Unix seconds
    changed: float  # when its state was
    due: float  # not before this
    tries: int  # how often it was on its way
    state: MoveState
    note: str  # why it was kept, or failed
    why: str
    score: float
    line: float
    event: str
    because: str  # to the inbox: what was learned
    undoes: int | None  # the move that this one takes back


class RecheckPause(msgspec.Struct, frozen=True, kw_only=True):
    """The recheck is paused."""

    since: float  # Unix seconds
    why: str


_COLUMNS: Final = ", ".join(Move.__struct_fields__)
_SETTLED: Final = frozenset({MoveState.DONE, MoveState.KEPT, MoveState.FAILED})
# Two moves of one copy on their way at once, and one of them made anew after a death, would undo
# the other.
_FIRST: Final = (
    "NOT EXISTS (SELECT 1 FROM move AS first WHERE first.message = move.message AND first.recipient = move.recipient"
    " AND first.id < move.id AND first.state IN ('decided', 'issued'))"
)


class MoveStore(SharedSqliteFile):
    """One process's access to the moves; see `SharedSqliteFile`."""

    shared = SHARED

    def decide(self, decisions: Sequence[MoveDecision], *, now: float) -> list[int]:
        """Write down what is to be moved, all of it or nothing.

        Args:
            decisions: a copy that was decided about before, in the same direction, is left out.
            now: Unix seconds.

        Returns:
            Ids of those that are new, in order.
        """
        with self.transaction() as db:
            return [
                row[0]
                for decision in decisions
                for row in db.execute(
                    "INSERT INTO move (message, recipient, source, target, time, changed, due, state, why, score, line, event, because, word)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, 'decided', ?, ?, ?, ?, ?, ?) ON CONFLICT DO "
                    "NOTHING RETURNING id",
                    (
                        decision.message,
                        decision.recipient,
                        decision.source,
                        decision.target,
                        now,
                        now,
                        now,
                        decision.why[:NOTE_LENGTH],
                        decision.score,
                        decision.line,
                        decision.event,
                        decision.because[:NOTE_LENGTH],
                        decision.word,
                    ),
                ).fetchall()
            ]

    def due(self, now: float, most: int, *, back: bool = False, shared: bool = True) -> list[Move]:
        """Return moves whose time has come, of the newest messages first.

        Of one copy the first that is not settled; none that another machine makes.

        Args:
            now: Unix seconds.
            most: so many.
            back: only those that take others back.
            shared: also those that other machines know, and may have taken.
        """
        only = " AND undoes IS NOT NULL" if back else ""
        return self._moves(
            f"WHERE state = 'decided'{only} AND due <= ? AND {_FIRST}"  # noqa: S608 - literals
            " AND NOT EXISTS (SELECT 1 FROM site_move s WHERE s.id = move.id AND s.open"
            " AND (s.elsewhere OR NOT ?)) ORDER BY message DESC LIMIT ?",
            now,
            shared,
            most,
        )

    def issue(self, ids: Iterable[int], *, now: float) -> list[int]:
        """Write down that moves are on their way, before a mailbox hears of them.

        Returns:
            Those that are: what was taken back, is on its way already, or waits for another move of
            its copy, is not among them.
        """
        with self.transaction() as db:
            return [
                row[0]
                for ident in ids
                for row in db.execute(
                    "UPDATE move SET state = 'issued', changed = ?, tries = tries + 1"  # noqa: S608 - literals
                    f" WHERE id = ? AND state = 'decided' AND {_FIRST} RETURNING id",
                    (now, ident),
                ).fetchall()
            ]

    def issued(self) -> list[Move]:
        """Return what is on its way.

        At a start, what whoever died has left: ask the mailbox about them first.
        """
        return self._moves("WHERE state = 'issued' ORDER BY id")

    def again(self, id_: int, *, due: float, now: float, note: str = "") -> None:
        """Put a move that was on its way off: it was not made.

        Args:
            id_: of the move.
            due: Unix seconds, not before this.
            now: Unix seconds.
            note: why.
        """
        with self.transaction() as db:
            db.execute(
                "UPDATE move SET state = 'decided', changed = ?, due = ?, note = ? WHERE id = ? AND state = 'issued'",
                (now, due, note[:NOTE_LENGTH], id_),
            )

    def settle(self, id_: int, state: MoveState, note: str = "", *, now: float) -> bool:
        """Write down what became of a move; return False where it was settled before.

        Args:
            id_: of a move that is decided or on its way.
            state: done, kept or failed. Done, a move that takes another back leaves that one
                undone.
            note: why it was kept, or failed.
            now: Unix seconds.

        Raises:
            ValueError: nothing that becomes of a move.
        """
        return self.settle_all([(id_, state, note)], now=now) == [id_]

    def settle_all(self, results: Sequence[tuple[int, MoveState, str]], *, now: float) -> list[int]:
        """Write down what became of some moves at once; return those that were not settled before.

        Args:
            results: of each its id, state and note, as of `settle`.
            now: Unix seconds.

        Raises:
            ValueError: nothing that becomes of a move.
        """
        for _, state, _ in results:
            if state not in _SETTLED:
                raise ValueError(f"a move is not settled by {state}")
        with self.transaction() as db:
            return [id_ for id_, state, note in results if _settle(db, id_, state, note, now)]

    def undo(self, ids: Iterable[int], *, now: float, event: str = "undo") -> list[int]:
        """Take moves back: what was moved is to be moved back, what was not is not going to be.

        Args:
            ids: of moves; one that was kept, failed, or is taken back already is left out.
            now: Unix seconds.
            event: who asked.

        Returns:
            Ids of the moves that are taken back.
        """
        with self.transaction() as db:
            return [ident for ident in ids if _undo(db, ident, now, event)]

    def of(self, message: int) -> list[Move]:
        """Return all moves of a message, in the order in which they were decided."""
        return self._moves("WHERE message = ? ORDER BY id", message)

    def of_all(self, messages: Sequence[int]) -> list[Move]:
        """Return all moves of some messages, in the order in which they were decided."""
        marks = ", ".join("?" * len(messages))
        return self._moves(f"WHERE message IN ({marks}) ORDER BY id", *messages)

    def moved_for(
        self, recipients: Sequence[str], *, since: float, before: int, most: int
    ) -> list[int]:
        """Return messages of which copies of some recipients were moved, the newest first.

        Args:
            recipients: as mailboxes are named, lower case.
            since: when it was decided, Unix seconds.
            before: id in the journal, exclusive.
            most: so many.
        """
        marks = ", ".join("?" * len(recipients))
        rows = self.rows(
            "SELECT DISTINCT message FROM move WHERE time >= ? AND state = 'done'"  # noqa: S608 - marks alone
            f" AND lower(recipient) IN ({marks}) AND message < ? ORDER BY message DESC LIMIT ?",
            (since, *recipients, before, most),
        )
        return [row[0] for row in rows]

    def moved_copies(self, *, before: int, most: int) -> list[tuple[int, str]]:
        """Return messages and recipients of copies that were moved, the newest message first, also
        of those that were moved back.

        Args:
            before: id in the journal, exclusive.
            most: so many.
        """
        return [
            (message, recipient)
            for message, recipient in self.rows(
                "SELECT message, recipient FROM move WHERE state IN ('done', 'undone')"
                " AND undoes IS NULL AND message < ? ORDER BY message DESC LIMIT ?",
                (before, most),
            )
        ]

    def get(self, id_: int) -> Move | None:
        """Return a move; None when there is none, or no longer."""
        return next(iter(self._moves("WHERE id = ?", id_)), None)

    def last(self, most: int, before: int | None = None) -> list[Move]:
        """Return the latest moves, newest first; those before a move, where one is named."""
        if before is None:
            return self._moves("ORDER BY id DESC LIMIT ?", most)
        return self._moves("WHERE id < ? ORDER BY id DESC LIMIT ?", before, most)

    def since(self, when: float) -> list[Move]:
        """Return the moves that were decided from a time on, in order."""
        return self._moves("WHERE time >= ? ORDER BY id", when)

    def decided(self, since: float) -> list[DecidedMessage]:
        """Return the messages of which moves were decided from a time on, in order.

        What takes moves back is not among these.
        """
        rows = self.rows(
            "SELECT message, max(word), min(time) FROM move WHERE time >= ? AND undoes IS NULL"
            " GROUP BY message ORDER BY min(id)",
            (since,),
        )
        return [DecidedMessage(message, bool(word), time) for message, word, time in rows]

    def counted(self, since: float = 0.0) -> dict[MoveState, int]:
        """Return how many moves are in each state, of those that were decided from a time on."""
        rows = self.rows(
            "SELECT state, count(*) FROM move WHERE time >= ? GROUP BY state", (since,)
        )
        return {MoveState(state): number for state, number in rows}

    def discardable(self) -> int:
        """Return how many moves `discard` would give up."""
        ((number,),) = self.rows(
            "SELECT count(*) FROM move WHERE state = 'decided' AND undoes IS NULL"
        )
        return int(number)

    def discard(self, note: str, *, now: float) -> int:
        """Give up all that is decided and not on its way, but for what takes moves back.

        Return how many.
        """
        with self.transaction() as db:
            return db.execute(
                "UPDATE move SET state = 'kept', changed = ?, note = ? WHERE state = 'decided' AND undoes IS NULL",
                (now, note[:NOTE_LENGTH]),
            ).rowcount

    def cursor(self, name: str, default: int = 0) -> int:
        """Return how far something was followed."""
        rows = self.rows("SELECT value FROM cursor WHERE name = ?", (name,))
        return int(rows[0][0]) if rows else default

    def set_cursor(self, name: str, value: int) -> None:
        """Write down how far something was followed."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO cursor (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def pause(self, why: str, *, now: float) -> bool:
        """Let the second look stand still until somebody lets it go on.

        Return False where it does already.
        """
        with self.transaction() as db:
            added = db.execute(
                "INSERT INTO pause (one, since, why) VALUES (1, ?, ?) ON CONFLICT DO NOTHING",
                (now, why[:NOTE_LENGTH]),
            )
            return added.rowcount > 0

    def paused(self) -> RecheckPause | None:
        """Return since when the second look stands still, and why; None: it does not."""
        rows = self.rows("SELECT since, why FROM pause")
        return RecheckPause(since=rows[0][0], why=rows[0][1]) if rows else None

    def resume(self) -> bool:
        """Let the second look go on; return False where it does already."""
        with self.transaction() as db:
            return db.execute("DELETE FROM pause").rowcount > 0

    def purge(self, now: float, *, retention_s: float, limit: int = 1000) -> int:
        """Take one small step of purging, the oldest first; what is on its way stays.

        Call it again until it returns 0.

        Args:
            now: Unix seconds.
            retention_s: moves that were decided before this go.
            limit: in one step.
        """
        with self.transaction() as db:
            purged = db.execute(
                "DELETE FROM move WHERE id IN (SELECT id FROM move WHERE time < ? AND state <> 'issued'"
                " ORDER BY time LIMIT ?)",
                (now - retention_s, limit),
            ).rowcount
            if purged:  # what the site is still to be told of stays
                db.execute(
                    "DELETE FROM site_move WHERE NOT open"
                    " AND NOT EXISTS (SELECT 1 FROM move WHERE move.id = site_move.id)"
                )
            return purged

    def _moves(self, where: str, *values: Any) -> list[Move]:
        rows = self.rows(f"SELECT {_COLUMNS} FROM move {where}", values)  # noqa: S608 - literals above
        try:
            return [
                msgspec.convert(dict(zip(Move.__struct_fields__, row, strict=True)), Move)
                for row in rows
            ]
        except msgspec.ValidationError as error:
            raise StoreError(f"{self.path}: a move in it is damaged: {error}") from error


def _settle(db: Any, id_: int, state: MoveState, note: str, now: float) -> bool:
    """Settle one move within the caller's transaction; return whether it was not settled before."""
    row = db.execute(
        "UPDATE move SET state = ?, changed = ?, note = ? WHERE id = ? AND state IN ('decided', 'issued')"
        " RETURNING undoes",
        (state.value, now, note[:NOTE_LENGTH], id_),
    ).fetchall()
    if not row:
        return False
    ((undoes,),) = row
    if undoes is not None and state is MoveState.DONE:
        db.execute("UPDATE move SET state = 'undone', changed = ? WHERE id = ?", (now, undoes))
    if state is not MoveState.DONE:  # who wanted it back has it
        db.execute(
            "UPDATE move SET state = 'kept', changed = ?, note = ? WHERE undoes = ? AND state = 'decided'",
            (now, NOTHING_MOVED, id_),
        )
    return True


def _undo(db: Any, id_: int, now: float, event: str) -> bool:
    """Take one move back within the caller's transaction.

    Return whether there is anything to take back.
    """
    waiting = db.execute(
        "UPDATE move SET state = 'undone', changed = ?, note = ? WHERE id = ? AND state = 'decided' AND undoes IS NULL",
        (now, UNDONE_BEFORE, id_),
    )
    if waiting.rowcount:
        return True
    back = db.execute(
        "INSERT INTO move (message, recipient, source, target, time, changed, due, state, why, score, line, event, undoes)"
        " SELECT message, recipient, target, source, ?, ?, ?, 'decided', why, score, line, ?, id FROM move"
        " WHERE id = ? AND state IN ('issued', 'done') AND undoes IS NULL ON CONFLICT DO NOTHING",
        (now, now, now, event, id_),
    )
    return bool(back.rowcount > 0)
