"""What must hold of events that somebody sends: what is taken of them makes rows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from oborona.doors.http.json_rows import json_rows
from oborona.errors import PeerError
from oborona.eventlog.declared_log import DeclaredLog
from oborona.eventlog.event_batch import LONGEST_REASON, check_batch
from oborona.eventlog.export.record_shaper import RecordShaper
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.schema import LogColumn, LogSchema
from oborona.policy.event_columns import ColumnKind

MOST = 50  # rows
_KINDS = {"i": ColumnKind.TEXT, "t": ColumnKind.TIME, "e": ColumnKind.TEXT, "u": ColumnKind.HASHED}
_OWN = {"n": ColumnKind.NUMBER, "c": ColumnKind.INTEGER, "f": ColumnKind.FLAG}
LOG = DeclaredLog(
    schema=LogSchema(
        name="sent",
        columns=tuple(LogColumn(name, kind) for name, kind in _OWN.items()),
        id_kind=ColumnKind.TEXT,
    ),
    folder=Path("/nowhere"),
    source=_KINDS | _OWN,
    id="i",
    time="t",
    event="e",
    person=("u",),
    info=("n",),
)
_ROW = msgspec.json.Decoder(dict[str, Any])


def sent(octets: bytes) -> None:
    """Each row is taken or refused with a reason; who makes tables makes a row of each that is
    taken, with an id that no other has.
    """
    for lines in (True, False):
        with suppress(PeerError):
            rows = json_rows(octets, lines=lines, most=MOST)
            batch = check_batch(LOG, rows)
            assert batch.rows + len(batch.refused) == len(rows)
            assert all(0 < len(why) <= LONGEST_REASON for _, why in batch.refused)
            msgspec.json.encode(batch.refused)
            taken = batch.octets.splitlines()
            assert len(taken) == batch.rows
            shaper = RecordShaper(LOG, EventHasher(b"a key of fuzzing"), "table")
            made = [shaper.row(number, _ROW.decode(row)) for number, row in enumerate(taken)]
            assert len({row[0] for row in made}) == len(made)
