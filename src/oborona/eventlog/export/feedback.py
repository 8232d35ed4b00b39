"""The log `feedback`: what people said of messages, from the file of events."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from oborona.eventlog.export.own_log import OwnLog, plain_text
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.feedback.events.schema import SHARED
from oborona.policy import own_event_logs
from oborona.sqlite_file import checked_version, closed_on_error, connect

SCHEMA: Final = own_schema(
    own_event_logs.FEEDBACK,
    thresholds={"complaint": 100.0, "pardon": 100.0},
    outcomes=("believed", "weight", "reasons"),  # who was caught is believed less
)


class FeedbackLog(OwnLog):
    """Follows the events of people and traps."""

    schema = SCHEMA

    @staticmethod
    def person_names(name: str) -> tuple[str, ...]:
        """Return the name itself."""
        return (name,)

    def _open(self) -> sqlite3.Connection:
        db = connect(self._path, write=False)
        with closed_on_error(db, self._path):
            checked_version(db, self._path, SHARED.format)
        return db

    def _origin(self, db: sqlite3.Connection) -> str:
        ((name,),) = db.execute("SELECT name FROM origin").fetchall()
        return bytes(name).hex()

    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int:
        found = db.execute(
            "SELECT id FROM event WHERE heard < ? ORDER BY heard DESC, id DESC LIMIT 1", (before,)
        ).fetchone()
        return after if found is None else max(after, int(found[0]))

    def _rows(self, db: sqlite3.Connection, after: int, last: int) -> Iterable[EventRow]:
        for (
            number,
            what,
            way,
            time,
            heard,
            person,
            ident,
            name,
            source,
            decided,
            counts,
            weight,
            reasons,
        ) in db.execute(
            "SELECT id, what, way, time, heard, person, ident, message_id, source, decided,"
            " counts, weight, rules FROM event WHERE id > ? AND id <= ? ORDER BY id",
            (after, last),
        ):
            who = self._hasher.person(person)
            hashed = self._hasher.text(name) if name else None
            about = hashed if ident is None else ident
            told = who is not None and about is not None
            yield (
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
