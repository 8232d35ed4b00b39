"""The log `refusals`: what was refused before its content, a row for those of a network that are
counted together; its person is the network.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from oborona.eventlog.export.own_log import OwnLog, plain_text
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.ident import first_id_at
from oborona.journal import schema as journal
from oborona.journal.refusal import COLLAPSE_S
from oborona.journal.texts import unpack_text
from oborona.policy import own_event_logs

SCHEMA: Final = own_schema(own_event_logs.REFUSALS, threshold=1000.0)


class RefusalLog(OwnLog):
    """Follows refusals, once nothing is added to their numbers any more."""

    schema = SCHEMA
    person_prefix = "network "

    def _open(self) -> sqlite3.Connection:
        return journal.open_reader(self._path)

    def _origin(self, db: sqlite3.Connection) -> str:
        return ""  # ids carry their time: those of a journal that is begun anew are higher

    def _last_place(self, db: sqlite3.Connection, after: int, before: float) -> int:
        found = db.execute(
            "SELECT max(id) FROM refusal WHERE id < ?", (first_id_at(before - COLLAPSE_S),)
        ).fetchone()[0]
        return after if found is None else max(after, int(found))

    def _rows(self, db: sqlite3.Connection, after: int, last: int) -> Iterable[EventRow]:
        for (
            number,
            time,
            stage,
            told,
            verdict,
            score,
            decided_by,
            policy,
            network,
            *counts,
        ) in db.execute(
            "SELECT id, time, stage, told, verdict, score, decided_by, policy_version, network,"
            " times, named, last FROM refusal WHERE id > ? AND id <= ? AND head = id ORDER BY id",
            (after, last),
        ):
            times, named, until = counts
            name = unpack_text(network)
            yield (
                number,
                microseconds(time),
                "refusal",
                self._person(name),
                None,  # those that are the same are one row already
                stage,
                told,
                verdict,
                score,
                plain_text(decided_by),
                plain_text(policy),
                times,
                named,
                None if until is None else microseconds(until),
            )
