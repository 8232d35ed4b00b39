"""What events change in the counters beside labels: reads, deletions unread, and the spam that a
pardoned message was counted as.

The protocol is that of labels (`label_outbox.py`): an effect is noted before and after it is made.
It counts once, and is subtracted at the time at which it was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label_store import pack_shingles, unpack_shingles
from oborona.types import Shingle

_OPEN: Final = (
    "SELECT id, kind, pieces, wanted, at FROM effect WHERE held <> wanted AND held <> 2 "
    "ORDER BY id LIMIT ?"
)
_PUT: Final = (
    "INSERT INTO effect (mark, kind, pieces, wanted, held, at) VALUES (?, ?, ?, 1, 0, ?)"
    " ON CONFLICT (mark, kind) DO UPDATE SET wanted = 1"
)


class CountedEffect(StrEnum):
    """The kinds of effects on the counters."""

    READ = "read"  # a person opened it
    DELETED = "deleted"  # a person threw it away unread
    FORGIVEN = "forgiven"  # the message was no spam: what its verdict counted as spam is taken back


class EffectChange(NamedTuple):
    """An effect that is to be added to the counters, or subtracted."""

    id: int
    kind: CountedEffect
    pieces: tuple[Shingle, ...]
    wanted: bool  # to be counted
    at: float  # Unix seconds: the bucket that counts


class EffectRequest(NamedTuple):
    """A requested effect."""

    mark: bytes  # of the decision that it follows from
    kind: CountedEffect
    pieces: tuple[Shingle, ...]
    at: float | None  # Unix seconds: the bucket that counts; None = that in which it is counted


def forgiven_mark(journal: int) -> bytes:
    """Return the mark of a message of the journal whose verdict counts as spam no more, whoever
    pardoned it.
    """
    return b"journal " + journal.to_bytes(8)


def forgiven_late_mark(journal: int) -> bytes:
    """Return the same of what was found in it after the answer."""
    return b"late    " + journal.to_bytes(8)


class EffectOutbox:
    """The table `effect` of the file of labels."""

    def __init__(self, connection: FeedbackConnection) -> None:
        self._connection = connection

    def want(self, requests: Iterable[EffectRequest]) -> None:
        """Write down what is to be counted; what follows from the same decision is counted once."""
        rows = [
            (request.mark, request.kind, pack_shingles(request.pieces), request.at)
            for request in requests
            if request.pieces
        ]
        if rows:
            with self._connection.transaction() as db:
                db.executemany(_PUT, rows)

    def take_back(self, marks: Sequence[bytes]) -> None:
        """Write down that what follows from decisions is to be taken back."""
        if marks:
            with self._connection.transaction() as db:
                for mark in marks:
                    db.execute("UPDATE effect SET wanted = 0 WHERE mark = ?", (mark,))
                    db.execute("DELETE FROM effect WHERE mark = ? AND held = 0", (mark,))

    def states(self, mark: bytes) -> dict[CountedEffect, tuple[bool, bool | None]]:
        """Return of each effect of a decision whether it is wanted, and whether the counters have
        it (None: in doubt).
        """
        rows = self._connection.rows(
            "SELECT kind, wanted, held FROM effect WHERE mark = ?", (mark,)
        )
        return {
            CountedEffect(kind): (bool(counted), None if stands == 2 else bool(stands))
            for kind, counted, stands in rows
        }

    def begin(self, most: int, now: float) -> list[EffectChange]:
        """Note of the first that are to be counted or taken back that this is being done.

        Return them.

        Args:
            most: at once.
            now: Unix seconds; those of no time of their own count under it.
        """
        if not self._connection.rows(_OPEN, (1,)):
            return []
        with self._connection.transaction() as db:
            due = [_due(row, now) for row in db.execute(_OPEN, (most,))]
            db.executemany(
                "UPDATE effect SET held = 2, at = ? WHERE id = ?",
                [(effect.at, effect.id) for effect in due],
            )
        return due

    def end(self, due: Sequence[EffectChange]) -> None:
        """Note that they are done; what is taken back is forgotten."""
        with self._connection.transaction() as db:
            db.executemany(
                "UPDATE effect SET held = ? WHERE id = ?",
                [(int(effect.wanted), effect.id) for effect in due],
            )
            db.executemany(
                "DELETE FROM effect WHERE id = ?",
                [(effect.id,) for effect in due if not effect.wanted],
            )

    def forget(self, before: float) -> None:
        """Forget what was counted before a time, Unix seconds: no window holds it any more."""
        if self._connection.rows("SELECT 1 FROM effect WHERE at < ? LIMIT 1", (before,)):
            with self._connection.transaction() as db:
                db.execute("DELETE FROM effect WHERE at < ?", (before,))


def _due(row: tuple[Any, ...], now: float) -> EffectChange:
    ident, kind, pieces, counted, at = row
    return EffectChange(
        ident,
        CountedEffect(kind),
        unpack_shingles(pieces),
        bool(counted),
        now if at is None else at,
    )
