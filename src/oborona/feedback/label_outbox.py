"""The outbox of labels to the counters: what each label adds and since when, so that it is counted
once and subtracted at the time at which it was counted.

    held    0: not in the counters; 1: in the counters; 2: a change is under way, or was when the
            process was killed

`wanted` tells whether the label is in force: it is false of a label that was withdrawn, set aside
or refused.  A trigger in the file keeps it, whoever changes the label.  A label with `wanted` and
not `held` must be added, one with `held` and not `wanted` subtracted; one with `held` = 2 stays as
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from oborona.doorbell import ring
from oborona.feedback import voices
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_store import pack_shingles, unpack_shingles
from oborona.types import Shingle

_OPEN: Final = (
    "SELECT c.id, w.kind, w.source, c.pieces, c.wanted, c.at FROM counted c JOIN word w ON w.id = "
    "c.id"
    " WHERE c.held <> c.wanted AND c.held <> 2 ORDER BY c.id LIMIT ?"
)
_BEGIN: Final = "UPDATE counted SET held = 2, at = ? WHERE id = ?"
_END: Final = "UPDATE counted SET held = ? WHERE id = ?"
# A word that was set aside may be put in place again.
_DROP: Final = (
    "DELETE FROM counted WHERE id = ? AND held = 0 AND id IN (SELECT id FROM word WHERE state "
    "IN ('taken-back', 'refused'))"
)
_NEWS: Final = (
    "INSERT INTO news (time, word, kind, source, wanted, pieces) VALUES (?, ?, ?, ?, ?, ?)"
)


class LabelCountChange(NamedTuple):
    """A label to be counted, or to be subtracted."""

    id: int
    kind: LabelKind
    source: LabelSource
    pieces: tuple[Shingle, ...]
    wanted: bool  # to be counted
    at: float  # Unix seconds: the bucket that counts


class LabelCountNews(NamedTuple):
    """A label that was counted, or subtracted."""

    place: int
    time: float  # Unix seconds
    word: int
    kind: LabelKind
    source: LabelSource
    wanted: bool  # counted
    pieces: tuple[Shingle, ...]
    journal: int | None  # id of its message there; None: not known, or forgotten


class LabelOutbox:
    """The table `counted` of the file of labels, for the one process that counts."""

    def __init__(self, connection: FeedbackConnection) -> None:
        self._connection = connection

    def begin(self, most: int, now: float) -> list[LabelCountChange]:
        """Note of the first words that are to be counted or taken back that this is being done.

        Return them.

        Args:
            most: words.
            now: Unix seconds; those that were never counted count under it.
        """
        if not self._connection.rows(_OPEN, (1,)):
            return []
        with self._connection.transaction() as db:
            changes = [_change(row, now) for row in db.execute(_OPEN, (most,))]
            db.executemany(_BEGIN, [(change.at, change.id) for change in changes])
        return changes

    def end(self, changes: Sequence[LabelCountChange], now: float) -> None:
        """Note that changes are made; what is taken back for good is forgotten.

        Args:
            changes: that `begin` returned, handed over to the counters.
            now: Unix seconds.
        """
        with self._connection.transaction() as db:
            db.executemany(_END, [(int(change.wanted), change.id) for change in changes])
            db.executemany(_DROP, [(change.id,) for change in changes if not change.wanted])
            db.executemany(
                _NEWS,
                [
                    (
                        now,
                        change.id,
                        change.kind,
                        change.source,
                        change.wanted,
                        pack_shingles(change.pieces),
                    )
                    for change in changes
                    if change.pieces
                ],
            )
        ring(self._connection.path)

    def news(self, after: int, most: int) -> list[LabelCountNews]:
        """Return the first words behind a place that were counted or taken back, in that order.

        The counters have them a moment later: what was handed over is merged by their writer.
        """
        rows = self._connection.rows(
            (
                "SELECT n.place, n.time, n.word, n.kind, n.source, n.wanted, n.pieces, w.journal"
                " FROM news n LEFT JOIN word w ON w.id = n.word WHERE n.place > ?"
                " ORDER BY n.place LIMIT ?"
            ),
            (after, most),
        )
        return [
            LabelCountNews(
                place,
                time,
                word,
                LabelKind(kind),
                LabelSource(source),
                bool(counted),
                unpack_shingles(pieces),
                journal,
            )
            for place, time, word, kind, source, counted, pieces, journal in rows
        ]

    def newest(self) -> int:
        """Return the place of the last news there ever was; 0: there was none."""
        rows = self._connection.rows("SELECT seq FROM sqlite_sequence WHERE name = 'news'")
        return int(rows[0][0]) if rows else 0

    def forget_news(self, before: float, most: int) -> int:
        """Forget news of before a time, Unix seconds; return how many."""
        if not self._connection.rows(
            "SELECT 1 FROM (SELECT time FROM news ORDER BY place LIMIT 1) WHERE time < ?", (before,)
        ):
            return 0
        with self._connection.transaction() as db:
            return db.execute(
                (
                    "DELETE FROM news WHERE place IN (SELECT place FROM news ORDER BY place "
                    "LIMIT ?) AND time < ?"
                ),
                (most, before),
            ).rowcount

    def forget(self, before: float) -> None:
        """Forget what was counted before a time, Unix seconds: no window holds it any more."""
        if self._connection.rows("SELECT 1 FROM counted WHERE at < ? LIMIT 1", (before,)):
            with self._connection.transaction() as db:
                db.execute("DELETE FROM counted WHERE at < ?", (before,))
                voices.forget(db, before)


def _change(row: tuple[Any, ...], now: float) -> LabelCountChange:
    ident, kind, source, pieces, counted, at = row
    return LabelCountChange(
        ident,
        LabelKind(kind),
        LabelSource(source),
        unpack_shingles(pieces),
        bool(counted),
        now if at is None else at,
    )
