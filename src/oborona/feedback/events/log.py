"""The log of events: written by doors, decided by the event processor, read by all.

Any number of processes use one file.

An event is durable once its transaction is.  Deciding it is a second transaction, carrying it out a
third.  `turn` counts the decisions of an event, `note_done` records which of them was carried out.
A process that is killed leaves `note_done` behind `turn`; the effects are then made again, each of
them once for a turn.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from oborona.doorbell import ring
from oborona.feedback.events.model import (
    MOST_RAW,
    OPPOSITE,
    EventChannel,
    EventDecision,
    EventKind,
    EventReceipt,
    EventSummary,
    FeedbackEvent,
    ReplacedDecision,
    StoredEvent,
)
from oborona.feedback.events.schema import SHARED
from oborona.sqlite_file import SharedSqliteFile

MOST_TEXT: Final = 400  # characters of a peer's text that are kept
_LEVEL: Final = 1  # of zlib: higher ones save a tenth and take twice the time
_AT_ONCE: Final = 500  # rows asked for by id
_COLUMNS: Final = (
    "id, what, way, time, heard, person, ident, message_id, mailbox, source, decided, counts, "
    "own, weight, rules, say,"
    " message, campaign, turn, done, word, effects"
)
_INSERT: Final = (
    "INSERT INTO event (what, way, time, heard, person, ident, message_id, mailbox, source, key)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_WEIGHED: Final = (
    "UPDATE campaign_person SET weight = (SELECT coalesce(max(weight), 0) FROM event WHERE campaign = ? AND person = ?"
    " AND what = ? AND counts) WHERE campaign = ? AND person = ? AND what = ?"
)
_EFFECTS: Final = msgspec.json.Decoder(tuple[str, ...])


class EventLog(SharedSqliteFile):
    """One process's access to the log; see `SharedSqliteFile`."""

    shared = SHARED

    def add(
        self,
        events: Sequence[FeedbackEvent],
        *,
        now: float,
        heard: Sequence[float] | None = None,
    ) -> list[EventReceipt]:
        """Write events down, all of them or none; when this returns they survive the power going.

        Args:
            events: in the order in which they came.
            now: Unix seconds.
            heard: the same of each, where they were heard before.

        Returns:
            What became of each.
        """
        packed = [
            zlib.compress(event.raw[:MOST_RAW], _LEVEL) if event.raw else b"" for event in events
        ]
        receipts = []
        with self.transaction() as db:
            for number, (event, octets) in enumerate(zip(events, packed, strict=True)):
                columns = (
                    event.key
                    and db.execute("SELECT id FROM event WHERE key = ?", (event.key,)).fetchone()
                )
                if columns:
                    receipts.append(EventReceipt(columns[0], new=False))
                    continue
                ident = insert(db, event, now if heard is None else heard[number])
                if octets:
                    db.execute("INSERT INTO raw VALUES (?, ?, ?)", (ident, len(event.raw), octets))
                receipts.append(EventReceipt(ident, new=True))
        ring(self.path)
        return receipts

    def said(self, ident: int) -> list[EventSummary]:
        """Return what persons did with a message of the journal, in order."""
        return self.summaries_of([ident]).get(ident, [])

    def summaries_of(self, idents: Sequence[int]) -> dict[int, list[EventSummary]]:
        """Return what persons did with each of some messages of the journal, in order.

        Those of which nothing is known are left out.
        """
        summaries: dict[int, list[EventSummary]] = {}
        for start in range(0, len(idents), _AT_ONCE):
            some = tuple(idents[start : start + _AT_ONCE])
            rows = self.rows(
                "SELECT ident, person, what, time, decided, counts FROM event"  # noqa: S608 - marks alone
                f" WHERE ident IN ({', '.join('?' * len(some))}) ORDER BY id",
                some,
            )
            for ident, person, kind, time, decided, counts in rows:
                believed = None if decided is None else bool(counts)
                summaries.setdefault(ident, []).append(
                    EventSummary(person, EventKind(kind), time, believed)
                )
        return summaries

    def opened(self) -> list[tuple[int, str, float]]:
        """Return who opened which message of the journal, by its id, and when, Unix seconds.

        What is not believed is left out.
        """
        return [
            (ident, person, when)
            for ident, person, when in self.rows(
                "SELECT ident, person, time FROM event WHERE what = 'read' AND counts"
                " AND ident IS NOT NULL AND person <> ''"
            )
        ]

    def undecided(self, after: int, most: int) -> list[StoredEvent]:
        """Return the first events behind a place that are not decided, in order."""
        return self._stored("decided IS NULL AND id > ? ORDER BY id LIMIT ?", (after, most))

    def undone(self, after: int, most: int) -> list[StoredEvent]:
        """Return the first events behind a place whose last decision has not all its effects, in
        order.
        """
        return self._stored("done < turn AND id > ? ORDER BY id LIMIT ?", (after, most))

    def waiting(self) -> tuple[int, int]:
        """Return how many events are not decided, and how many lack effects."""
        ((undecided,),) = self.rows("SELECT count(*) FROM event WHERE decided IS NULL")
        ((undone,),) = self.rows("SELECT count(*) FROM event WHERE done < turn")
        return int(undecided), int(undone)

    def first_waiting(self) -> float | None:
        """Return when the first event was heard that is not decided, or lacks effects.

        Unix seconds; None: there is none.
        """
        first = [
            *self.rows("SELECT heard FROM event WHERE decided IS NULL ORDER BY id LIMIT 1"),
            *self.rows("SELECT heard FROM event WHERE done < turn ORDER BY id LIMIT 1"),
        ]
        return min((float(heard) for (heard,) in first), default=None)

    def origin(self) -> bytes:
        """Return what tells this log from any other, 16 octets."""
        ((name,),) = self.rows("SELECT name FROM origin")
        return bytes(name)

    def get(self, ident: int) -> StoredEvent:
        """Return an event.

        Raises:
            KeyError: there is none of this id.
        """
        event = self.find(ident)
        if event is None:
            raise KeyError(ident)
        return event

    def find(self, ident: int) -> StoredEvent | None:
        """Return an event; None where there is none of this id."""
        return next(iter(self._stored("id = ?", (ident,))), None)

    def about(self, *, ident: int | None = None, message: bytes = b"") -> list[StoredEvent]:
        """Return the events about a message, in order.

        Args:
            ident: of the message in the journal; None = unknown.
            message: what it is known by; empty = unknown.
        """
        events = self._stored("ident = ?", (ident,)) if ident is not None else []
        events += self._stored("message = ?", (message,)) if message else []
        return sorted({event.id: event for event in events}.values(), key=lambda event: event.id)

    def of_campaign(self, campaign: int, most: int) -> list[StoredEvent]:
        """Return the last events of a campaign, in order."""
        return self._stored("campaign = ? ORDER BY id DESC LIMIT ?", (campaign, most))[::-1]

    def last(self, number: int, person: str | None = None) -> list[StoredEvent]:
        """Return the last events, the newest first; of a person alone where one is named."""
        if person is None:
            return self._stored("1 ORDER BY id DESC LIMIT ?", (number,))
        return self._stored("person = ? ORDER BY id DESC LIMIT ?", (person, number))

    def words_of(
        self, persons: Sequence[str], *, before: int | None, most: int
    ) -> list[StoredEvent]:
        """Return the last complaints and pardons of some persons, the newest first.

        Args:
            persons: as events name them.
            before: id; those before it alone.
            most: so many.
        """
        marks = ", ".join("?" * len(persons))
        condition = f"person IN ({marks}) AND what IN ('complaint', 'pardon')"
        end = (1 << 63) - 1 if before is None else before
        return self._stored(
            f"{condition} AND id < ? ORDER BY id DESC LIMIT ?", (*persons, end, most)
        )

    @property
    def is_common(self) -> bool:
        """Whether several machines have the log."""
        return self._replica is not None

    def entries(self, idents: Sequence[int]) -> dict[int, bytes]:
        """Return what journals of other machines know of the messages of some events, by the
        event's id.
        """
        marks = ", ".join("?" * len(idents))
        sql = f"SELECT id, message FROM entry WHERE id IN ({marks})"  # noqa: S608 - marks alone
        return {ident: bytes(octets) for ident, octets in self.rows(sql, tuple(idents))}

    def add_entries(self, entries: Mapping[int, bytes]) -> None:
        """Write down what this machine's journal knows of the messages of events, by their ids.

        Whoever was first is believed.
        """
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO entry VALUES (?, ?)", list(entries.items()))

    def raw(self, ident: int) -> bytes:
        """Return the message of an event as it was handed in, `MOST_RAW` octets of it.

        Empty where it is not kept, or damaged.
        """
        rows = self.rows("SELECT octets FROM raw WHERE id = ?", (ident,))
        if not rows:
            return b""
        try:
            return zlib.decompressobj().decompress(rows[0][0], MOST_RAW)
        except zlib.error:
            return b""

    def decisions(self, ident: int) -> list[ReplacedDecision]:
        """Return the decisions of an event that were replaced, in order."""
        rows = self.rows(
            "SELECT event, turn, time, counts, own, weight, rules, say FROM revision WHERE event = ? ORDER BY turn",
            (ident,),
        )
        return [
            ReplacedDecision(
                event, turn, time, bool(counts), bool(own), weight, tuple(rules.split()), say
            )
            for event, turn, time, counts, own, weight, rules, say in rows
        ]

    def decide(self, decisions: Sequence[tuple[int, EventDecision]], *, now: float) -> list[int]:
        """Decide events, or decide them again: all of them or none.

        Return those whose decision is another now.

        What followed from the decision before is taken back by whoever does the effects.

        Args:
            decisions: ids, and what is decided.
            now: Unix seconds.
        """
        with self.transaction() as db:
            return [ident for ident, decision in decisions if decide(db, ident, decision, now)]

    def restore(self, idents: Sequence[int], rule: str, *, now: float) -> list[int]:
        """Decide events as they were decided before a rule took them back: all of them or none.

        Return those that are. One that was not decided then waits to be.

        Args:
            idents: of events; those whose decision is not this rule's are passed over.
            rule: that took them back.
            now: Unix seconds.
        """
        with self.transaction() as db:
            return [ident for ident in idents if _restore(db, ident, rule, now)]

    def note_effects_done(self, effects: Iterable[tuple[int, int, int, Sequence[str]]]) -> None:
        """Note that the effects of decisions are there.

        Args:
            effects: id, turn, id of the word that followed (0 = none), and what followed in words;
                of each event.
        """
        with self.transaction() as db:
            for ident, turn, word, effect_lines in effects:
                note_done(db, ident, turn, word, effect_lines)

    def again(self, words: Sequence[int], but: int) -> None:
        """Have the effects of events done again that found what they say said by a word which is
        taken back now.

        Args:
            words: that are taken back.
            but: the event that they follow from.
        """
        if words:
            with self.transaction() as db:
                db.executemany(
                    "UPDATE event SET done = turn - 1 WHERE word = ? AND word <> 0 AND id <> ? AND done = turn AND (counts OR own)",
                    [(word, but) for word in words],
                )

    def forget_raw(self, before: float, most: int) -> int:
        """Forget raw copies of decided events that were written down before a time.

        Return how many.

        Args:
            before: Unix seconds.
            most: at once.
        """
        last = self.rows(
            "SELECT id FROM event WHERE heard < ? ORDER BY heard DESC LIMIT 1", (before,)
        )
        if not last or not self.rows("SELECT 1 FROM raw WHERE id <= ? LIMIT 1", last[0]):
            return 0
        with self.transaction() as db:
            idents = db.execute(
                "DELETE FROM raw WHERE id IN (SELECT r.id FROM raw r JOIN event e ON e.id = r.id"
                " WHERE r.id <= ? AND e.heard < ? AND e.decided IS NOT NULL AND e.done >= e.turn ORDER BY r.id LIMIT ?)"
                " RETURNING id",
                (*last[0], before, most),
            ).fetchall()
            db.executemany("DELETE FROM entry WHERE id = ?", idents)
        return len(idents)

    def forget(self, before: float, most: int, *, passing: bool) -> int:
        """Forget events that were written down before a time, once all is done about them.

        Return how many.

        Args:
            before: Unix seconds.
            most: at once.
            passing: reads and deletions; else all others.
        """
        kind = "what IN ('read', 'deleted')" if passing else "what NOT IN ('read', 'deleted')"
        over = f"heard < ? AND {kind}"
        if not self.rows(f"SELECT 1 FROM event WHERE {over} LIMIT 1", (before,)):  # noqa: S608 - literals above
            return 0
        with self.transaction() as db:
            idents = db.execute(
                f"DELETE FROM event WHERE id IN (SELECT id FROM event WHERE {over} AND decided IS NOT NULL"  # noqa: S608
                " AND done >= turn ORDER BY heard, id LIMIT ?) RETURNING id",
                (before, most),
            ).fetchall()
            db.executemany("DELETE FROM raw WHERE id = ?", idents)
            db.executemany("DELETE FROM entry WHERE id = ?", idents)
            db.executemany("DELETE FROM revision WHERE event = ?", idents)
        return len(idents)

    def shrink(self, pages: int) -> None:
        """Give some pages that nothing lies in back to the disk.

        In a site of several machines they are used again instead: no page is moved past the log.
        """
        if self._replica is not None:
            return
        with self.told() as db:
            db.execute(f"PRAGMA incremental_vacuum({int(pages)})").fetchall()

    def _stored(self, condition: str, values: tuple[Any, ...]) -> list[StoredEvent]:
        return [
            event_of_row(row)
            for row in self.rows(f"SELECT {_COLUMNS} FROM event WHERE {condition}", values)  # noqa: S608 - a literal
        ]


