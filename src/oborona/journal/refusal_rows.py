"""Refusals as rows of the journal: packed, written, read and purged.

A row is a reference that was given out.  The first of a network, for a reason, within a while is
the head of those that follow: its row has how many there were of all.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import aiosqlite
import msgspec

from oborona.journal.refusal import (
    REFUSAL_RULES,
    REFUSAL_TEXT_LENGTH,
    SAY_LENGTH,
    RecordedRefusal,
    Refusal,
    Told,
)
from oborona.journal.texts import from_json, pack_text, to_json, unpack_text
from oborona.types import Action, RuleHit, Stage

REFUSAL_COLUMNS: Final = (
    "id, head, time, stage, told, verdict, score, line, decided_by, policy_version, queue_id, "
    "network, client_ip, helo, sender, recipients, login, rules, shared, times, named, last, "
    "door"
)
RefusalRow = tuple[object, ...]
"""In the order of REFUSAL_COLUMNS."""

_COLUMNS: Final = REFUSAL_COLUMNS.split(", ")
_INSERT: Final = (
    f"INSERT INTO refusal ({REFUSAL_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - names of ours
    " ON CONFLICT DO NOTHING"
)
# What was written and not acknowledged is written again: numbers as they are now, not what was
# added.
_GROW: Final = "UPDATE refusal SET times = ?, named = ?, last = ? WHERE id = ?"
GET_REFUSAL: Final = (
    "SELECT "  # noqa: S608 - names of ours
    + ", ".join(f"r.{name}" for name in _COLUMNS)
    + ", h.time, h.times, h.named, h.last"
    " FROM refusal r LEFT JOIN refusal h ON h.id = r.head WHERE r.id = ?"
)
_RULES: Final = msgspec.json.Decoder(tuple[RuleHit, ...])
_TEXTS: Final = msgspec.json.Decoder(tuple[str, ...])


class GrownRefusal(NamedTuple):
    """How many a head stands for by now."""

    times: int
    named: int
    last: float
    head: int


class RefusalBatch(NamedTuple):
    """What is written together."""

    fresh: tuple[RefusalRow, ...] = ()
    grown: tuple[GrownRefusal, ...] = ()


NO_REFUSALS: Final = RefusalBatch()


def pack_refusal(refusal: Refusal, head: int) -> RefusalRow:
    """Return a refusal as a row.

    Args:
        refusal: that has a reference of its own.
        head: the reference of the first of those that it is one of; its own: it is the first.
    """
    first = head == refusal.id
    return _row(
        refusal,
        head,
        client=_text(refusal.client_ip),
        people=(
            _text(refusal.helo),
            _text(refusal.sender),
            to_json(tuple(name[:REFUSAL_TEXT_LENGTH] for name in refusal.recipients[:1])),
            _text(refusal.login),
        ),
        shared=False,
        counts=(1, len(refusal.recipients), refusal.time) if first else (None, None, None),
    )


def pack_shared(refusal: Refusal, head: int, network: str) -> RefusalRow:
    """Return a reference that is given to all who are not told apart as a row.

    Args:
        refusal: the first of them.
        head: as of `pack_refusal`.
        network: of all of them; empty = any.
    """
    return _row(
        refusal,
        head,
        client=_text(network),
        people=("", "", "[]", ""),
        shared=True,
        counts=(1, len(refusal.recipients), refusal.time)
        if head == refusal.id
        else (None, None, None),
    )


def _row(
    refusal: Refusal,
    head: int,
    *,
    client: str | bytes,
    people: tuple[object, ...],
    shared: bool,
    counts: tuple[object, ...],
) -> RefusalRow:
    rules = tuple(
        RuleHit(name=hit.name, score=hit.score, say=hit.say[:SAY_LENGTH], mode=hit.mode)
        for hit in refusal.rules[:REFUSAL_RULES]
    )
    return (
        refusal.id,
        head,
        refusal.time,
        refusal.stage.value,
        refusal.told.value,
        refusal.verdict.value,
        refusal.score,
        refusal.line,
        refusal.decided_by,
        refusal.policy_version,
        None if shared else _text(refusal.queue_id) or None,
        client if shared else _text(refusal.network),
        client,
        *people,
        to_json(rules),
        shared,
        *counts,
        refusal.door,
    )


def _text(text: str) -> str | bytes:
    return pack_text(text[:REFUSAL_TEXT_LENGTH])


def unpack_refusal(row: tuple[Any, ...]) -> RecordedRefusal:
    """Return what a row of `GET_REFUSAL` holds.

    Raises:
        Exception: one of `queries.DAMAGED`: it is damaged.
    """
    (
        number, _, when, stage, told, verdict, score, line, decided_by, policy_version, queue_id,
        network, client_ip, helo, sender, recipients, login, rules, shared, _times, _named, _last, door,
        first, times, named, last,
    ) = row  # fmt: skip
    refusal = Refusal(
        id=number,
        time=float(when),
        stage=Stage(stage),
        told=Told(told),
        verdict=Action(verdict),
        score=float(score),
        line=float(line),
        decided_by=unpack_text(decided_by),
        policy_version=unpack_text(policy_version),
        queue_id=unpack_text(queue_id),
        client_ip=unpack_text(client_ip),
        helo=unpack_text(helo),
        sender=unpack_text(sender),
        recipients=from_json(recipients, _TEXTS),
        login=unpack_text(login),
        rules=from_json(rules, _RULES),
        door=door or "",
    )
    return RecordedRefusal(
        refusal=refusal,
        network=unpack_text(network),
        # a head that was purged, or lost while nothing could be written: what is known of this one
        first=float(refusal.time if first is None else first),
        last=float(refusal.time if last is None else last),
        times=int(times or 1),
        recipients=int(named or 0),
        shared=bool(shared),
    )


async def insert_refusals(db: aiosqlite.Connection, batch: RefusalBatch) -> None:
    """Write refusals, inside the caller's transaction; twice does no harm."""
    if batch.fresh:
        cursor = await db.executemany(_INSERT, batch.fresh)
        await db.execute("UPDATE tally SET refusals = refusals + ?", (max(0, cursor.rowcount),))
    if batch.grown:
        await db.executemany(_GROW, batch.grown)


async def delete_oldest_refusals(
    db: aiosqlite.Connection, cutoff: int, max_rows: int, limit: int
) -> int:
    """Delete one step's worth of references, inside the caller's transaction; return how many.

    Args:
        db: a connection that writes.
        cutoff: those with lower ids are too old.
        max_rows: that may stay.
        limit: how many go at most.
    """
    found = await db.execute_fetchall("SELECT refusals FROM tally")
    total = next(iter(found))[0]
    oldest = [
        row[0]
        for row in await db.execute_fetchall("SELECT id FROM refusal ORDER BY id LIMIT ?", (limit,))
    ]
    going: int = max(sum(number < cutoff for number in oldest), min(total - max_rows, len(oldest)))
    if going <= 0:
        return 0
    await db.execute("DELETE FROM refusal WHERE id <= ?", (oldest[going - 1],))
    await db.execute("UPDATE tally SET refusals = refusals - ?", (going,))
    return going
