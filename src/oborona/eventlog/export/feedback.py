"""The log `feedback`: what people said of messages, from the file of events."""

from __future__ import annotations

import sqlite3
from typing import Final

from oborona.eventlog.export.own_log import plain_text
from oborona.eventlog.export.state_log import StateLog
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.feedback.events.schema import SHARED
from oborona.policy import own_event_logs

SCHEMA: Final = own_schema(
    own_event_logs.FEEDBACK,
    thresholds={"complaint": 100.0, "pardon": 100.0},
    outcomes=("believed", "weight", "reasons"),  # who was caught is believed less
)


class FeedbackLog(StateLog):
    """Follows the events of people and traps; a person's name is an address itself."""

    schema = SCHEMA
    kind = SHARED
    last = "SELECT id FROM event WHERE heard < ? ORDER BY heard DESC, id DESC LIMIT 1"
    rows = (
        "SELECT id, what, way, time, heard, person, ident, message_id, source, decided,"
        " counts, weight, rules FROM event WHERE id > ? AND id <= ? ORDER BY id"
    )

    def _origin(self, db: sqlite3.Connection) -> str:
        ((name,),) = db.execute("SELECT name FROM origin").fetchall()
        return bytes(name).hex()

    def _event(
        self,
        number: int,
        what: str,
        way: str,
        time: float,
        heard: float,
        person: str,
        ident: int | None,
        name: str,
        source: str,
        decided: float | None,
        counts: int,
        weight: float,
        reasons: str,
    ) -> EventRow:
        who = self._person(person)
        hashed = self._hasher.text(name) if name else None
        about = hashed if ident is None else ident
        told = who is not None and about is not None
        return (
            number,
            microseconds(time),
            what,
            who,
            self._hasher.event(what, who, (about,)) if told else None,
            way,
            microseconds(heard),
            ident,
            hashed,
            self._hasher.text(source) if source else None,
            None if decided is None else bool(counts),
            None if decided is None else weight,
            plain_text(reasons),
        )
