"""The part of the file of event logs that tells how long work on a log took."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from oborona.eventlog.batch.store import LogStore

_SLOTS: Final = msgspec.json.Decoder(dict[str, tuple[str, ...]])


class BatchTime(NamedTuple):
    """When a batch was checked."""

    begun: float  # Unix seconds
    done: float
    cpu_s: float  # of the process that ended it
    tables: int
    tries: int  # how often it was begun again


class MergeTime(NamedTuple):
    """When rows of tables came into the tables of a period."""

    period: str
    tables: frozenset[str]
    done: float  # Unix seconds
    rows: int
    repaired: int  # slots that were written anew


class TimeBook:
    """How long work on a log took.

    Args:
        store: the file.
        log: name of a log.
    """

    def __init__(self, store: LogStore, log: str) -> None:
        self._store = store
        self._log = log

    def batches(self, since: float) -> list[BatchTime]:
        """Return the batches that were checked; those that were given up are none.

        Args:
            since: Unix seconds: what was done earlier is left out.
        """
        return [
            BatchTime(*row)
            for row in self._store.rows(
                "SELECT begun, done, cpu_s, json_array_length(tables), tries FROM batch"
                " WHERE log = ? AND done >= ? AND cpu_s IS NOT NULL AND tables != '[]' ORDER BY id",
                (self._log, since),
            )
        ]

    def merges(self, since: float) -> list[MergeTime]:
        """Return the merges that are done; arguments as of `batches`."""
        return [
            MergeTime(
                period,
                frozenset(name for names in _SLOTS.decode(slots).values() for name in names),
                done,
                rows,
                repaired,
            )
            for period, slots, done, rows, repaired in self._store.rows(
                "SELECT period, slots, done, rows, json_array_length(repaired) FROM merge"
                " WHERE log = ? AND done >= ? ORDER BY id",
                (self._log, since),
            )
        ]
