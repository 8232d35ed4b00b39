"""Records what an admin teaches in the log of events, as decided and done at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from oborona.feedback.events.log import EventLog, decide, insert, note_done
from oborona.feedback.events.model import (
    OPPOSITE,
    EventChannel,
    EventDecision,
    EventKind,
    FeedbackEvent,
)
from oborona.feedback.label import Label, LabelKind, RecordedLabel
from oborona.feedback.processing import campaigns
from oborona.reputation.personal import mail_address


class TaughtLabel(NamedTuple):
    """A label that an admin taught."""

    word: Label
    heard: RecordedLabel  # what became of it
    own: tuple[str, ...]  # what followed for the person's own mail, in words


def log_taught_labels(
    log: EventLog, taught: Sequence[TaughtLabel], *, source: str, now: float
) -> list[int]:
    """Write a line for each word that is new; return their ids.

    The site's own word settles what its campaign is; what an admin says for a person is that
    person's.

    Args:
        log: of events.
        taught: in order.
        source: who taught them.
        now: Unix seconds.

    Raises:
        StoreError: they can't be written.
    """
    lines = []
    with log.transaction() as db:
        for label in taught:
            if label.heard.new:
                lines.append(_line(db, label, source, now))
                if label.heard.replaced:
                    _replaced(db, label.heard.replaced, lines[-1], now)
    return lines


def _line(db: sqlite3.Connection, label: TaughtLabel, source: str, now: float) -> int:
    word = label.word
    ident = insert(
        db,
        FeedbackEvent(
            what=EventKind.COMPLAINT if word.kind is LabelKind.SPAM else EventKind.PARDON,
            way=EventChannel.COMMAND,
            time=word.time,
            person=mail_address(word.person),
            ident=word.journal,
            message_id=word.message_id,
            source=source,
        ),
        now,
    )
    campaign = 0 if word.person else campaigns.campaign_of(db, word.pieces, now)
    db.execute(
        "UPDATE event SET message = ?, campaign = ? WHERE id = ?", (word.digest, campaign, ident)
    )
    decide(db, ident, EventDecision(counts=True, own=bool(label.own), weight=1.0), now)
    effects = [
        (
            f"label {label.heard.id}: trained with weight {word.weight:.2f}, {len(word.pieces)} "
            f"hashes counted"
        ),
        *label.own,
    ]
    note_done(db, ident, 1, label.heard.id, effects)
    if campaign:
        campaigns.note_site_decision(db, campaign, now)
    return ident


def _replaced(db: sqlite3.Connection, word: int, by: int, now: float) -> None:
    """Decide that the event of a word which the opposite one took the place of is no more."""
    for (ident,) in db.execute(
        "SELECT id FROM event WHERE word = ? AND word <> 0 ORDER BY id", (word,)
    ).fetchall():
        say = f"the same is said to be the opposite in event {by}"
        decide(db, ident, EventDecision(counts=False, own=False, rules=(OPPOSITE,), say=say), now)
