"""The log `moves`: messages that the recheck moved after they had been delivered, and back."""

from __future__ import annotations

from typing import Final

from oborona.eventlog.export.own_log import plain_text
from oborona.eventlog.export.state_log import StateLog
from oborona.eventlog.ruled_logs import own_schema
from oborona.eventlog.schema import EventRow
from oborona.eventlog.times import microseconds
from oborona.policy import own_event_logs
from oborona.recheck import moves_schema

SCHEMA: Final = own_schema(own_event_logs.MOVES, threshold=1000.0)


class MoveLog(StateLog):
    """Follows the moves; their person is the reader whose copy it is."""

    schema = SCHEMA
    kind = moves_schema.SHARED
    person_prefix = "reader "  # what befalls their mail says nothing of what they report
    last = "SELECT id FROM move WHERE time < ? ORDER BY time DESC, id DESC LIMIT 1"
    rows = (
        "SELECT id, time, undoes, recipient, message, source, target, state, score, line, event, why"
        " FROM move WHERE id > ? AND id <= ? ORDER BY id"
    )

    def _event(
        self,
        number: int,
        time: float,
        undoes: int | None,
        recipient: str,
        message: int,
        source: str,
        target: str,
        state: str,
        score: float,
        line: float,
        cause: str,
        why: str,
    ) -> EventRow:
        return (
            number,
            microseconds(time),
            "move" if undoes is None else "move_back",
            self._person(recipient),
            None,  # a decision is one event
            message,
            plain_text(source),
            plain_text(target),
            state,
            score,
            line,
            plain_text(cause),
            plain_text(why),
        )