def decide(db: sqlite3.Connection, ident: int, decision: EventDecision, now: float) -> bool:
    """Decide an event within a transaction; return whether that is another decision than before."""
    row = db.execute(
        "SELECT turn, decided, counts, own, weight, rules, say, campaign, person, what FROM event WHERE id = ?",
        (ident,),
    ).fetchone()
    if row is None:
        return False
    turn, decided, counts, own, weight, rules, say, *of = row
    if decided is not None:
        if (bool(counts), bool(own), weight) == (decision.counts, decision.own, decision.weight):
            return False
        if rules == OPPOSITE:  # whoever decides it again read it before it was withdrawn
            return False
        db.execute(
            "INSERT INTO revision (event, turn, time, counts, own, weight, rules, say) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (ident, turn, decided, counts, own, weight, rules, say),
        )
    db.execute(
        "UPDATE event SET decided = ?, counts = ?, own = ?, weight = ?, rules = ?, say = ?, turn = turn + 1 WHERE id = ?",
        (
            now,
            decision.counts,
            decision.own,
            decision.weight,
            " ".join(decision.rules),
            _text(decision.say),
            ident,
        ),
    )
    if decided is not None:
        db.execute(_WEIGHED, (*of, *of))
    return True


def _restore(db: sqlite3.Connection, ident: int, rule: str, now: float) -> bool:
    """Restore the decision of an event within a transaction; return whether it was taken back."""
    row = db.execute("SELECT turn FROM event WHERE id = ? AND rules = ?", (ident, rule)).fetchone()
    if row is None:
        return False
    before = db.execute(
        "SELECT counts, own, weight, rules, say FROM revision WHERE event = ? AND turn = ?",
        (ident, row[0] - 1),
    ).fetchone()
    if before is None:  # it was taken back before anything was decided
        db.execute(
            "UPDATE event SET decided = NULL, counts = 0, own = 0, weight = 0, rules = '', say = ''"
            " WHERE id = ?",
            (ident,),
        )
        return True
    counts, own, weight, rules, say = before
    decision = EventDecision(
        counts=bool(counts), own=bool(own), weight=weight, rules=tuple(rules.split()), say=say
    )
    return decide(db, ident, decision, now)


