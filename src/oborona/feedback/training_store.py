"""The trainer's part of the label store: takes queued labels, notes what was learned, keeps the
examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.feature_layout import layout
from oborona.feedback.label import LabelKind, TrainingExample
from oborona.feedback.rank import room

# Which words up to a place are learned, in few numbers: two snapshots of the same words have the
# same.
HELD: Final = (
    "SELECT count(*) || ' ' || total(id) || ' ' || total(id * id % 2147483647) FROM word "
    "WHERE id <= ? AND state = 'learned'"
)
# The plus keeps SQLite from the index of states: what is asked for lies together, at the end.
_LESSON: Final = (
    "SELECT w.id, w.kind, w.person, w.weight, e.layout, e.features FROM word w JOIN "
    "example e ON e.id = w.id"
)


class TrainingProgress(NamedTuple):
    """The progress of training."""

    edits: int
    exact: int
    scratch: int
    hurry: int
    epoch: int


class WeightsSnapshot(NamedTuple):
    """A state of the weights that is on the disk."""

    id: int
    time: float  # Unix seconds
    why: str
    position: int
    epoch: int
    spam: int
    ham: int


class TrainingStore(FeedbackConnection):
    """The trainer's access to the file."""

    def standing(self) -> TrainingProgress:
        """Return where the course stands."""
        (row,) = self.rows("SELECT edits, exact, scratch, hurry, epoch FROM course")
        return TrainingProgress(*row)

    def request_rebuild(self) -> None:
        """Ask for weights made anew from the examples that are kept."""
        with self.transaction() as db:
            db.execute("UPDATE course SET edits = edits + 1")
            db.execute("UPDATE course SET scratch = edits, hurry = edits")

    def waiting(self, after: int, most: int) -> list[TrainingExample]:
        """Return the first words behind a place that wait to be learned.

        Within `transaction`, so that none is taken back meanwhile.
        """
        rows = self.rows(
            f"{_LESSON} WHERE w.id > ? AND +w.state = 'queued' ORDER BY w.id LIMIT ?", (after, most)
        )
        return [_lesson(row) for row in rows]

    def learned_after(self, position: int) -> list[int]:
        """Return the words behind a place that were learned, in order."""
        return [
            ident
            for (ident,) in self.rows(
                "SELECT id FROM word WHERE id > ? AND +state = 'learned' ORDER BY id", (position,)
            )
        ]

    def last_learned(self) -> int:
        """Return the last word that was learned; 0: none was."""
        ((ident,),) = self.rows("SELECT coalesce(max(id), 0) FROM word WHERE state = 'learned'")
        return int(ident)

    def kept(self, kind: LabelKind, most: int) -> list[int]:
        """Return the words of a class that weights made anew are learned from, in order."""
        rows = self.rows(
            "SELECT w.id FROM example e JOIN word w ON w.id = e.id WHERE e.kind = ? AND e.layout "
            "= ? AND w.state = 'learned'"
            " ORDER BY e.rank, e.id LIMIT ?",
            (kind, layout(), most),
        )
        return sorted(ident for (ident,) in rows)

    def lessons(self, idents: Sequence[int]) -> list[TrainingExample]:
        """Return the lessons of some words, in the order given.

        Those that are learned no more are left out.
        """
        marks = ", ".join("?" * len(idents))
        rows = self.rows(
            f"{_LESSON} WHERE w.id IN ({marks}) AND w.state = 'learned'", tuple(idents)
        )
        by_ident = {row[0]: _lesson(row) for row in rows}
        return [by_ident[ident] for ident in idents if ident in by_ident]

    def learned(self, margins: Iterable[tuple[int, float]], now: float) -> None:
        """Note that words were learned, with what the model said of each before.

        Within `transaction`.
        """
        with self.told() as db:
            db.executemany(
                (
                    "UPDATE word SET state = 'learned', margin = ?, changed = ? WHERE id = ? "
                    "AND state = 'queued'"
                ),
                [(margin, now, ident) for ident, margin in margins],
            )

    def note_rebuilt(self, margins: Iterable[tuple[int, float]], exact: int, epoch: int) -> None:
        """Note that weights were made anew.

        Args:
            margins: what they said of each word before it was learned.
            exact: the edit that they follow.
            epoch: how often they were made anew by now.
        """
        with self.transaction() as db:
            db.executemany(
                "UPDATE word SET margin = ? WHERE id = ?",
                [(margin, ident) for ident, margin in margins],
            )
            db.execute("UPDATE course SET exact = ?, epoch = ?", (exact, epoch))

    def refuse(self, ident: int, reason: str, now: float) -> None:
        """Note that a word can't be learned; within `transaction`."""
        with self.told() as db:
            db.execute(
                (
                    "UPDATE word SET state = 'refused', reason = ?, changed = ? WHERE id = ? "
                    "AND state = 'queued'"
                ),
                (reason, now, ident),
            )
            db.execute("DELETE FROM example WHERE id = ?", (ident,))

    def forget_examples(self, kept: int, position: int, most: int) -> int:
        """Forget the examples that there is no room for; return how many.

        Args:
            kept: examples of a class that weights are made anew from.
            position: of the newest snapshot: what was learned since is needed to follow it.
            most: rows of a class to forget at once.
        """
        removed = 0
        with self.transaction() as db:
            for kind in LabelKind:
                (number,) = db.execute(
                    "SELECT count(*) FROM example WHERE kind = ?", (kind,)
                ).fetchone()
                if number > room(kept):
                    removed += db.execute(
                        "DELETE FROM example WHERE id IN (SELECT id FROM example WHERE kind = ? "
                        "ORDER BY rank DESC, id DESC LIMIT ?)"
                        " AND id <= ?",
                        (kind, min(number - room(kept), most), position),
                    ).rowcount
        return removed

    def forget_words(self, before: float, most: int) -> int:
        """Forget words of long ago of which no example is kept; return how many.

        Args:
            before: Unix seconds; words said earlier go.
            most: rows to forget at once.
        """
        with self.transaction() as db:
            true = [
                ident
                for ident, position, words in self._snapshot_words()
                if self.held(position) == words
            ]
            rows_removed = db.execute(
                "DELETE FROM word WHERE id IN (SELECT w.id FROM word w WHERE w.time < ? AND "
                "w.state <> 'queued'"
                " AND NOT EXISTS (SELECT 1 FROM example e WHERE e.id = w.id) ORDER BY w.id LIMIT ?)",
                (before, most),
            ).rowcount
            if rows_removed:  # which makes no snapshot untrue
                for ident, position, _ in self._snapshot_words():
                    if ident in true:
                        db.execute(
                            "UPDATE snapshot SET words = ? WHERE id = ?",
                            (self.held(position), ident),
                        )
        return rows_removed

    def _snapshot_words(self) -> list[tuple[int, int, str]]:
        return self.rows("SELECT id, position, words FROM snapshot")

    def by_state(self) -> dict[tuple[str, str], int]:
        """Return how many labels there are, by state and kind."""
        rows = self.rows("SELECT state, kind, count(*) FROM word GROUP BY state, kind")
        return {(state, kind): number for state, kind, number in rows}

    def held(self, position: int) -> str:
        """Return which words up to a place are learned, in few numbers."""
        ((state,),) = self.rows(HELD, (position,))
        return str(state)

    def snapshots(self) -> list[WeightsSnapshot]:
        """Return the snapshots, the newest first."""
        rows = self.rows(
            "SELECT id, time, why, position, epoch, spam, ham FROM snapshot ORDER BY id DESC"
        )
        return [WeightsSnapshot(*row) for row in rows]

    def resumable_snapshots(self) -> list[WeightsSnapshot]:
        """Return the snapshots that hold exactly the words that stand, as far as they go, and from
        which all that was learned since can be followed.
        """
        true = {
            ident
            for ident, position, words in self._snapshot_words()
            if self.held(position) == words
        }
        return [
            snapshot
            for snapshot in self.snapshots()
            if snapshot.id in true and not self._forgotten_after(snapshot.position)
        ]

    def _forgotten_after(self, position: int) -> bool:
        ((number,),) = self.rows(
            "SELECT count(*) FROM word w WHERE w.id > ? AND w.state = 'learned'"
            " AND NOT EXISTS (SELECT 1 FROM example e WHERE e.id = w.id AND e.layout = ?)",
            (position, layout()),
        )
        return bool(number)

    def next_snapshot(self) -> int:
        """Return the id that the next snapshot will have."""
        rows = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'snapshot'")
        return int(rows[0][0]) + 1 if rows else 1

    def add_snapshot(self, snapshot: WeightsSnapshot, exact: int) -> None:
        """Note a snapshot.

        Args:
            snapshot: the snapshot, of weights that hold what was learned up to its position.
            exact: the edit that these weights follow; where there was another since, nobody goes on
                from it by himself.
        """
        with self.transaction() as db:
            words = self.held(snapshot.position) if self.standing().edits == exact else ""
            db.execute(
                (
                    "INSERT INTO snapshot (id, time, why, position, epoch, spam, ham, words) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                ),
                (*snapshot, words),
            )

    def drop_snapshots(self, idents: Iterable[int]) -> None:
        """Note that snapshots are gone."""
        with self.transaction() as db:
            db.executemany("DELETE FROM snapshot WHERE id = ?", [(ident,) for ident in idents])


def _lesson(row: tuple[int, str, str, float, str, bytes]) -> TrainingExample:
    ident, kind, person, weight, laid_out, octets = row
    return TrainingExample(ident, LabelKind(kind), person, weight, laid_out, octets)
