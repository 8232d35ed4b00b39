"""Reading a whole store and saying what is wrong with it; it changes nothing."""

from __future__ import annotations

from typing import Final

import lmdb
import msgspec

from oborona.counters import heavy_hitters, record
from oborona.counters.doorkeeper import SLOT_BYTES
from oborona.counters.doorkeeper_file import NOTE
from oborona.counters.lmdb_store import (
    BEGUN_KEY,
    DOORKEEPER_CHANGES_KEY,
    DOORKEEPER_KEY,
    FIRST_RECORD,
    I64,
    NEWEST_KEY,
    POSITION,
    POSITION_KEY,
    PURGE_KEY,
    U32,
    VERSION_KEY,
)
from oborona.counters.store_walk import walk
from oborona.counters.top import TOP_KEY

PROBLEMS: Final = 100  # more say nothing new
LENGTHS: Final = {VERSION_KEY: U32.size, NEWEST_KEY: I64.size, DOORKEEPER_KEY: NOTE.size}
CHANGE_BYTES: Final = 2 * SLOT_BYTES


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk over the store found."""

    records: int
    cells: int
    problems: list[str]  # empty = clean; the first hundred

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(environment: lmdb.Environment) -> VerifyReport:
    """Read every record and every note of the store's own.

    See `record.problem` for what is held against them.
    """
    records = cells = 0
    problems: list[str] = []
    for walked in walk(environment):
        for key, stored in walked:
            wrong = (
                record.problem(key, stored) if key >= FIRST_RECORD else _note_problem(key, stored)
            )
            if wrong and len(problems) < PROBLEMS:
                problems.append(f"{key.hex()}: {wrong}")
            if key >= FIRST_RECORD:
                records += 1
                cells += len(stored) // record.CELL_BYTES
    return VerifyReport(records=records, cells=cells, problems=problems)


def _note_problem(key: bytes, stored: bytes) -> str:
    if key in {PURGE_KEY, BEGUN_KEY}:
        return ""
    if key.startswith(DOORKEEPER_CHANGES_KEY):
        return "" if not len(stored) % CHANGE_BYTES else f"{len(stored)} bytes are no whole changes"
    if key.startswith(TOP_KEY):
        try:
            heavy_hitters.hashes_of(stored)
        except ValueError as error:
            return str(error)
        return ""
    length = POSITION.size if key.startswith(POSITION_KEY) else LENGTHS.get(key)
    if length is None:
        return "an unknown note of the store's own"
    return "" if len(stored) == length else f"{len(stored)} bytes, not {length}"