def event_of_row(row: tuple[Any, ...]) -> StoredEvent:
    """Return what a row in the order of the columns holds."""
    return StoredEvent(
        id=row[0],
        what=EventKind(row[1]),
        way=EventChannel(row[2]),
        time=row[3],
        heard=row[4],
        person=row[5],
        ident=row[6],
        message_id=row[7],
        mailbox=row[8],
        source=row[9],
        decided=row[10],
        counts=bool(row[11]),
        own=bool(row[12]),
        weight=row[13],
        rules=tuple(row[14].split()),
        say=row[15],
        message=row[16] or b"",
        campaign=row[17],
        turn=row[18],
        done=row[19],
        word=row[20],
        effects=_EFFECTS.decode(row[21]),
    )


def note_done(
    db: sqlite3.Connection, ident: int, turn: int, word: int, effect_lines: Sequence[str]
) -> None:
    """Note within a transaction that the effects of a decision are there.

    See `EventLog.note_effects_done` for the arguments.
    """
    db.execute(
        "UPDATE event SET done = ?, word = ?, effects = ? WHERE id = ? AND done < ?",
        (turn, word, msgspec.json.encode(list(effect_lines)).decode(), ident, turn),
    )


def insert(db: sqlite3.Connection, event: FeedbackEvent, now: float) -> int:
    """Write an event down within a transaction; return its id."""
    cursor = db.execute(
        _INSERT,
        (
            event.what, event.way, event.time, now, _text(event.person), event.ident, _text(event.message_id), _text(event.mailbox),
            _text(event.source), event.key or None,
        ),
    )  # fmt: skip
    ident = cursor.lastrowid
    assert ident is not None
    return ident


def _text(text: str) -> str:
    """Return a peer's text as a store takes it: cut, and what is no Unicode in it as an escape."""
    return text[:MOST_TEXT].encode("utf-8", "backslashreplace").decode()
