"""Reviews a campaign: reports that would no longer be accepted are withdrawn, and its reporters'
records follow from the campaign's outcome.
"""

from __future__ import annotations

import sqlite3
from typing import Final

import msgspec

from oborona.feedback.antifraud.outcome import outcomes
from oborona.feedback.antifraud.revision import revise
from oborona.feedback.events.log import EventLog, decide
from oborona.feedback.events.model import EventDecision
from oborona.feedback.processing import campaigns
from oborona.feedback.processing.ports import PersonVerdicts

LOOK_S: Final = 20.0  # between two looks at a campaign that goes on
REVISED: Final = "REVISED"  # what was said since shows that it was wrong


def next_due_campaign(db: sqlite3.Connection, now: float) -> int:
    """Return the campaign that is to be gone over; 0: none is."""
    row = db.execute(
        (
            "SELECT id FROM campaign WHERE changed AND (looked < ? OR looked > ?) ORDER BY "
            "looked LIMIT 1"
        ),
        (now - LOOK_S, now),  # a clock that was set back holds up none
    ).fetchone()
    return int(row[0]) if row else 0


def review_campaign(log: EventLog, campaign: int, now: float, verdicts: PersonVerdicts) -> int:
    """Go over a campaign; return how many events are not believed any more.

    Args:
        log: of events; nobody else goes over campaigns.
        campaign: id.
        now: Unix seconds.
        verdicts: of event logs on persons.

    Raises:
        StoreError: the log can't be read or written.
    """
    with log.told() as db:
        events = campaigns.events_of(db, campaign, lambda person: verdicts.caught_days(person, now))
    removed = set(revise(events))  # outside of any transaction: it may take a second
    left = [
        msgspec.structs.replace(event, believed=False) if event.id in removed else event
        for event in events
    ]
    judged = {outcome.person: "right" if outcome.right else "wrong" for outcome in outcomes(left)}
    with log.transaction() as db:
        for ident in sorted(removed):
            (own,) = db.execute("SELECT own FROM event WHERE id = ?", (ident,)).fetchone()
            decide(
                db,
                ident,
                EventDecision(
                    counts=False,
                    own=bool(own),
                    rules=(REVISED,),
                    say="what was said since speaks against it",
                ),
                now,
            )
        for person in judged.keys() | campaigns.counted_outcomes(db, campaign).keys():
            campaigns.count_outcome(db, campaign, person, judged.get(person, ""))
        note_reviewed(db, campaign, now)
    return len(removed)


def note_reviewed(db: sqlite3.Connection, campaign: int, now: float) -> None:
    """Note within a transaction that a campaign was gone over."""
    db.execute("UPDATE campaign SET changed = 0, looked = ? WHERE id = ?", (now, campaign))
