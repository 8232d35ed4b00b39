"""Searches with search files find what searches without them find, whatever is asked and whatever
becomes of the files.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona import ident, sqlite_file
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.query import BadQuery, parse_query
from oborona.journal.search import JournalSearch
from oborona.journal.words.day_chunks import PART
from oborona.journal.words.day_file import APPLICATION_ID
from oborona.journal.words.days import day_of, day_path, days_in
from oborona.journal.words.writer import CHECK_S, SETTLE_S, SearchWriter
from oborona.types import Action, RuleHit
from tests.journal.entries import NOON, make_entry

DAY_S = 86_400.0
LETTERS = ("ann", "joe", "ж", "Straße", "İx", "\udcff", "a\0bc", "%_", '"q"', "\\", "é" * 3)


def messages(number: int, start: float, step: float = 30.0) -> list[Any]:
    return [
        make_entry(
            time=start + place * step,
            sender=f"{LETTERS[place % len(LETTERS)]}{place}@d{place % 7}.example",
            recipients=(f"joe{place % 5}@shop.example", LETTERS[place % 3] + "@own.example"),
            subject=f"{LETTERS[place * 3 % len(LETTERS)]} lunch {place}",
            client_ip=("192.0.2.7", "192.0.3.9", "2001:db8::7", "unknown", "203.0.113.99")[
                place % 5
            ],
            rules=(RuleHit(name=f"MASS_{place % 4}", score=3.0),),
            verdict=Action.SPAM if place % 3 else Action.ACCEPT,
            queue_id=f"4Q{place}",
            message_id=f"<{place}@d.example>",
            decided_by="GTUBE" if place % 2 else "below-line",
            size=1000 * place,
            door="milter" if place % 7 else "proxy",
        )
        for place in range(number)
    ]


def write(path: Path, entries: list[Any]) -> None:
    async def fill() -> None:
        schema.prepare(path)
        async with await JournalWriter.open(path) as journal:
            for one in entries:
                journal.append(one)

    asyncio.run(fill())


def follow(path: Path, now: float) -> None:
    with closing(SearchWriter(path.with_name("search"), path)) as writer:
        while writer.follow(now):
            pass


def found(path: Path, line: str, **options: Any) -> list[str]:
    with JournalSearch(path) as journal:
        query = parse_query(line, NOON + 3 * DAY_S)
        return [one.id for one in journal.find(query, 100_000, **options)]


def missing(path: Path, line: str = "shop.example") -> list[str]:
    with JournalSearch(path) as journal:
        list(journal.find(parse_query(line, NOON), 100_000))
        return journal.missing


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a journal of three days with search files, and the same without."""
    path = tmp_path_factory.mktemp("with") / "journal.db"
    entries = messages(400, NOON) + messages(150, NOON + DAY_S) + messages(100, NOON + 2 * DAY_S)
    write(path, entries)
    follow(path, NOON + 2 * DAY_S + 2000)
    assert len(days_in(path.with_name("search"))) == 3
    bare = tmp_path_factory.mktemp("without") / "journal.db"
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(bare)) as copy:
        db.backup(copy)
    return path, bare


