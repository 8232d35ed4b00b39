"""Events that were acknowledged while the site's log was away: the file of one machine, from which
they go into the log in the order in which they came.

An event is taken out once the log has it.  Each has a key, so whoever ends between the two hands it
in twice and it is there once.  A machine alone has no such file.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from oborona.feedback.events.model import FeedbackEvent
from oborona.feedback.schema import DURABLE
from oborona.sqlite_file import SharedSqliteFile, SqliteFileKind, SqliteFormat

APPLICATION_ID: Final = 0x4F424553  # "OBES"
MIGRATIONS: Final = (
    (
        """
        CREATE TABLE waiting (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they came
            heard REAL NOT NULL,       -- Unix seconds
            event BLOB NOT NULL        -- as MessagePack, packed by zlib
        )
        """,
    ),
)
SHARED: Final = SqliteFileKind(
    format=SqliteFormat(APPLICATION_ID, MIGRATIONS, "a spool of events"),
    absent="no event waits",
    left="",
    first=("PRAGMA auto_vacuum = FULL",),
    each=DURABLE,
)
_LEVEL: Final = 1  # of zlib
_MOST_OCTETS: Final = 1 << 30  # of an event: more was not written by us
_decoder: Final = msgspec.msgpack.Decoder(FeedbackEvent)


class SpooledEvent(NamedTuple):
    """An event that waits."""

    place: int
    heard: float  # Unix seconds
    event: FeedbackEvent | None  # None = it can't be read


class FeedbackSpool(SharedSqliteFile):
    """One process's access to the file; see `SharedSqliteFile`."""

    shared = SHARED

    def add(self, events: Sequence[FeedbackEvent], *, now: float) -> None:
        """Write events down, all of them or none; when this returns they survive the power going.

        Args:
            events: in the order in which they came, each with a key.
            now: Unix seconds.
        """
        rows = [(now, zlib.compress(msgspec.msgpack.encode(event), _LEVEL)) for event in events]
        with self.transaction() as db:
            db.executemany("INSERT INTO waiting (heard, event) VALUES (?, ?)", rows)

    def first(self, most: int, octets: int) -> list[SpooledEvent]:
        """Return the first that wait: so many at most, and no more octets than that but for one."""
        rows = self.rows(
            "SELECT id, heard, event FROM (SELECT id, heard, event,"
            " sum(length(event)) OVER (ORDER BY id) - length(event) AS before"
            " FROM (SELECT id, heard, event FROM waiting ORDER BY id LIMIT ?)) WHERE before < ?",
            (most, octets),
        )
        return [SpooledEvent(place, heard, _event(packed)) for place, heard, packed in rows]

    def drop(self, upto: int) -> None:
        """Take out what the log has.

        Args:
            upto: place of the last.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM waiting WHERE id <= ?", (upto,))

    def waiting(self) -> int:
        """Return how many wait."""
        ((number,),) = self.rows("SELECT count(*) FROM waiting")
        return int(number)

    def is_empty(self) -> bool:
        """Whether none waits."""
        return not self.rows("SELECT 1 FROM waiting LIMIT 1")


def _event(packed: bytes) -> FeedbackEvent | None:
    try:
        return _decoder.decode(zlib.decompressobj().decompress(packed, _MOST_OCTETS))
    except (zlib.error, msgspec.DecodeError, ValueError):
        return None
