"""The moves that all machines of a site know, so that another makes those of one that died.

    decided, held by who decided it ──▶ gone: it was made there, or taken back
       ├─ its holder is silent ──▶ held by another ──▶ done · kept ──▶ gone
       └────── that one does not reach the mailbox ──────┘

A move has one holder. Who holds it looks within a turn at this store that it is the holder still,
and only then asks the mailbox; who takes it does so in a turn, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec

from oborona.errors import StoreError
from oborona.recheck.moves import NOTE_LENGTH, MoveState
from oborona.recheck.site_moves_schema import SHARED
from oborona.sqlite_file import SharedSqliteFile


class ToldMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move that all machines know."""

    machine: str  # mark of the one that decided it
    name: str  # its name
    number: int  # id of the move there
    message: int  # id in its journal
    message_id: str
    recipient: str
    source: str  # mailbox, as IMAP names it
    target: str
    time: float  # when it was decided, Unix seconds
    why: str
    score: float
    line: float
    event: str
    because: str
    undoes: int | None  # id there of the move that this one takes back
    holder: str  # mark of the machine that makes it
    state: MoveState = MoveState.DECIDED  # else what became of it on another machine
    note: str = ""
    changed: float = 0.0  # when its holder or state was, Unix seconds

    @property
    def key(self) -> tuple[str, int]:
        """Return what names it in the site."""
        return self.machine, self.number


_COLUMNS: Final = ", ".join(ToldMove.__struct_fields__)
_MARKS: Final = ", ".join("?" * len(ToldMove.__struct_fields__))


class SiteMoveStore(SharedSqliteFile):
    """One process's access to them; see `SharedSqliteFile`."""

    shared = SHARED

    def tell(self, moves: Sequence[ToldMove]) -> None:
        """Write moves down that are not there yet."""
        rows = [tuple(getattr(move, name) for name in ToldMove.__struct_fields__) for move in moves]
        with self.transaction() as db:
            db.executemany(
                f"INSERT INTO told ({_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT DO NOTHING",  # noqa: S608 - literals
                rows,
            )

    def of(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], ToldMove]:
        """Return those of some names that are there."""
        found = (self._moves("WHERE machine = ? AND number = ?", *key) for key in keys)
        return {move.key: move for moves in found for move in moves}

    def open_to(self, machine: str, holders: Collection[str], most: int) -> list[ToldMove]:
        """Return moves of some holders that a machine may reach, of each machine in its order."""
        marks = ", ".join("?" * len(holders))
        return self._moves(
            f"WHERE holder IN ({marks}) AND state = 'decided' AND instr(refused, ?) = 0"
            " ORDER BY machine, number LIMIT ?",
            *holders,
            machine,
            most,
        )

    def taken(self, holder: str, most: int) -> list[ToldMove]:
        """Return moves of others that a machine is to make, of each in its order."""
        return self._moves(
            "WHERE holder = ? AND machine <> ? AND state = 'decided'"
            " ORDER BY machine, number LIMIT ?",
            holder,
            holder,
            most,
        )

    def waiting(self, machine: str = "") -> dict[str, int]:
        """Return how many each holder has to make.

        Args:
            machine: mark of one; those alone that it may reach.
        """
        rows = self.rows(
            "SELECT holder, count(*) FROM told WHERE state = 'decided'"
            " AND (? = '' OR instr(refused, ?) = 0) GROUP BY holder",
            (machine, machine),
        )
        return dict(rows)

    def name_of(self, machine: str) -> str:
        """Return the name of a machine by its mark; its mark where no move of it is there."""
        rows = self.rows("SELECT name FROM told WHERE machine = ? LIMIT 1", (machine,))
        return str(rows[0][0]) if rows else machine

    def hand_over(self, keys: Iterable[tuple[str, int]], holder: str, *, now: float) -> None:
        """Have moves made by another machine."""
        with self.transaction() as db:
            db.executemany(
                "UPDATE told SET holder = ?, changed = ? WHERE machine = ? AND number = ?",
                [(holder, now, *key) for key in keys],
            )

    def settle(
        self, results: Iterable[tuple[tuple[str, int], MoveState, str]], holder: str, *, now: float
    ) -> None:
        """Write down what became of moves that a machine holds, for those that decided them."""
        with self.transaction() as db:
            db.executemany(
                "UPDATE told SET state = ?, note = ?, changed = ?"
                " WHERE machine = ? AND number = ? AND holder = ? AND state = 'decided'",
                [
                    (state.value, note[:NOTE_LENGTH], now, *key, holder)
                    for key, state, note in results
                ],
            )

    def give_back(self, keys: Iterable[tuple[str, int]], holder: str, *, now: float) -> None:
        """Leave moves that a machine holds to those that decided them: it does not reach them."""
        with self.transaction() as db:
            db.executemany(
                "UPDATE told SET holder = machine, refused = refused || ? || ' ', changed = ?"
                " WHERE machine = ? AND number = ? AND holder = ? AND state = 'decided'",
                [(holder, now, *key, holder) for key in keys],
            )

    def drop(self, keys: Iterable[tuple[str, int]]) -> None:
        """Forget moves: who decided them has noted their end, or takes them to itself again."""
        with self.transaction() as db:
            db.executemany("DELETE FROM told WHERE machine = ? AND number = ?", list(keys))

    def give_up(self, machine: str) -> None:
        """Forget the moves of a machine that leaves, and give back those of others."""
        with self.transaction() as db:
            db.execute("DELETE FROM told WHERE machine = ?", (machine,))
            db.execute("UPDATE told SET holder = machine WHERE holder = ?", (machine,))

    def stale(self, before: float) -> int:
        """Return how many `purge` would forget."""
        ((number,),) = self.rows("SELECT count(*) FROM told WHERE changed < ?", (before,))
        return int(number)

    def purge(self, before: float) -> None:
        """Forget moves of which nothing was heard since a time: no machine has come back to note
        their end, or to make them.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM told WHERE changed < ?", (before,))

    def _moves(self, where: str, *values: Any) -> list[ToldMove]:
        rows = self.rows(f"SELECT {_COLUMNS} FROM told {where}", values)  # noqa: S608 - literals above
        try:
            return [
                msgspec.convert(dict(zip(ToldMove.__struct_fields__, row, strict=True)), ToldMove)
                for row in rows
            ]
        except msgspec.ValidationError as error:
            raise StoreError(f"{self.path}: a move in it is damaged: {error}") from error