WORDS = (
    *("ann", "ann1*", "joe3", "from:straße", "STRASSE", "subject:ж", "i̇x", "ip:192.0.2.7"),
    *("ip:192.0.0.0/16", "ip:2001:db8::/32", "client:192.0.3.", "client:203.0.113.9", "rule:MASS_1"),
    *("rule:MASS*", "decided:GT*", "decided:below-line", "4Q77", "4q7", "domain:d3.example", "bc"),
    *("domain:example", "spam", "-ann", "-rule:MASS_2", "size>200k", "size<=5k", "lunch", "é", "éé"),
    *("éééé", "nothing-has-it", '"lunch 1"', "%_", '""', "subject:lunch", "to:own.exam", "\\", "*"),
    *("message:77@d.example", "queue:4Q77", "77@d.example", "203.0.113.99", "login:x", "helo:mail"),
    *("joe3@shop.example", "to:oe3@shop.ex", "from:ann33@d", "from:33@d5.example", "-joe3@shop.example"),
    *("to:ann@own.example", "from:joe1@d1.exa*", "domain:shop.example", "domain:d3.exam*", "e@own.e"),
    *("door:milter", "door:proxy", "-door:proxy", "door:http"),
    *("since:40h", "until:2025-06-16", "score>1", "below-line", "GTUBE", "list:chess", "unknown"),
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_finds_the_same_with_files_and_without(both: tuple[Path, Path], word: str) -> None:
    assert found(both[0], word) == found(both[1], word)


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_question_finds_the_same_or_is_said_to_be_none(
    both: tuple[Path, Path], words: list[str]
) -> None:
    line = " ".join(words)
    try:
        parse_query(line, NOON)
    except BadQuery:
        with pytest.raises(BadQuery, match="at character"):
            parse_query(line, NOON)
        return
    assert found(both[0], line) == found(both[1], line)


def test_the_words_of_these_tests_find_something(both: tuple[Path, Path]) -> None:
    nothing = {word for word in WORDS if not found(both[0], word)}
    assert nothing <= {
        "nothing-has-it",
        "login:x",
        "list:chess",
        "STRASSE",
        "éééé",
        "bc",
        "*",
        "door:http",
    }


def asked(path: Path, line: str) -> int:
    """Return how many messages are read for a question, of those that search files know."""
    with JournalSearch(path) as journal:
        stretches = journal._words.stretches(parse_query(line, NOON), -1, ident.HIGHEST)
        return sum(len(one.ids) for one in stretches if one.ids is not None)


def test_files_spare_most_of_the_reading(both: tuple[Path, Path]) -> None:
    assert 1 <= asked(both[0], "4Q377") <= 5
    assert asked(both[0], "subject:nothing-has-it") == 0
    assert asked(both[0], "rule:MASS_9") == 0
    assert asked(both[0], "ip:192.0.4.0/24") == 0
    assert 1 <= asked(both[0], "from:ann33@d5.example to:joe3") <= 5


def test_words_that_are_in_different_messages_are_not_together(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    entries = messages(PART, NOON, 1.0)
    for place, one in enumerate(entries):
        whole = f"person{place}@company{place % 9}.example"
        entries[place] = msgspec.structs.replace(one, sender=whole, recipients=(whole,))
    write(path, entries)
    follow(path, NOON + DAY_S + 1000)
    assert asked(path, "from:person111@company3.example") == 1
    assert asked(path, "from:person111@company3.example to:person112@company4.example") == 0
    assert asked(path, "from:erson11*") == 0, "no word begins so"
    assert asked(path, "domain:company33.example") == 0
    assert len(found(path, "from:person111@company3.example")) == 1


def test_what_is_in_much_mail_is_read_at_once(both: tuple[Path, Path]) -> None:
    assert asked(both[0], "shop.example") == 0
    with JournalSearch(both[0]) as journal:
        stretches = journal._words.stretches(parse_query("shop.example", NOON), -1, ident.HIGHEST)
        assert len([one for one in stretches if one.ids is None and one.last > one.after]) >= 3


def test_files_of_an_older_oborona_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(PART + 200, NOON, 1.0) + messages(200, NOON + DAY_S, 1.0))
    follow(path, NOON + DAY_S + 100 + SETTLE_S)
    days = sorted(days_in(path.with_name("search")).values())
    for day, number in zip(days, (1, 2), strict=True):
        make_older(day, number)
    query = "to:joe3@shop.example"
    assert len(found(path, query)) == (PART + 400) // 5
    assert missing(path) == [days[0].stem], "the newest day is not said: it may be begun later"
    follow(path, NOON + 3 * DAY_S)
    assert len(found(path, query)) == (PART + 400) // 5
    assert not missing(path)
    assert 1 <= asked(path, "4Q377") <= 5
    for day in days:
        with closing(sqlite3.connect(day)) as db:
            assert db.execute("SELECT over FROM state").fetchone() == (1,)
            assert not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'block'").fetchone()


def make_older(day: Path, version: int) -> None:
    """Make a file what versions before slices wrote."""
    day.unlink()
    with closing(sqlite3.connect(day)) as db:
        db.executescript(
            f"""
            CREATE TABLE block (place INTEGER PRIMARY KEY, last INTEGER, rows INTEGER);
            CREATE VIRTUAL TABLE grams USING fts5(text, content='');
            CREATE TABLE state (birth TEXT NOT NULL, over INTEGER NOT NULL);
            INSERT INTO block VALUES (1, 7, 64); INSERT INTO grams (rowid, text) VALUES (1, 'x');
            INSERT INTO state VALUES ('b', 1);
            PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version};
            """
        )


def test_an_id_is_found_as_a_word(both: tuple[Path, Path]) -> None:
    one = found(both[0], "4Q377")[0]
    assert found(both[0], one) == [one]
    assert found(both[0], f"{one.lower()}.ABCDEFGHIJKLMNOP lunch") == [one]


def test_pages_by_id_are_all_of_it(both: tuple[Path, Path]) -> None:

    with JournalSearch(both[0]) as journal:
        query, pages = parse_query("from:ann", NOON), list[str]()
        while page := [one.id for one in journal.find(query, 7)]:
            pages += page
            query = msgspec.structs.replace(query, before=ident.from_text(page[-1]))
    assert pages == found(both[1], "from:ann")


@pytest.mark.parametrize("line", ["lunch", "score>1", "nothing-has-it", "size>0 -lunch"])
def test_a_search_that_takes_too_long_goes_on_where_it_ended(
    both: tuple[Path, Path], line: str
) -> None:

    query, all_of_it, cut = parse_query(line, NOON), list[str](), 0
    for path in both:
        with JournalSearch(path, clock=iter(range(10**9)).__next__) as journal:
            while True:
                all_of_it += [one.id for one in journal.find(query, 100_000, within_s=0.5)]
                if journal.reached is None:
                    break
                query, cut = msgspec.structs.replace(query, before=journal.reached), cut + 1
        assert all_of_it == found(both[1], line)
        query, all_of_it = parse_query(line, NOON), []
    assert cut


def test_what_came_a_moment_ago_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(PART * 3, NOON, 1.0))
    follow(path, NOON + 2 * PART + SETTLE_S)
    write(path, messages(5, NOON + PART * 3, 0.0))
    assert len(found(path, "shop.example")) == PART * 3 + 5
    assert not missing(path), "the newest day is not finished, and lacks nothing"


