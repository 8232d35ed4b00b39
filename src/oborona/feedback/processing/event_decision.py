"""Decides one event: gathers its circumstances, asks antifraud, and writes the decision down with
what it changes for later events.

One transaction on the log of events, so that each event sees all earlier decisions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from oborona.feedback.antifraud.belief import believe
from oborona.feedback.antifraud.model import EventCircumstances
from oborona.feedback.events.log import decide
from oborona.feedback.events.model import (
    OPPOSITE,
    EventChannel,
    EventDecision,
    EventKind,
    StoredEvent,
)
from oborona.feedback.processing import campaigns, persons
from oborona.feedback.processing.event_message import KINDS, EventMessage

UNREADABLE: Final = "UNREADABLE"  # there is nothing in it that can be judged
# from when it was done to when it was written down: it lay in a spool, or a program told of it
# later
TOLD_LATE_S: Final = 1.0
DUPLICATE: Final = "DUPLICATE"  # as the rule of antifraud
_WORDS: Final = (EventKind.COMPLAINT, EventKind.PARDON)
_OF_THE_SAME: Final = (
    "person = :person AND (message = :message OR ident = :ident) AND id < :id AND decided IS NOT NULL"
    f" AND rules <> '{OPPOSITE}' AND (way = 'report') = :report"
)
"""Which decided reports of the same person are about the same message, and stand.

What another site reports in somebody's name, and what they say here themselves, know nothing of
each other: a report is anybody's.
"""


def decide_event(
    db: sqlite3.Connection,
    event: StoredEvent,
    about: EventMessage,
    *,
    asked_for: bool,
    now: float,
    caught: int = 0,
) -> EventDecision:
    """Decide an event; return what was decided.

    Args:
        db: within a transaction.
        event: that is not decided.
        about: the message that it is about.
        asked_for: the person wanted mail of this sender.
        now: Unix seconds.
        caught: days of the last month on which event logs caught the person.
    """
    if about.why_unusable:
        nothing = EventDecision(
            counts=False, own=False, rules=(UNREADABLE,), say=about.why_unusable
        )
        decide(db, event.id, nothing, now)
        return nothing
    journaled = about.known
    ident = journaled.id if journaled is not None else None if about.forged else event.ident
    same = {
        "person": event.person,
        "message": about.message or None,
        "ident": ident,
        "id": event.id,
        "report": event.way is EventChannel.REPORT,
    }
    before = _earlier(db, event.what, same)
    earlier = before[1] if before is not None else None
    if (
        before is not None
        and earlier is not event.what
        and event.time < min(before[2], event.heard - TOLD_LATE_S)
    ):
        db.execute(
            "UPDATE event SET ident = ?, message = ? WHERE id = ?",
            (ident, about.message or None, event.id),
        )
        say = f"the person said the opposite later, in report {before[0]}"
        past = EventDecision(counts=False, own=False, rules=(OPPOSITE,), say=say)
        decide(db, event.id, past, now)
        return past
    campaign = campaigns.campaign_of(db, about.pieces, now) if event.what in KINDS else 0
    record = (
        persons.record_of(db, event.person, now, caught=caught) if event.person else persons.NOBODY
    )
    circumstances = EventCircumstances(
        what=event.what,
        way=event.way,
        time=min(event.time, event.heard),  # a claim about the future makes nobody older
        person=event.person,
        signed=about.signed,
        delivered=journaled.time if journaled is not None else 0.0,
        verdict=journaled.verdict if journaled is not None else None,
        recipient=journaled is not None and event.person in journaled.recipients,
        asked_for=asked_for,
        earlier=earlier,
        repeated=campaigns.repeated(db, campaign, event.person, event.what, about.message, now)
        if campaign
        else 0,
        record=record,
        campaign=campaigns.state_of(db, campaign, now) if campaign else campaigns.NOTHING,
        thresholds=persons.limits_of(db, now),
    )
    belief = believe(circumstances)
    # another site reports for people of its own
    ours = bool(event.person) and event.way is not EventChannel.REPORT
    own = ours and event.what in _WORDS and about.signed and circumstances.recipient
    duplicate = DUPLICATE in belief.rules
    if belief.takes_back and earlier is not None:
        _withdraw(db, earlier, same, now)
    db.execute(
        "UPDATE event SET ident = ?, message = ?, campaign = ? WHERE id = ?",
        (
            ident,
            about.message or None,
            0 if duplicate else campaign,
            event.id,
        ),
    )
    decision = EventDecision(
        counts=belief.counts,
        own=own and not duplicate,
        weight=belief.weight,
        rules=belief.rules,
        say=belief.say,
    )
    decide(db, event.id, decision, now)
    if duplicate:
        return decision
    if event.person and event.way is not EventChannel.COMMAND:
        persons.note(db, event.person, event.what, time=event.heard, now=now)
    if campaign:
        campaigns.note(
            db,
            campaign,
            event.what,
            person=event.person,
            record=record,
            weight=belief.weight,
            now=now,
        )
    return decision


def _earlier(
    db: sqlite3.Connection, what: EventKind, same: Mapping[str, object]
) -> tuple[int, EventKind, float] | None:
    """Return the last report of `_OF_THE_SAME`, a complaint or pardon, or the same read or delete.

    Args:
        db: within a transaction.
        what: is said now.
        same: the values of `_OF_THE_SAME`.

    Returns:
        Its id, what it says, and when it was done; None where there is none.
    """
    kinds = _WORDS if what in _WORDS else (what,)
    row = db.execute(
        f"SELECT id, what, time FROM event WHERE {_OF_THE_SAME}"  # noqa: S608 - literals
        f" AND what IN ({', '.join(repr(kind.value) for kind in kinds)}) ORDER BY id DESC LIMIT 1",
        same,
    ).fetchone()
    return None if row is None else (row[0], EventKind(row[1]), row[2])


def _withdraw(
    db: sqlite3.Connection, kind: EventKind, same: Mapping[str, object], now: float
) -> None:
    """Decide that the word of a person who says the opposite now is no more.

    All their reports that have a word go: behind the one that counts there may be duplicates of it.

    Args:
        db: within a transaction.
        kind: they said until now.
        same: the values of `_OF_THE_SAME`.
        now: Unix seconds.
    """
    reports = db.execute(
        f"SELECT id FROM event WHERE {_OF_THE_SAME} AND what = :what AND (counts OR own) ORDER BY id",  # noqa: S608 - literals
        {**same, "what": kind},
    ).fetchall()
    say = f"the person says the opposite in report {same['id']}"
    for (ident,) in reports:
        decide(db, ident, EventDecision(counts=False, own=False, rules=(OPPOSITE,), say=say), now)
