"""One small step of purging the journal: the oldest entries first, by age or by number.

Steps are small so that the workers, who need the write lock for each batch, wait milliseconds.
Freed pages are used again by the next entries; the file is made smaller, a few pages a step, only
if a large part of it is free. Ids are in order of time, so age is a range of ids; entries that a
wrong clock dated into the future stay until then, or until the number limit removes them.
"""

from __future__ import annotations

from typing import Any, Final

import aiosqlite

from oborona.journal.refusal_rows import delete_oldest_refusals

SLACK: Final = 0.25  # share of free pages above which the file is made smaller
VACUUM_PAGES: Final = 256  # given back in one step: 2 MB, milliseconds


async def delete_oldest(
    db: aiosqlite.Connection,
    *,
    cutoff: int,
    evidence_cutoff: int,
    arrival_cutoff: int,
    refusal_cutoff: int,
    max_rows: int,
    limit: int,
) -> int:
    """Delete one step's worth, inside the caller's transaction.

    Args:
        db: a connection that writes.
        cutoff: entries with lower ids are too old.
        evidence_cutoff: evidence with lower ids is too old.
        arrival_cutoff: arrivals with lower ids are followed no more.
        refusal_cutoff: references of refusals with lower ids are too old.
        max_rows: entries that may stay, and as many refusals.
        limit: how many go at most.

    Returns:
        How many entries, and evidence alone, went; or arrivals or refusals, where those are more.
    """
    deleted = await _entries(db, cutoff, max_rows, limit)
    if deleted < limit:
        deleted += await _evidence(db, evidence_cutoff, limit - deleted)
    deleted = max(
        deleted,
        await _arrivals(db, arrival_cutoff, max_rows, limit),
        await delete_oldest_refusals(db, refusal_cutoff, max_rows, limit),
    )
    # `newest` is the highest id that used a list, so no evidence left can need one below the lowest
    # id left.
    await db.execute(
        "DELETE FROM names WHERE newest < ifnull((SELECT min(id) FROM evidence), "
        "9223372036854775807)"
    )
    return deleted


async def shrink(db: aiosqlite.Connection) -> None:
    """Give a few free pages back to the disk when much of the file is free.

    Outside of a transaction.
    """
    ((pages,),) = await _fetch(db, "PRAGMA page_count")
    ((free,),) = await _fetch(db, "PRAGMA freelist_count")
    if free > max(VACUUM_PAGES, pages * SLACK):
        # By executescript, which steps to the end: execute stops at the first page, since there is
        # no column.
        await db.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")


async def _entries(db: aiosqlite.Connection, cutoff: int, max_rows: int, limit: int) -> int:
    ((total,),) = await _fetch(db, "SELECT rows FROM tally")
    oldest = [
        ident for (ident,) in await _fetch(db, "SELECT id FROM verdict ORDER BY id LIMIT ?", limit)
    ]
    going: int = max(sum(ident < cutoff for ident in oldest), min(total - max_rows, len(oldest)))
    if going <= 0:
        return 0
    last = oldest[going - 1]
    await db.execute("DELETE FROM verdict WHERE id <= ?", (last,))
    await db.execute("DELETE FROM evidence WHERE id <= ?", (last,))
    await db.execute("DELETE FROM late WHERE id <= ?", (last,))
    await db.execute("DELETE FROM went WHERE id <= ?", (last,))
    await db.execute("UPDATE tally SET rows = rows - ?", (going,))
    return going


async def _evidence(db: aiosqlite.Connection, cutoff: int, limit: int) -> int:
    going = await _fetch(
        db, "SELECT id FROM evidence WHERE id < ? ORDER BY id LIMIT ?", cutoff, limit
    )
    if going:
        await db.execute("DELETE FROM evidence WHERE id <= ?", going[-1])
        await db.execute("DELETE FROM late WHERE id <= ?", going[-1])  # it is evidence too
    return len(going)


async def _arrivals(db: aiosqlite.Connection, cutoff: int, max_rows: int, limit: int) -> int:
    """Delete the first arrivals that are too old or too many.

    One of a clock that was ahead waits for its time, and holds nothing up for long.
    """
    ((last,),) = await _fetch(db, "SELECT ifnull(max(place), 0) FROM arrival")
    cursor = await db.execute(
        (
            "DELETE FROM arrival WHERE place IN (SELECT place FROM arrival ORDER BY place "
            "LIMIT ?) AND (id < ? OR place <= ?)"
        ),
        (limit, cutoff, last - max_rows),
    )
    return cursor.rowcount


async def _fetch(db: aiosqlite.Connection, sql: str, *values: int) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await db.execute_fetchall(sql, values)]
