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
from oborona.journal.words.day_file import day_of, day_path, days_in
from oborona.journal.words.writer import BLOCK, CHECK_S, SETTLE_S, SearchWriter
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


def test_files_spare_most_of_the_reading(both: tuple[Path, Path]) -> None:
    with JournalSearch(both[0]) as journal:
        query = parse_query("4Q377", NOON)
        stretches = list(journal._words.stretches(query, -1, ident.HIGHEST))
    known = [one for one in stretches if one.short]
    assert len(known) == 1, "one block of the first day"


def test_an_address_asks_for_blocks_that_have_it(tmp_path: Path) -> None:
    """Its runs of letters are in each block, so without words of addresses all would be read."""
    path = tmp_path / "journal.db"
    entries = messages(BLOCK * 8, NOON, 1.0)
    for place, one in enumerate(entries):
        whole = f"person{place}@company{place % 9}.example"
        entries[place] = msgspec.structs.replace(one, sender=whole, recipients=(whole,))
    write(path, entries)
    follow(path, NOON + DAY_S + 1000)
    with JournalSearch(path) as journal:

        def blocks(line: str) -> int:
            query = parse_query(line, NOON)
            stretches = journal._words.stretches(query, -1, ident.HIGHEST)
            return len([one for one in stretches if one.short])

        assert blocks("from:person111@company3.example") == 1
        assert blocks("from:person111@company3.example lunch") == 1
        assert blocks("domain:company3.example") == blocks("domain:example"), "each block has some"
        assert blocks("domain:company33.example") == 0
    assert len(found(path, "from:person111@company3.example")) == 1


def test_files_of_an_older_oborona_are_asked_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(BLOCK * 4, NOON, 1.0) + messages(BLOCK * 2, NOON + DAY_S, 1.0))
    follow(path, NOON + 2 * BLOCK + SETTLE_S)
    for day in days_in(path.with_name("search")).values():
        make_wordless(day)
    query, whole = "to:joe3@shop.example", BLOCK * 6 // 5
    assert abs(len(found(path, query)) - whole) <= 1
    follow(path, NOON + 3 * DAY_S)
    assert abs(len(found(path, query)) - whole) <= 1
    assert not missing(path)
    (first, second) = sorted(days_in(path.with_name("search")).values())
    for day, wordless in ((first, 2), (second, 0)):
        with closing(sqlite3.connect(day)) as db:
            assert db.execute("SELECT wordless, over FROM state").fetchone() == (wordless, 1)


def make_wordless(day: Path) -> None:
    """Make a file what the version before words of addresses wrote."""
    with closing(sqlite3.connect(day)) as db:
        db.executescript(
            "DROP TABLE words; ALTER TABLE state DROP COLUMN wordless; PRAGMA user_version = 1;"
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
    write(path, messages(BLOCK * 3, NOON, 1.0))
    follow(path, NOON + 2 * BLOCK + SETTLE_S)
    write(path, messages(5, NOON + BLOCK * 3, 0.0))
    assert len(found(path, "shop.example")) == BLOCK * 3 + 5
    assert not missing(path), "the newest day is not finished, and lacks nothing"


def test_messages_that_were_written_late_are_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write(path, messages(BLOCK * 3, NOON, 1.0) + messages(9, NOON + DAY_S))
    with closing(SearchWriter(path.with_name("search"), path)) as writer:
        while writer.follow(NOON + DAY_S + 1000):
            pass
        late = [
            make_entry(time=when, subject="unheard")
            for when in (NOON - 5, NOON + 70, NOON + 3 * BLOCK + 1000, NOON + DAY_S + 7)
        ]
        write(path, late)
        for turn in range(1, 4):
            while writer.follow(NOON + DAY_S + 1000 + turn * (CHECK_S + 1)):
                pass
    assert len(found(path, "unheard")) == len(late)
    assert len(found(path, "shop.example")) == BLOCK * 3 + 9


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


@pytest.mark.parametrize("harm", ["gone", "empty", "garbage", "cut", "no grams", "foreign", "rot"])
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
        case "no grams":
            with closing(sqlite3.connect(day)) as db:
                db.execute("DROP TABLE grams_data")
                db.commit()
        case "foreign":
            with closing(sqlite3.connect(day)) as db:
                db.execute("UPDATE state SET birth = 'x'")
                db.commit()
        case "rot":
            day.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
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
