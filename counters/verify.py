"""Reading a whole store and saying what is wrong with it.

The walk is cut into short read transactions, so that pages freed meanwhile can be used again; records written behind
its place while it walks are not looked at. It changes nothing.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import lmdb
import msgspec

from oborona.counters import record
from oborona.counters.lmdb_store import (
    FIRST_RECORD,
    I64,
    NEWEST_KEY,
    POSITION,
    POSITION_KEY,
    PURGE_KEY,
    U32,
    VERSION_KEY,
)

WALK: Final = 10_000  # records in one transaction: 10 ms
PROBLEMS: Final = 100  # more say nothing new
LENGTHS: Final = {VERSION_KEY: U32.size, NEWEST_KEY: I64.size}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk over the store found."""

    records: int
    cells: int
    problems: list[str]  # empty = clean; the first hundred

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(environment: lmdb.Environment) -> Report:
    """Read every record and every note of the store's own; see `record.problem` for what is held against them."""
    records = cells = 0
    problems: list[str] = []
    place = b"\0"
    while place:
        with environment.begin() as txn, txn.cursor() as cursor:
            if not cursor.set_range(place):
                break
            walked = list(islice(cursor, WALK))
        place = walked[-1][0] + b"\0" if len(walked) == WALK else b""
        for key, stored in walked:
            wrong = record.problem(key, stored) if key >= FIRST_RECORD else _note_problem(key, stored)
            if wrong and len(problems) < PROBLEMS:
                problems.append(f"{key.hex()}: {wrong}")
            if key >= FIRST_RECORD:
                records += 1
                cells += len(stored) // record.CELL_BYTES
    return Report(records=records, cells=cells, problems=problems)


def _note_problem(key: bytes, stored: bytes) -> str:
    if key == PURGE_KEY:
        return ""
    length = POSITION.size if key.startswith(POSITION_KEY) else LENGTHS.get(key)
    if length is None:
        return "an unknown note of the store's own"
    return "" if len(stored) == length else f"{len(stored)} bytes, not {length}"
