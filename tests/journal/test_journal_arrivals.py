"""What a second look follows: each message that passed, in the order in which it was written,
whatever its id; and where its copies went.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from oborona import sqlite_file
from oborona.ident import JournalIdGenerator
from oborona.journal import schema
from oborona.journal.entry import CopyDelivery
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalArrival, JournalReader
from oborona.types import Action
from tests.journal.entries import NOON, make_entry
from tests.journal.test_journal_late import late

DAY_S = 86_400.0


async def all_of(reader: JournalReader, most: int = 2) -> list[JournalArrival]:
    """Return all arrivals, followed by place."""
    found: list[JournalArrival] = []
    while some := await reader.arrived(found[-1].place if found else 0, most):
        found += some
    return found


async def test_who_follows_by_place_misses_nothing_that_comes_with_an_older_id(
    tmp_path: Path,
) -> None:
    """Two workers: the slow one writes its batch after the follower has seen newer ids."""
    path, slow, fast = tmp_path / "journal.db", JournalIdGenerator(1), JournalIdGenerator(2)
    early = [slow.next(NOON + number) for number in range(3)]
    async with await JournalWriter.open(path) as one, await JournalWriter.open(path) as other:
        one.append(make_entry(id=fast.next(NOON + 60)))
        await one.flush()
        [seen] = await one.arrived(0)
        for ident in early:
            other.append(make_entry(id=ident))
        await other.flush()
        assert [arrival.id for arrival in await one.arrived(seen.place)] == early
        assert await one.last_place() == (await all_of(one))[-1].place


async def test_only_what_passed_arrives_and_what_was_found_late_does_again(tmp_path: Path) -> None:
    numbers = JournalIdGenerator()
    wanted = {action: numbers.next(NOON) for action in Action}
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        for action, ident in wanted.items():
            journal.append(make_entry(id=ident, verdict=action))
        await journal.flush()
        for action in Action:
            journal.append_late(late(wanted[action]))
        await journal.flush()
        assert [(one.id, one.late) for one in await all_of(journal)] == [
            (wanted[Action.ACCEPT], False),
            (wanted[Action.SPAM], False),
            (wanted[Action.ACCEPT], True),
            (wanted[Action.SPAM], True),
        ]


async def test_a_place_is_never_given_twice_not_even_when_all_are_gone(tmp_path: Path) -> None:
    path, numbers = (
        tmp_path / "journal.db",
        JournalIdGenerator(),
    )  # its own: ids follow no clock backwards, and other tests have moved on
    async with await JournalWriter.open(path) as journal:
        for _ in range(5):
            journal.append(make_entry(id=numbers.next(NOON)))
        await journal.flush()
        last = (await all_of(journal))[-1].place
        assert (
            await journal.purge(NOON + DAY_S + 1, retention_s=9 * DAY_S, max_rows=100, limit=3) == 3
        )
        assert (
            await journal.purge(NOON + DAY_S + 1, retention_s=9 * DAY_S, max_rows=100, limit=3) == 2
        )
        assert (
            await journal.purge(NOON + DAY_S + 1, retention_s=9 * DAY_S, max_rows=100, limit=3) == 0
        )
        assert await all_of(journal) == []
        assert await journal.count() == 5  # the entries stay
        journal.append(make_entry(id=numbers.next(NOON + DAY_S)))
        await journal.flush()
        assert (await all_of(journal))[0].place > last == await journal.last_place() - 1


async def test_the_places_of_a_new_journal_lie_above_those_of_the_one_before(
    tmp_path: Path,
) -> None:
    places = []
    for name in ("old.db", "new.db"):
        async with await JournalWriter.open(tmp_path / name) as journal:
            journal.append(make_entry())
            await journal.flush()
            places.append(await journal.last_place())
        await asyncio.sleep(1.1 if name == "old.db" else 0)  # made in another second
    assert places[0] < places[1]


async def test_an_arrival_of_a_clock_that_is_ahead_keeps_no_other(tmp_path: Path) -> None:
    numbers = JournalIdGenerator()
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        ahead = numbers.next(NOON + 5 * DAY_S)
        journal.append(make_entry(id=ahead))
        for ident in [JournalIdGenerator(1).next(NOON) for _ in range(3)]:
            journal.append(make_entry(id=ident))
        await journal.flush()
        await journal.purge(NOON + 2 * DAY_S, retention_s=9 * DAY_S, max_rows=100)
        assert [one.id for one in await all_of(journal)] == [ahead]
        for _ in range(7):
            journal.append(make_entry(id=numbers.next(NOON + 6 * DAY_S)))
        await journal.flush()
        # and no more than there may be
        await journal.purge(NOON, retention_s=9 * DAY_S, max_rows=4)
        assert len(await all_of(journal)) == 4


async def test_an_earlier_journal_has_its_last_day_as_arrivals(tmp_path: Path) -> None:
    path, now, numbers = tmp_path / "journal.db", time.time(), JournalIdGenerator()
    insert = (
        "INSERT INTO verdict (id, time, verdict, score, line, decided_by, partial, "
        "policy_version, size, client_ip, helo, sender, login,"
        " recipients, subject, rules) VALUES (?, 0, ?, 0, 0, '', 0, '', 0, '', '', '', '', '[]', "
        "'', '[]')"
    )
    ids = [numbers.next(now - hours * 3600) for hours in (30, 20, 10, 1)]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        sqlite_file.migrate(db, schema.FORMAT._replace(migrations=schema.MIGRATIONS[:3]))
        for ident, verdict in zip(ids, ("accept", "accept", "reject", "spam"), strict=True):
            db.execute(insert, (ident, verdict))
    assert schema.prepare(path) is None
    async with await JournalReader.open(path) as reader:
        assert [one.id for one in await all_of(reader)] == [ids[1], ids[3]]
        assert await reader.went(ids[1]) == []


@pytest.mark.parametrize("recipient", ["joe@example.test", "ключ@пример.рф", "\ud800@x.test", ""])
async def test_where_copies_went_is_kept_as_long_as_the_entry(
    tmp_path: Path, recipient: str
) -> None:
    numbers = JournalIdGenerator()
    old, new = numbers.next(NOON), numbers.next(NOON + 10)
    told = [
        CopyDelivery(id=new, recipient=recipient, spam=False, time=NOON + 11),
        CopyDelivery(id=new, recipient="zoe@example.test", spam=True, time=NOON + 12),
    ]
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        journal.append(make_entry(id=old))
        journal.append_went(CopyDelivery(id=old, recipient="a@b.test", spam=True, time=NOON))
        for one in (
            *told,
            CopyDelivery(id=new, recipient="zoe@example.test", spam=False, time=NOON + 13),
        ):
            journal.append_went(one)  # a copy that comes again is where it was
        journal.append(make_entry(id=new))
        await journal.flush()
        assert await journal.went(new) == told
        assert (journal.written, journal.lost) == (2, 0)
        await journal.purge(NOON + 100, retention_s=95, max_rows=100)
        assert (await journal.went(old), await journal.went(new)) == ([], told)
