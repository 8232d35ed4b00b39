"""Campaigns: groups of events about near-duplicate messages.

A campaign is identified by the hashes of its first reported message: text, template and fingerprint
values, or files and pictures if there is no text.  A message belongs to it that shares the text or
template, or as many values as near-duplicates do.  Links and senders do not join messages: anybody
can put another's link into a message, and both would be judged together.

All functions work within the caller's transaction on the log of events.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from oborona.feedback.antifraud.model import CampaignEvent, CampaignRecord, PersonRecord
from oborona.feedback.antifraud.rules import ANYBODY
from oborona.feedback.antifraud.standing import is_newcomer, is_proven, only_pardons, weight_of
from oborona.feedback.events.model import EventChannel, EventKind
from oborona.message.hashing import ShingleType
from oborona.policy.counts import shared_values
from oborona.types import Shingle

WINDOW_S: Final = 86_400.0  # what was said longer ago says little of what comes now
KEPT_S: Final = 14 * 86_400.0  # without another event, a campaign is forgotten
MOST_VALUES: Final = 64  # of a message; it has up to 50
MOST_TOLD: Final = 1_000  # events of a campaign that are gone over
_BY_ANYBODY: Final = " OR ".join(
    f"' ' || e.rules || ' ' LIKE '% {name} %'" for name in sorted(ANYBODY)
)
NOTHING: Final = CampaignRecord()
_WHOLE: Final = (ShingleType.TEXT, ShingleType.TEMPLATE)
VALUES: Final = (ShingleType.WORDS, ShingleType.CHARACTERS)
_OF_NO_TEXT: Final = (ShingleType.PICTURE, ShingleType.PICTURE_HASH, ShingleType.CHECKSUM)
_SIGNED: Final = 1 << 63  # SQLite's integers have a sign


def pieces_of(shingles: Sequence[Shingle]) -> list[Shingle]:
    """Return the pieces that a campaign is known by.

    None of a message without text, file and picture.
    """
    for types in ((*_WHOLE, *VALUES), _OF_NO_TEXT):
        selected = [piece for piece in shingles if piece.type in types]
        if selected:
            return selected[:MOST_VALUES]
    return []


def campaign_of(db: sqlite3.Connection, shingles: Sequence[Shingle], now: float) -> int:
    """Return the campaign that a message is of, a new one where it is of none.

    0 where it has no pieces to be known by.

    Args:
        db: within a transaction.
        shingles: of the message.
        now: Unix seconds.
    """
    pieces = pieces_of(shingles)
    if not pieces:
        return 0
    campaign = _alike(db, pieces)
    if campaign:
        return campaign
    ident = db.execute("INSERT INTO campaign (first, last) VALUES (?, ?)", (now, now)).lastrowid
    assert ident is not None
    db.executemany(
        "INSERT OR IGNORE INTO campaign_piece VALUES (?, ?, ?)",
        [(piece.type, piece.hash - _SIGNED, ident) for piece in pieces],
    )
    return ident


def _alike(db: sqlite3.Connection, pieces: Sequence[Shingle]) -> int:
    """Return the campaign that shares most with a message; 0: none shares enough."""
    marks = ", ".join(["(?, ?)"] * len(pieces))
    rows = db.execute(
        "SELECT p.campaign, p.type, count(*) FROM campaign_piece p"  # noqa: S608 - marks alone
        f" JOIN (SELECT column1 AS type, column2 AS hash FROM (VALUES {marks})) w ON w.type = p.type AND w.hash = p.hash"
        " GROUP BY p.campaign, p.type",
        tuple(chain.from_iterable((piece.type, piece.hash - _SIGNED) for piece in pieces)),
    ).fetchall()
    sizes = Counter(piece.type for piece in pieces)
    shared = Counter[int]()
    for campaign, kind, number in rows:
        if kind not in VALUES or number >= shared_values(kind, sizes[kind]):
            shared[campaign] += number
    # of several that share as much the first: they were one before this message showed it
    return min(shared, key=lambda campaign: (-shared[campaign], campaign), default=0)


def note(
    db: sqlite3.Connection,
    campaign: int,
    kind: EventKind,
    *,
    person: str,
    record: PersonRecord,
    weight: float,
    now: float,
) -> None:
    """Note an event of a campaign that is no duplicate.

    Args:
        db: within a transaction.
        campaign: id.
        kind: was said.
        person: who said it.
        record: of the person until then.
        weight: with which it is believed; 0 = it is not.
        now: Unix seconds.
    """
    urgent = kind is EventKind.TRAP  # what is certain is looked at now
    db.execute(
        "UPDATE campaign SET last = ?, traps = traps + ?, changed = 1, looked = CASE WHEN ? THEN 0 ELSE looked END WHERE id = ?",
        (now, int(kind is EventKind.TRAP), urgent, campaign),
    )
    if kind not in (EventKind.COMPLAINT, EventKind.PARDON):
        return
    db.execute(
        "INSERT INTO campaign_person (campaign, person, what, events, first, last, weight, young, proven, only)"
        " VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (campaign, person, what)"
        " DO UPDATE SET events = events + 1, last = excluded.last, weight = max(weight, excluded.weight)",
        (
            campaign, person, kind, now, now, weight, is_newcomer(record, now), is_proven(record, now), only_pardons(record),
        ),
    )  # fmt: skip


def note_site_decision(db: sqlite3.Connection, campaign: int, now: float) -> None:
    """Note that the site itself has spoken of a campaign."""
    db.execute(
        "UPDATE campaign SET last = ?, changed = 1, looked = 0 WHERE id = ?", (now, campaign)
    )


def state_of(db: sqlite3.Connection, campaign: int, now: float) -> CampaignRecord:
    """Return what was said of a campaign in the last day."""
    since = now - WINDOW_S
    sums = {
        kind: row
        for kind, *row in db.execute(
            "SELECT what, sum(events), count(*), sum(young), sum(only), sum(weight), sum(weight * (1 - young)),"
            " sum(weight * proven), min(first), max(last) FROM campaign_person WHERE campaign = ? AND last > ? GROUP BY what",
            (campaign, since),
        )
    }
    traps_row = db.execute("SELECT traps FROM campaign WHERE id = ?", (campaign,)).fetchone()
    nothing = (0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    bad, good = sums.get(EventKind.COMPLAINT, nothing), sums.get(EventKind.PARDON, nothing)
    return CampaignRecord(
        complaints=bad[0],
        pardons=good[0],
        complainers=bad[1],
        pardoners=good[1],
        young_pardoners=good[2],
        only_pardoners=good[3],
        traps=traps_row[0] if traps_row else 0,
        believed_complaint_weight=bad[4],
        known_complaint_weight=bad[5],
        believed_pardon_weight=good[4],
        proven_pardon_weight=good[6],
        first=min((time for time in (bad[7], good[7]) if time), default=0.0),
        last=max(bad[8], good[8]),
        first_pardon=good[7],
    )


def contested_campaigns(
    db: sqlite3.Connection, now: float, most: int
) -> list[tuple[int, int, int]]:
    """Return the campaigns of the last day of which believed people say both, the largest first.

    Returns:
        Of each its number, how many complain and how many pardon.
    """
    return db.execute(
        "SELECT campaign, sum(what = 'complaint') AS bad, sum(what = 'pardon') AS good"
        " FROM campaign_person WHERE weight > 0 AND campaign IN"
        " (SELECT id FROM campaign WHERE last > ?1) AND last > ?1"
        " GROUP BY campaign HAVING bad AND good ORDER BY bad + good DESC LIMIT ?2",
        (now - WINDOW_S, most),
    ).fetchall()


def repeated(
    db: sqlite3.Connection, campaign: int, person: str, kind: EventKind, message: bytes, now: float
) -> int:
    """Return how many believed events of a kind a person has about other messages of a campaign, of
    the last day.

    A letter of next week may have the same frame, and is another one.
    """
    (number,) = db.execute(
        "SELECT count(*) FROM event WHERE campaign = ? AND person = ? AND what = ? AND counts AND message IS NOT ?"
        " AND heard > ?",
        (campaign, person, kind, message or None, now - WINDOW_S),
    ).fetchone()
    return int(number)


def events_of(
    db: sqlite3.Connection, campaign: int, caught: Callable[[str], int]
) -> list[CampaignEvent]:
    """Return the events of a campaign, each with the record of its person as it is without this
    campaign, in order.

    Of more than `MOST_TOLD` those that count come first, and then the latest: no flood of words
    that nobody believes hides what is believed.  Words that anybody may have spoken in a person's
    name make that person neither right nor wrong, and are left out.

    Args:
        db: within a transaction.
        campaign: id.
        caught: returns the days of the last month on which event logs caught a person.
    """
    rows = db.execute(
        "SELECT e.id, e.what, e.way, e.time, e.person, e.counts, coalesce(p.complaints, 0), coalesce(p.pardons, 0),"  # noqa: S608 - literals above
        " coalesce(p.right, 0), coalesce(p.wrong, 0), coalesce(p.first, 0)"
        " FROM event e LEFT JOIN person p ON p.person = e.person"
        " WHERE e.campaign = ? AND e.decided IS NOT NULL AND e.what IN ('complaint', 'pardon', 'trap')"
        f" AND NOT ({_BY_ANYBODY}) ORDER BY e.counts DESC, e.id DESC LIMIT ?",
        (campaign, MOST_TOLD),
    ).fetchall()
    own = counted_outcomes(db, campaign)
    days = {person: caught(person) for person in {row[4] for row in rows}}
    events = []
    for ident, kind, way, time, person, counts, complaints, pardons, right, wrong, first in sorted(
        rows
    ):
        others = (
            max(0.0, right - (own.get(person) == "right")),
            max(0.0, wrong - (own.get(person) == "wrong")),
        )
        record = PersonRecord(
            complaints=complaints,
            pardons=pardons,
            right=others[0],
            wrong=others[1],
            first=first,
            caught=days[person],
            weight=weight_of(*others, days[person]),
        )
        events.append(
            CampaignEvent(
                id=ident,
                what=EventKind(kind),
                way=EventChannel(way),
                time=time,
                person=person,
                believed=bool(counts),
                record=record,
            )
        )
    return events


def counted_outcomes(db: sqlite3.Connection, campaign: int) -> dict[str, str]:
    """Return how the records of persons count a campaign: right, wrong."""
    return dict(
        db.execute(
            "SELECT person, max(settled) FROM campaign_person WHERE campaign = ? AND settled <> '' GROUP BY person",
            (campaign,),
        ).fetchall()
    )


def count_outcome(db: sqlite3.Connection, campaign: int, person: str, outcome: str) -> None:
    """Count a campaign in the record of a person, in the place of how it was counted before.

    Args:
        db: within a transaction.
        campaign: id.
        person: who spoke of it.
        outcome: right, wrong; empty = not known after all.
    """
    before = counted_outcomes(db, campaign).get(person, "")
    if outcome == before:
        return
    db.execute(
        "UPDATE person SET right = max(0, right + ?), wrong = max(0, wrong + ?) WHERE person = ?",
        (
            (outcome == "right") - (before == "right"),
            (outcome == "wrong") - (before == "wrong"),
            person,
        ),
    )
    db.execute(
        "UPDATE campaign_person SET settled = ? WHERE campaign = ? AND person = ?",
        (outcome, campaign, person),
    )


def forget(db: sqlite3.Connection, before: float, most: int) -> int:
    """Forget campaigns that nobody spoke of since a time; return how many."""
    removed = db.execute(
        "SELECT id FROM campaign WHERE last < ? ORDER BY last LIMIT ?", (before, most)
    ).fetchall()
    for statement in (
        "DELETE FROM campaign_piece WHERE campaign = ?",
        "DELETE FROM campaign_person WHERE campaign = ?",
        "UPDATE event SET campaign = 0 WHERE campaign = ?",
        "DELETE FROM campaign WHERE id = ?",
    ):
        db.executemany(statement, removed)
    return len(removed)
