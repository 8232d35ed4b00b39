"""Refusals before the content in the journal: found by each reference, purged, and beside them
nothing that is counted or followed.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import pytest

from oborona.errors import StoreError
from oborona.ident import JournalIdGenerator, first_id_at, to_text
from oborona.journal import schema
from oborona.journal.journal import BATCH_ROWS, JournalWriter
from oborona.journal.queries import JournalReader
from oborona.journal.query import parse_query
from oborona.journal.refusal import COLLAPSE_S, REFERENCES
from oborona.journal.search import FIRST_ROWS, JournalSearch
from oborona.journal.search_hit import SearchHit
from oborona.types import Action
from tests.journal.entries import NOON, make_entry
from tests.journal.refusals import make_refusal
from tests.journal.test_journal_versions import made

DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def found(path: Path, words: str, most: int = 20) -> list[SearchHit]:
    with JournalSearch(path) as journal:
        return list(journal.find(parse_query(words, NOON + 60), most))


async def test_each_reference_that_was_told_has_an_answer(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        told = [
            journal.take(make_refusal(sender=f"s{n % 90}@a.example", time=NOON + n / 10))
            for n in range(2000)
        ]
        await journal.flush()
        for number in set(told):
            answer = await journal.refusal(number)
            assert answer is not None
            assert (answer.times, answer.first, answer.last) == (2000, NOON, NOON + 199.9)
            assert answer.network == "198.51.100.0/24"
        own, shared = await journal.refusal(told[7]), await journal.refusal(told[REFERENCES])
        assert own is not None
        assert shared is not None
        assert (own.refusal.sender, own.shared) == ("s7@a.example", False)
        assert own.refusal.rules == make_refusal().rules
        assert (shared.refusal.sender, shared.shared) == ("", True)
        assert shared.refusal.client_ip == "198.51.100.0/24"
        assert await journal.refusal(1) is None


async def test_refusals_are_no_entries_and_nobody_follows_them(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        place = await journal.last_place()
        number = journal.take(make_refusal())
        await journal.flush()
        assert await journal.get(number) is None
        assert (await journal.count(), await journal.recent()) == (0, [])
        assert await journal.last_place() == place
        assert await journal.clients(0, 1 << 62) == []
        assert [one async for one in journal.since(0)] == []
        assert journal.written == 0


async def test_a_flood_is_written_in_batches_beside_the_messages(path: Path) -> None:
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        told = [
            journal.take(make_refusal(client_ip=f"10.{n >> 8}.{n & 255}.1"))
            for n in range(2 * BATCH_ROWS + 3)
        ]
        entry = make_entry()
        journal.append(entry)
        await journal.flush()
        assert await journal.get(entry.id) == entry
        assert await journal.refusal(told[0]) is not None
        assert await journal.refusal(told[-1]) is not None
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT rows, refusals FROM tally").fetchone() == (1, len(told))


async def test_a_purge_takes_the_oldest_by_age_and_by_number(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        told = [
            journal.take(make_refusal(time=NOON + n * COLLAPSE_S, client_ip="192.0.2.1"))
            for n in range(30)
        ]
        entry = make_entry()
        journal.append(entry)
        await journal.flush()
        purge = partial(journal.purge, retention_s=30 * DAY, refused_s=10 * COLLAPSE_S)
        now = NOON + 20 * COLLAPSE_S
        assert await purge(now, max_rows=1000, limit=4) == 4
        assert await purge(now, max_rows=1000) == 6
        assert await purge(now, max_rows=1000) == 0
        assert await journal.refusal(told[9]) is None
        assert await journal.refusal(told[10]) is not None
        assert await purge(now, max_rows=5) == 15
        assert [await journal.refusal(one) is None for one in told[24:26]] == [True, False]
        assert await journal.get(entry.id) == entry
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT rows, refusals FROM tally").fetchone() == (1, 5)


async def test_a_reference_outlives_the_row_that_counts_it(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        journal.take(make_refusal())
        late = journal.take(make_refusal(sender="eve@example.org", time=NOON + 500))
        await journal.flush()
        await journal.purge(NOON + 1000, retention_s=DAY, max_rows=1000, refused_s=700)
        answer = await journal.refusal(late)
        assert answer is not None
        assert (answer.refusal.sender, answer.times) == ("eve@example.org", 1)
    (hit,) = found(path, "from:eve")
    assert (hit.id, hit.times) == (to_text(late), 1)


async def test_a_file_that_cannot_be_written_costs_references_and_no_answer(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await journal._db.execute("PRAGMA busy_timeout = 1")
            first = journal.take(make_refusal())
            with pytest.raises(StoreError):
                await journal.flush()
            told = [journal.take(make_refusal()) for _ in range(10_000)]
            await asyncio.sleep(0.1)
            assert set(told) == {first}
            assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1
        await journal.flush()
        answer = await journal.refusal(first)
        assert answer is not None
        assert answer.times == 10_001


async def test_what_sqlite_never_takes_is_dropped_and_messages_are_written(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await JournalWriter.open(path) as journal:
        journal.take(make_refusal(score=object()))
        entry = make_entry()
        journal.append(entry)
        await journal.flush()
        assert await journal.get(entry.id) == entry
        good = journal.take(make_refusal(client_ip="192.0.2.9"))
        await journal.flush()
        assert await journal.refusal(good) is not None
    assert "cannot be stored were dropped" in caplog.text


async def test_a_fault_of_ours_costs_no_answer(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await JournalWriter.open(path) as journal:
        bad = make_refusal(recipients=None)
        assert journal.take(bad) == bad.id
    assert "cannot be stored" in caplog.text


@pytest.mark.parametrize("text", ["\0\x1b]0;x\x07", "\ud800\udcff", "ж" * 100_000, "'; --"])
async def test_what_a_peer_says_comes_back_cut(path: Path, text: str) -> None:
    async with await JournalWriter.open(path) as journal:
        refusal = make_refusal(client_ip=text, helo=text, sender=text, recipients=(text,))
        number = journal.take(refusal)
        await journal.flush()
        answer = await journal.refusal(number)
        assert answer is not None
        assert answer.refusal.helo == answer.refusal.sender == text[:255]
        assert answer.refusal.recipients == (text[:255],)
    (hit,) = found(path, "decided:ZEN")
    assert hit.sender == text[:255]


async def test_an_older_journal_takes_refusals(path: Path) -> None:
    made(path, 5, [old := JournalIdGenerator().next(NOON)])
    with pytest.raises(StoreError, match="starting Oborona brings it up"):
        await JournalReader.open(path)
    assert schema.prepare(path) is None
    async with await JournalWriter.open(path) as journal:
        number = journal.take(make_refusal())
        await journal.flush()
        assert await journal.refusal(number) is not None
        assert await journal.get(old) is not None


async def test_a_damaged_row_says_so_and_is_passed_over_in_a_search(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        bad = journal.take(make_refusal())
        good = journal.take(make_refusal(client_ip="192.0.2.1"))
    for column, value in (("verdict", "?"), ("told", 7), ("recipients", "{"), ("rules", b"\xff")):
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            kept = db.execute(f"SELECT {column} FROM refusal WHERE id = ?", (bad,)).fetchone()
            db.execute(f"UPDATE refusal SET {column} = ? WHERE id = ?", (value, bad))
        async with await JournalReader.open(path) as reader:
            with pytest.raises(StoreError, match="is damaged"):
                await reader.refusal(bad)
        assert [hit.id for hit in found(path, "decided:ZEN")] == [to_text(good)]
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(f"UPDATE refusal SET {column} = ? WHERE id = ?", (*kept, bad))


async def test_a_search_finds_refusals_between_messages_one_for_those_counted_together(
    path: Path,
) -> None:
    async with await JournalWriter.open(path) as journal:
        first = make_entry(id=first_id_at(NOON - 5), time=NOON - 5)
        journal.append(first)
        told = [
            journal.take(make_refusal(sender=f"s{n}@a.example", client_ip=f"203.0.113.{n}"))
            for n in range(9)
        ]
        last = make_entry(id=first_id_at(NOON + 5), time=NOON + 5, verdict=Action.REJECT)
        journal.append(last)
        await journal.flush()
    assert [hit.id for hit in found(path, "")] == [
        to_text(one) for one in (last.id, told[-1], first.id)
    ]
    assert len(found(path, "", 2)) == 2
    (hit,) = found(path, "from:s3@a.example")
    assert (hit.id, hit.times, hit.head) == (to_text(told[3]), 9, to_text(told[0]))
    for words in (
        "client:203.0.113.0/24", "client:203.0.113.8", "rule:ZEN", "to:joe from:a.example helo:mail score>100 verdict:refused -s3",
        to_text(told[-1]), "decided:ZE* -subject:lunch",
    ):  # fmt: skip
        assert [hit.id for hit in found(path, words)] == [to_text(told[-1])], words
    assert [hit.id for hit in found(path, "verdict:spam")] == [to_text(first.id)]
    assert found(path, "client:203.0.0.0/24") == []


async def test_a_shared_reference_is_found_by_its_network_and_what_goes_on_by_its_end(
    path: Path,
) -> None:
    async with await JournalWriter.open(path) as journal:
        for n in range(REFERENCES + 9):
            journal.take(make_refusal(sender=f"s{n}@a.example"))
        journal.take(make_refusal(sender="s0@a.example", time=NOON + 300))
        await journal.flush()
    (hit,) = found(path, "client:198.51.100.0/25 -s0")
    assert (hit.client, hit.sender, hit.last) == ("198.51.100.0/24", "", NOON + 300)
    with JournalSearch(path) as journal:
        for since, number in ((NOON + 299, 1), (NOON + 301, 0)):
            query = parse_query("", NOON)
            query = type(query)(since=since)
            assert len(list(journal.find(query, 5))) == number
        assert journal.oldest() is None
        assert journal.oldest_refusal() == NOON


async def test_each_of_several_rows_shows_its_own_number_and_end(path: Path) -> None:
    async with await JournalWriter.open(path) as journal:
        for network in range(5):
            for time in range(network + 1):
                journal.take(make_refusal(client_ip=f"10.0.{network}.1", time=NOON + time))
    hits = found(path, "decided:ZEN")
    assert {(hit.network, hit.times, hit.last) for hit in hits} == {
        (f"10.0.{network}.0/24", network + 1, NOON + network) for network in range(5)
    }


async def test_pages_of_a_search_that_ends_in_time_have_all_once(path: Path) -> None:
    wanted = []
    async with await JournalWriter.open(path) as journal:
        for n in range(3 * FIRST_ROWS):
            when = NOON + n * 60.0
            if n % 3:
                entry = make_entry(id=first_id_at(when), time=when)
                journal.append(entry)
                wanted.append(entry.id)
            else:  # each of a network of its own
                refusal = make_refusal(time=when, client_ip=f"10.{n % 250}.{n // 250}.1")
                wanted.append(journal.take(refusal))
            if n % 200 == 0:
                await journal.flush()
        await journal.flush()
    seconds = count()
    with JournalSearch(path, clock=lambda: float(next(seconds))) as search:
        below, told, pages = None, list[str](), 0
        while True:
            query = msgspec.structs.replace(parse_query("-list:nothing", NOON), before=below)
            told += [hit.id for hit in search.find(query, 10_000, within_s=1.0)]
            pages += 1
            below = search.reached
            if below is None:
                break
    assert pages > 1
    assert told == [to_text(one) for one in sorted(wanted, reverse=True)]