def test_messages_that_were_written_late_are_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(PART * 3, NOON, 1.0) + messages(9, NOON + DAY_S))
    with closing(SearchWriter(path.with_name("search"), path)) as writer:
        while writer.follow(NOON + DAY_S + 1000):
            pass
        late = [
            make_entry(time=when, subject="unheard")
            for when in (NOON - 5, NOON + 70, NOON + 3 * PART + 1000, NOON + DAY_S + 7)
        ]
        write(path, late)
        for turn in range(1, 4):
            while writer.follow(NOON + DAY_S + 1000 + turn * (CHECK_S + 1)):
                pass
    assert len(found(path, "unheard")) == len(late)
    assert len(found(path, "shop.example")) == PART * 3 + 9


def test_what_the_journal_has_no_more_has_no_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    first, second = messages(100, NOON), messages(100, NOON + DAY_S)
    write(path, first + second)
    follow(path, NOON + 2 * DAY_S)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM verdict WHERE id <= ?", (first[-1].id,))
        db.execute("UPDATE tally SET rows = 100")
        db.commit()
    with closing(SearchWriter(path.with_name("search"), path)) as writer:
        while writer.follow(NOON + 2 * DAY_S + CHECK_S):
            pass
    assert list(days_in(path.with_name("search"))) == [day_of(second[0].id)]
    assert len(found(path, "shop.example")) == 100


HARMS = {
    "no slices": "DROP TABLE slices",
    "no ids": "UPDATE part SET ids = substr(ids, 1, 8)",
    "half an id": "UPDATE part SET ids = substr(ids, 2)",
    "a slice is gone": "DELETE FROM slices WHERE place % 3 = 0",
    "slices are too long": "UPDATE slices SET bits = zeroblob(1000)",
    "no text": "UPDATE slices SET bits = CAST(x'ffff' AS TEXT)",
    "a number": "UPDATE slices SET bits = 7",
    "foreign": "UPDATE state SET birth = 'x'",
    "of another day": "UPDATE part SET last = 7",
}


@pytest.mark.parametrize("harm", ["gone", "empty", "garbage", "cut", "rot", *HARMS])
def test_a_harmed_day_is_read_whole_said_and_made_again(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "journal.db"
    entries = messages(400, NOON, 60.0) + messages(5, NOON + 2 * DAY_S)
    write(path, entries)
    now = NOON + 2 * DAY_S + 1000
    follow(path, now)
    day = day_path(path.with_name("search"), day_of(entries[0].id))
    whole = day.read_bytes()
    match harm:
        case "gone":
            day.unlink()
        case "empty":
            day.write_bytes(b"")
        case "garbage":
            day.write_bytes(b"\x81" * len(whole))
        case "cut":
            day.write_bytes(whole[: len(whole) // 3])
        case "rot":
            day.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        case _:
            with closing(sqlite3.connect(day)) as db, db:
                db.execute(HARMS[harm])
    assert len(found(path, "shop.example")) == 405
    assert missing(path) == [day.stem]
    follow(path, now + CHECK_S)
    assert len(found(path, "shop.example")) == 405
    assert missing(path) == []
    assert not schema.suspicion(day)


def test_a_journal_that_was_begun_anew_has_files_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(200, NOON))
    follow(path, NOON + DAY_S)
    for suffix in sqlite_file.PARTS:
        sqlite_file.part_of(path, suffix).unlink(missing_ok=True)
    write(path, messages(100, NOON + 5, 61.0))
    assert len(found(path, "shop.example")) == 100
    follow(path, NOON + DAY_S)
    assert len(found(path, "shop.example")) == 100
    assert missing(path) == []


def test_without_a_folder_all_is_read(both: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    shutil.copy(both[1], path)
    assert found(path, "shop.example") == found(both[0], "shop.example")
    assert len(missing(path)) == 2
