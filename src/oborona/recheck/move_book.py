"""Which moves of this machine the site knows, and which of others it makes: beside the moves
themselves, in the same file.

A move is noted here before it is told, and noted as over after the site has dropped it: whoever
dies in between tells it, or drops it, again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from oborona.recheck.moves import Move, MoveState, MoveStore
from oborona.recheck.site_moves import ToldMove


class SharedMove(NamedTuple):
    """A move here that the site knows."""

    id: int  # here
    machine: str  # mark of the one that decided it
    number: int  # id there
    message_id: str
    elsewhere: bool  # another machine makes it

    @property
    def key(self) -> tuple[str, int]:
        """Return what names it in the site."""
        return self.machine, self.number


class EndedMove(NamedTuple):
    """A move here that the site knows, and that has come to its end."""

    shared: SharedMove
    state: MoveState
    note: str


_COLUMNS: Final = "s.id, s.machine, s.number, s.message_id, s.elsewhere"
_ORIGIN: Final = (
    "INSERT INTO move (message, recipient, source, target, time, changed, due, state, why, score,"
    " line, event, because, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING id"
)


class MoveBook:
    """What a file of moves knows of the site.

    Args:
        moves: the file, of the same thread.
    """

    def __init__(self, moves: MoveStore) -> None:
        self._moves = moves

    def untold(self, most: int, *, back: bool) -> list[int]:
        """Return moves to be made that the site does not know, of the newest messages first.

        Args:
            most: so many.
            back: only those that take others back.
        """
        only = " AND undoes IS NOT NULL" if back else ""
        rows = self._moves.rows(
            f"SELECT id FROM move WHERE state IN ('decided', 'issued'){only}"  # noqa: S608 - a literal
            " AND NOT EXISTS (SELECT 1 FROM site_move s WHERE s.id = move.id)"
            " ORDER BY message DESC LIMIT ?",
            (most,),
        )
        return [row[0] for row in rows]

    def note_told(self, told: Sequence[tuple[int, str]], machine: str) -> None:
        """Note moves of this machine before they are told.

        Args:
            told: id and Message-ID of each.
            machine: mark of this one.
        """
        with self._moves.transaction() as db:
            db.executemany(
                "INSERT INTO site_move (id, machine, number, message_id) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                [(id_, machine, id_, message_id) for id_, message_id in told],
            )

    def known(self, ids: Iterable[int]) -> dict[int, SharedMove]:
        """Return those of some moves that the site knows."""
        found = (self._shared("WHERE s.id = ? AND s.open", id_) for id_ in ids)
        return {one.id: one for several in found for one in several}

    def elsewhere(self) -> list[SharedMove]:
        """Return the moves that another machine makes, and that have no end here."""
        return self._shared("WHERE s.open AND s.elsewhere")

    def ended(self, most: int) -> list[EndedMove]:
        """Return moves with an end that the site was not told."""
        rows = self._moves.rows(
            f"SELECT {_COLUMNS}, m.state, m.note FROM site_move s LEFT JOIN move m ON m.id = s.id"  # noqa: S608 - literals above
            " WHERE s.open AND coalesce(m.state, '') NOT IN ('decided', 'issued') LIMIT ?",
            (most,),
        )
        return [
            EndedMove(
                _read(row[:-2]),
                MoveState(row[-2] or MoveState.KEPT.value),  # it was purged
                row[-1] or "",
            )
            for row in rows
        ]

    def withdrawable(self, machine: str) -> list[SharedMove]:
        """Return the moves of this machine that are known, are not made by another, and may not be
        made while moves have stopped.
        """
        return self._shared(
            "JOIN move m ON m.id = s.id WHERE s.open AND NOT s.elsewhere AND s.machine = ?"
            " AND m.state = 'decided' AND m.undoes IS NULL",
            machine,
        )

    def set_elsewhere(self, ids: Iterable[int], *, elsewhere: bool) -> None:
        """Note that another machine makes moves, or that this one does again."""
        with self._moves.transaction() as db:
            db.executemany(
                "UPDATE site_move SET elsewhere = ? WHERE id = ?",
                [(elsewhere, id_) for id_ in ids],
            )

    def close(self, ids: Iterable[int]) -> None:
        """Note that the site has nothing more to know of moves."""
        with self._moves.transaction() as db:
            db.executemany("UPDATE site_move SET open = 0 WHERE id = ?", [(id_,) for id_ in ids])

    def forget(self, ids: Iterable[int]) -> None:
        """Note that the site knows moves no more: they may be told again."""
        with self._moves.transaction() as db:
            db.executemany("DELETE FROM site_move WHERE id = ?", [(id_,) for id_ in ids])

    def leave(self, machine: str, note: str, *, now: float) -> None:
        """Make the moves of this machine its own, and give up those of others."""
        for one in self._shared("WHERE s.open AND s.machine <> ?", machine):
            self._moves.settle(one.id, MoveState.KEPT, note, now=now)
        with self._moves.transaction() as db:
            db.execute("DELETE FROM site_move WHERE machine = ?", (machine,))
            db.execute("UPDATE site_move SET open = 0")

    def adopt(self, told: ToldMove, *, now: float) -> bool:
        """Write down a move of another machine as one to be made here.

        Returns:
            False where a copy of that message has such a move here already.
        """
        with self._moves.transaction() as db:
            if rows := db.execute(
                "SELECT id FROM site_move WHERE machine = ? AND number = ?", told.key
            ).fetchall():
                db.execute("UPDATE site_move SET elsewhere = 0 WHERE id = ?", rows[0])
                return True
            undoes = None if told.undoes is None else _origin(db, told, now)
            if told.undoes is not None and undoes is None:  # the same copy was moved from here
                return False
            added = db.execute(
                _ORIGIN, _row(told, told.source, told.target, now, MoveState.DECIDED, undoes)
            ).fetchall()
            if not added:
                return False
            db.execute(
                "INSERT INTO site_move (id, machine, number, message_id) VALUES (?, ?, ?, ?)",
                (added[0][0], *told.key, told.message_id),
            )
        return True

    def counted(self) -> tuple[int, int]:
        """Return how many moves with no end the site knows: made here, made elsewhere."""
        ((here, elsewhere),) = self._moves.rows(
            "SELECT count(*) - total(elsewhere), total(elsewhere) FROM site_move WHERE open"
        )
        return int(here), int(elsewhere)

    def moves(self, ids: Iterable[int]) -> list[Move]:
        """Return moves that are there."""
        return [move for id_ in ids if (move := self._moves.get(id_)) is not None]

    def _shared(self, where: str, *values: Any) -> list[SharedMove]:
        rows = self._moves.rows(f"SELECT {_COLUMNS} FROM site_move s {where}", values)  # noqa: S608 - literals above
        return [_read(row) for row in rows]


def _read(row: Sequence[Any]) -> SharedMove:
    return SharedMove(row[0], row[1], row[2], row[3], bool(row[4]))


def _origin(db: Any, told: ToldMove, now: float) -> int | None:
    """Return the move here that one of another machine takes back: it was made there; None where
    this machine has such a move of its own.
    """
    known = db.execute(
        "SELECT id FROM site_move WHERE machine = ? AND number = ?", (told.machine, told.undoes)
    ).fetchall()
    if known:
        return int(known[0][0])
    values = _row(told, told.target, told.source, now, MoveState.DONE, None)
    made = db.execute(_ORIGIN, values).fetchall()
    if not made:
        return None
    db.execute(
        "INSERT INTO site_move (id, machine, number, message_id, open) VALUES (?, ?, ?, ?, 0)",
        (made[0][0], told.machine, told.undoes, told.message_id),
    )
    return int(made[0][0])


def _row(
    told: ToldMove, source: str, target: str, now: float, state: MoveState, undoes: int | None
) -> tuple[Any, ...]:
    place = told.message, told.recipient, source, target
    why = told.why, told.score, told.line, told.event, told.because
    return (*place, told.time, now, now, state.value, *why, undoes)
