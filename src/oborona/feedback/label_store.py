"""The store of labels: added and withdrawn; any number of processes use one file.

A label that a person repeats for one message counts once.  A later label of the same person for the
same message replaces the earlier one.  Labels of different people for one message each count.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from oborona.doorbell import ring
from oborona.feedback import voices
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.feature_layout import layout
from oborona.feedback.label import (
    JournaledLabel,
    Label,
    LabelKind,
    LabelSource,
    LabelState,
    LabelTally,
    RecordedLabel,
    StoredLabel,
)
from oborona.feedback.rank import rank_of
from oborona.types import Shingle

_COLUMNS: Final = (
    "id, time, kind, source, person, weight, message_id, journal, state, reason, changed, "
    "changed_by, margin"
)
_STANDS: Final = "state IN ('queued', 'learned', 'counted')"
_JOURNALED: Final = f"{_STANDS} AND journal IS NOT NULL"
_OPPOSITE: Final = "label {} says the opposite"  # why a word is taken back
_TAKE_BACK: Final = "UPDATE word SET state = 'taken-back', reason = ?, changed = ?, changed_by = ? WHERE id = ? AND state <> 'taken-back'"


class LabelStore(FeedbackConnection):
    """Access of tools and doors to the labels."""

    def add(self, words: Sequence[Label], *, now: float) -> list[RecordedLabel]:
        """Write words down, all of them or none; when this returns they survive the power going.

        Args:
            words: in the order in which they were said.
            now: Unix seconds.

        Returns:
            What became of each; of one with the mark of a word that is there, what became of that.
        """
        recorded = []
        with self.transaction() as db:
            for word in words:
                before = _followed(db, word.mark)
                if before is not None:
                    recorded.append(before)
                    continue
                stands = self._standing(db, word)
                if stands is not None and stands[1] == word.kind:
                    recorded.append(RecordedLabel(id=stands[0], new=False))
                    continue
                ident, counted = _insert(db, word, now)
                replaced = 0 if stands is None else int(stands[0])
                if replaced:
                    self._take_back(db, [replaced], _OPPOSITE.format(ident), word.person, now)
                recorded.append(
                    RecordedLabel(id=ident, new=True, replaced=replaced, counted=counted)
                )
        ring(self.path)
        return recorded

    def take_back(self, idents: Sequence[int], *, reason: str, by: str, now: float) -> list[int]:
        """Take words back, and forget what was computed of their messages.

        Args:
            idents: of the words; those that are refused or were taken back before are passed over.
            reason: for those who ask later.
            by: who does it.
            now: Unix seconds.

        Returns:
            Those that were taken back now.
        """
        with self.transaction() as db:
            withdrawn = self._take_back(db, idents, reason, by, now)
            db.execute("UPDATE course SET hurry = edits")
        ring(self.path)
        return withdrawn

    def withdrawable(self, idents: Sequence[int]) -> list[int]:
        """Return the words that `take_back` would take back of some, in order."""
        over = (LabelState.TAKEN_BACK, LabelState.REFUSED)
        return [ident for ident, state in sorted(self.states(idents).items()) if state not in over]

    def rollback_figures(self, snapshot: int) -> tuple[int, int]:
        """Return how many words `roll_back` would set aside, and how many put in place again.

        Raises:
            KeyError: there is no such snapshot.
        """
        rows = self.rows("SELECT time, position FROM snapshot WHERE id = ?", (snapshot,))
        if not rows:
            raise KeyError(snapshot)
        when, position = rows[0]
        ((aside, back),) = self.rows(
            "SELECT count(CASE WHEN id > ?1 AND state = 'learned' THEN 1 END),"
            " count(CASE WHEN id <= ?1 AND state = 'set-aside' AND changed >= ?2 THEN 1 END) FROM word",
            (position, when),
        )
        return int(aside), int(back)

    def roll_back(self, snapshot: int, *, by: str, now: float) -> tuple[int, int]:
        """Ask for the weights of a snapshot: what was learned since is set aside, what was set
        aside since is put in place again.

        Returns:
            How many words were set aside, and how many put in place again.

        Raises:
            KeyError: there is no such snapshot.
        """
        with self.transaction() as db:
            row = db.execute(
                "SELECT time, position FROM snapshot WHERE id = ?", (snapshot,)
            ).fetchone()
            if row is None:
                raise KeyError(snapshot)
            when, position = row
            aside = db.execute(
                "UPDATE word SET state = 'set-aside', reason = ?, changed = ?, changed_by = ? WHERE id > ? AND state = 'learned'",
                (f"rolled back to snapshot {snapshot}", now, by, position),
            ).rowcount
            back = db.execute(
                "UPDATE word SET state = 'learned', reason = '', changed = ?, changed_by = ?"
                " WHERE id <= ? AND state = 'set-aside' AND changed >= ?",
                (now, by, position, when),
            ).rowcount
            if aside or back:
                db.execute("UPDATE course SET edits = edits + 1")
                db.execute("UPDATE course SET hurry = edits")
        return aside, back

    def get(self, ident: int) -> StoredLabel:
        """Return a word.

        Raises:
            KeyError: there is none of this id.
        """
        rows = self.rows(f"SELECT {_COLUMNS} FROM word WHERE id = ?", (ident,))  # noqa: S608
        if not rows:
            raise KeyError(ident)
        return label_of_row(rows[0])

    def standing(self, word: Label) -> StoredLabel | None:
        """Return the word that the same person said of the same message, if it stands."""
        with self.told() as db:
            stands = self._standing(db, word)
        return None if stands is None else self.get(stands[0])

    def of_marks(self, marks: Sequence[bytes]) -> list[int]:
        """Return the words that follow from some decisions, whether they stand or not."""
        labels = []
        for mark in marks:
            labels += [
                ident for (ident,) in self.rows("SELECT id FROM word WHERE mark = ?", (mark,))
            ]
        return labels

    def of_person(self, person: str) -> list[int]:
        """Return the words of a person that stand."""
        return [
            ident
            for (ident,) in self.rows(
                f"SELECT id FROM word WHERE person = ? AND {_STANDS}",  # noqa: S608 - a literal
                (person,),
            )
        ]

    def since(self, when: float) -> list[int]:
        """Return the words said since a time that stand."""
        return [
            ident
            for (ident,) in self.rows(f"SELECT id FROM word WHERE time >= ? AND {_STANDS}", (when,))  # noqa: S608
        ]

    def last(self, number: int, person: str | None = None) -> list[StoredLabel]:
        """Return the last words, the newest first; of a person alone where one is named."""
        of = "WHERE person = ?" if person is not None else ""
        sql = f"SELECT {_COLUMNS} FROM word {of} ORDER BY id DESC LIMIT ?"  # noqa: S608 - literals above
        return [
            label_of_row(row)
            for row in self.rows(sql, (number,) if person is None else (person, number))
        ]

    def journaled(self) -> list[JournaledLabel]:
        """Return the labels that stand and name an entry of the journal, in the order in which they
        were written down.
        """
        return [
            JournaledLabel(journal, LabelKind(kind), person, weight, when)
            for journal, kind, person, weight, when in self.rows(
                f"SELECT journal, kind, person, weight, time FROM word WHERE {_JOURNALED} ORDER BY id"  # noqa: S608 - literals
            )
        ]

    def tally(self) -> LabelTally:
        """Return of how many messages of the journal the labels are that stand for all."""
        ((spam, ham, first, last),) = self.rows(
            "SELECT count(DISTINCT CASE kind WHEN 'spam' THEN journal END),"  # noqa: S608 - literals
            " count(DISTINCT CASE kind WHEN 'ham' THEN journal END), ifnull(min(time), 0),"
            f" ifnull(max(time), 0) FROM word WHERE {_JOURNALED} AND weight > 0"
        )
        return LabelTally(spam, ham, first, last)

    def states(self, idents: Sequence[int]) -> dict[int, LabelState]:
        """Return the state of each of some words."""
        states: dict[int, LabelState] = {}
        for start in range(0, len(idents), 500):
            some = idents[start : start + 500]
            marks = ", ".join("?" * len(some))
            sql = f"SELECT id, state FROM word WHERE id IN ({marks})"  # noqa: S608
            states.update(
                (ident, LabelState(state)) for ident, state in self.rows(sql, tuple(some))
            )
        return states

    @staticmethod
    def _standing(db: sqlite3.Connection, word: Label) -> tuple[int, str] | None:
        """Return the word that the same person said of the same message, if it stands."""
        row: tuple[int, str] | None = db.execute(
            f"SELECT id, kind FROM word WHERE digest = ? AND person = ? AND {_STANDS} ORDER BY id DESC LIMIT 1",  # noqa: S608
            (word.digest, word.person),
        ).fetchone()
        return row

    @staticmethod
    def _take_back(
        db: sqlite3.Connection, idents: Sequence[int], reason: str, by: str, now: float
    ) -> list[int]:
        withdrawn, edited = [], False
        for ident in idents:
            row = db.execute("SELECT state FROM word WHERE id = ?", (ident,)).fetchone()
            if row is None or row[0] in (LabelState.TAKEN_BACK, LabelState.REFUSED):
                continue
            db.execute(_TAKE_BACK, (reason, now, by, ident))
            db.execute("DELETE FROM example WHERE id = ?", (ident,))
            withdrawn.append(ident)
            edited |= row[0] == LabelState.LEARNED
        if edited:
            db.execute("UPDATE course SET edits = edits + 1")
        return withdrawn


def _followed(db: sqlite3.Connection, mark: bytes) -> RecordedLabel | None:
    """Return what became of the word of a decision; None where none follows from it yet."""
    row = mark and db.execute("SELECT id, counts FROM word WHERE mark = ?", (mark,)).fetchone()
    if not row:
        return None
    replaced = db.execute(
        "SELECT id FROM word WHERE state = 'taken-back' AND reason LIKE ? AND (digest, person) ="
        " (SELECT digest, person FROM word WHERE id = ?)",
        (f"% {row[0]} says the opposite", row[0]),  # older versions say "word" for "label"
    ).fetchone()
    return RecordedLabel(
        id=row[0], new=True, replaced=replaced[0] if replaced else 0, counted=row[1]
    )


def _insert(db: sqlite3.Connection, word: Label, now: float) -> tuple[int, int]:
    """Write a word down; return its id, and on how many pieces it counts."""
    rank = rank_of(word.digest, word.person, word.time)
    state = LabelState.QUEUED if word.features else LabelState.COUNTED
    cursor = db.execute(
        "INSERT INTO word (time, kind, source, person, weight, digest, message_id, journal, rank, state, changed, event, mark)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            word.time, word.kind, word.source, word.person, word.weight, word.digest, word.message_id, word.journal,
            rank, state, now, word.event, word.mark or None,
        ),
    )  # fmt: skip
    ident = cursor.lastrowid
    assert ident is not None
    if word.features:
        db.execute(
            "INSERT INTO example (id, kind, rank, layout, features) VALUES (?, ?, ?, ?, ?)",
            (ident, word.kind, rank, layout(), word.features),
        )
    counts = voices.independent(db, word.voices, word.pieces, ident, now)
    db.execute("UPDATE word SET counts = ? WHERE id = ?", (len(counts), ident))
    db.execute(
        "INSERT INTO counted (id, pieces, wanted, held) VALUES (?, ?, 1, 0)",
        (ident, pack_shingles(counts)),
    )
    return ident, len(counts)


def label_of_row(row: tuple[Any, ...]) -> StoredLabel:
    """Return what a row in the order of the columns holds."""
    (
        ident,
        when,
        kind,
        source,
        person,
        weight,
        message_id,
        journal,
        state,
        reason,
        changed,
        by,
        margin,
    ) = row
    return StoredLabel(
        id=ident,
        time=when,
        kind=LabelKind(kind),
        source=LabelSource(source),
        person=person,
        weight=weight,
        message_id=message_id,
        journal=journal,
        state=LabelState(state),
        reason=reason,
        changed=changed,
        changed_by=by,
        margin=margin,
    )


def pack_shingles(pieces: Sequence[Shingle]) -> bytes:
    """Return shingles as octets."""
    return struct.pack("<" + "BQ" * len(pieces), *chain.from_iterable(pieces))


def unpack_shingles(octets: bytes) -> tuple[Shingle, ...]:
    """Return the shingles of octets."""
    return tuple(Shingle(*pair) for pair in struct.iter_unpack("<BQ", octets))
