"""Inserts one batch of the journal's rows into its tables, inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import aiosqlite

from oborona.journal import rows
from oborona.journal.rows import CopyDeliveryRow, EntryRow, LateRow

POLICIES: Final = 1000  # versions whose rules are kept, the newest; a few kB each


def _insert(table: str, columns: str) -> str:
    # A batch whose COMMIT failed after all was written is simply written again.
    places = ", ".join("?" * len(columns.split(",")))
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608 - names of ours


_VERDICT: Final = _insert("verdict", rows.VERDICT_COLUMNS)
_EVIDENCE: Final = _insert("evidence", rows.EVIDENCE_COLUMNS)
_LATE: Final = _insert("late", rows.LATE_COLUMNS)
_WENT: Final = _insert("went", rows.WENT_COLUMNS)
# In one statement, which costs a third of as many. Twice does no harm: who follows looks twice.
_ARRIVAL: Final = (
    "INSERT INTO arrival (id, late) SELECT value, ? FROM json_each(?) WHERE value IN"
    " (SELECT id FROM verdict WHERE id = value AND verdict IN ('accept', 'spam'))"
)
_POLICY: Final = _insert("policy", "version, rules")
_DELETE_POLICIES: Final = "DELETE FROM policy WHERE place <= (SELECT max(place) FROM policy) - ?"
_NAMES: Final = (
    "INSERT INTO names (id, names, newest) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET newest = max(newest, excluded.newest)"
)


async def insert(
    db: aiosqlite.Connection,
    batch: Sequence[EntryRow | LateRow | CopyDeliveryRow],
    policies: Mapping[str, Mapping[str, str]],
) -> int:
    """Write a batch; entries that are there already stay as they are.

    Args:
        db: a connection that writes.
        batch: in the order in which it was appended.
        policies: what the rules of each version ask.

    Returns:
        How many entries were added.
    """
    entries = [row for row in batch if isinstance(row, EntryRow)]
    late = [row.values for row in batch if isinstance(row, LateRow)]
    went = [row.values for row in batch if isinstance(row, CopyDeliveryRow)]
    # the last of each: ids grow
    names = {row.shape: row for row in entries if row.shape is not None}
    # The verdicts last: who reads on this connection meanwhile, as the delivery listener does,
    # finds an entry whole or not yet.
    await db.executemany(
        _NAMES,
        [(shape, rows.names_json(row.names), row.evidence[0]) for shape, row in names.items()],
    )
    await db.executemany(_EVIDENCE, [row.evidence for row in entries])
    cursor = await db.executemany(_VERDICT, [row.verdict for row in entries])
    added = max(0, cursor.rowcount)  # -1 for none to insert
    if entries:
        await db.execute(_ARRIVAL, (0, json.dumps([row.verdict[0] for row in entries])))
    if late:
        await db.executemany(_LATE, late)
        await db.execute(_ARRIVAL, (1, json.dumps([values[0] for values in late])))
    if went:
        await db.executemany(_WENT, went)
    for version, asks in policies.items():
        await db.execute(_POLICY, (version, rows.asks_json(asks)))
    if policies:
        await db.execute(_DELETE_POLICIES, (POLICIES,))
    await db.execute("UPDATE tally SET rows = rows + ?", (added,))
    return added
