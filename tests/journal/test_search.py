"""Searches of the journal: each field, both ways, and rows and questions that somebody made to
break them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona import ident
from oborona.errors import StoreError
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.query import BadQuery, parse_query
from oborona.journal.search import JournalSearch
from oborona.types import Action, RuleHit, RuleMode
from tests.journal.entries import NOON, make_entry

MARIA = make_entry(
    time=NOON, sender="maria@client.example", header_from="Maria López <maria@client.example>", recipients=("joe@shop.example",),
    subject="Rechnung 50% für JÜRGEN", verdict=Action.ACCEPT, score=12.0, decided_by="below-line", queue_id="4Abc1", message_id="<m1@client.example>",
    client_ip="203.0.113.9", helo="out.client.example", door="proxy", rules=(RuleHit(name="NO_NAME", score=10.0), RuleHit(name="A_TRIAL", score=90.0, mode=RuleMode.SHADOW)),
)  # fmt: skip
CASINO = make_entry(
    time=NOON + 60, sender="bounce-77@casino.example", header_from="Казино Вулкан <win@casino.example>", recipients=("joe@shop.example", "ann@shop.example"),
    subject="Ваш БОНУС ждёт", verdict=Action.SPAM, score=140.0, decided_by="GAMBLING_MUCH", queue_id="4Abc2", message_id="m2@casino.example",
    client_ip="2001:db8:5::7", door="milter", rules=(RuleHit(name="GAMBLING_MUCH", score=90.0, say="казино 7"), RuleHit(name="MASS_TEXT", score=30.0), RuleHit(name="LINK", score=20.0)),
)  # fmt: skip
HOSTILE = make_entry(
    time=NOON + 120, sender="x'; DROP TABLE verdict;--@evil.example", header_from="\ud800 <\ud801@evil.example>", recipients=("\udcff@shop.example",),
    subject='%_\\ "\0\x1b[2J', verdict=Action.REJECT, score=400.0, decided_by="GTUBE", queue_id="", message_id="", client_ip="unknown", rules=(),
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("journal") / "journal.db"

    async def fill() -> None:
        schema.prepare(found)
        async with await JournalWriter.open(found) as journal:
            for one in (MARIA, CASINO, HOSTILE):
                journal.append(one)

    asyncio.run(fill())
    return found


def found(path: Path, line: str, most: int = 20) -> list[int | None]:
    with JournalSearch(path) as journal:
        return [
            ident.from_text(one.id) for one in journal.find(parse_query(line, NOON + 180), most)
        ]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", [HOSTILE, CASINO, MARIA]),
        ("maria", [MARIA]),
        ("door:proxy", [MARIA]),
        ("-door:proxy", [HOSTILE, CASINO]),
        ("door:exim", []),
        ("MARIA@CLIENT.EXAMPLE", [MARIA]),
        ("from:lópez", [MARIA]),
        ("from:LÓPEZ", [MARIA]),
        ("from:bounce-77", [CASINO]),
        ("from:win@casino.example", [CASINO]),
        ("to:ann", [CASINO]),
        ("to:joe from:casino", [CASINO]),
        ("to:joe -from:casino", [MARIA]),
        ("subject:бонус", [CASINO]),
        ("subject:jürgen", [MARIA]),
        ("50%", [MARIA]),
        ("100%", []),
        ("client:203.0.113.9", [MARIA]),
        ("client:203.0.113.", [MARIA]),
        ("client:203.0.112.0/23", [MARIA]),
        ("client:0.0.0.0/0", [MARIA]),
        ("client:2001:db8::/32", [CASINO]),
        ("client:203.0.1", [MARIA]),
        ("helo:out.client", [MARIA]),
        ("rule:MASS_TEXT", [CASINO]),
        ("rule:mass_text", [CASINO]),
        ("rule:MASS", []),
        ("rule:MASS*", [CASINO]),
        ("rule:A_TRIAL", [MARIA]),
        ("MASS_TEXT", [CASINO]),
        ("rule:MASSXTEXT", []),
        ("verdict:spam", [CASINO]),
        ("spam", [CASINO]),
        ("verdict:junk", [CASINO]),
        ("decided:GTUBE", [HOSTILE]),
        ("decided:gam*", [CASINO]),
        ("decided:below-line", [MARIA]),  # what entries of older versions have
        ("queue:4Abc1", [MARIA]),
        ("4abc1", [MARIA]),
        ("message:m1@client.example", [MARIA]),
        ("message:<m2@casino.example>", [CASINO]),
        ("score>100", [HOSTILE, CASINO]),
        ("score<=12", [MARIA]),
        ("since:1m", [HOSTILE]),
        ("id:CASINO", [CASINO]),
        ("CASINO", [CASINO]),
        ("LOWER.ABCDEFGHIJKLMNOP", [CASINO]),
        ("id:nonsense", []),
        ("drop table", [HOSTILE]),
        ('"%_\\"', [HOSTILE]),
        ("-maria -casino", [HOSTILE]),
        ("-queue:4Abc1", [HOSTILE, CASINO]),
    ],
)
def test_a_question_finds(path: Path, line: str, wanted: list[object]) -> None:
    name = ident.to_text(CASINO.id)  # another in each process: no part of a test's name
    asked = line.replace("CASINO", name).replace("LOWER", name.lower())
    assert found(path, asked) == [one.id for one in wanted]  # type: ignore[attr-defined]


def test_no_more_than_asked_for_and_the_newest_of_them(path: Path) -> None:
    assert found(path, "", 2) == [HOSTILE.id, CASINO.id]


def test_a_row_tells_what_came_and_the_two_live_rules_that_weigh_most(path: Path) -> None:
    with JournalSearch(path) as journal:
        (one,) = journal.find(parse_query("casino", NOON), 1)
        assert (one.sender, one.header_from, one.subject) == (
            CASINO.sender,
            CASINO.header_from,
            CASINO.subject,
        )
        assert one.recipients == CASINO.recipients
        assert [hit.name for hit in one.reasons] == ["GAMBLING_MUCH", "MASS_TEXT"]
        (two,) = journal.find(parse_query("maria", NOON), 1)
        assert [hit.name for hit in two.reasons] == ["NO_NAME"], "a rule on trial is no reason"
        assert journal.oldest() == MARIA.time


@given(
    st.lists(
        st.sampled_from(
            [
                "from:",
                "rule:",
                "client:",
                "-",
                '"',
                "%",
                "\\",
                "*",
                "'",
                "/",
                ":",
                "é",
                "\udcff",
                "a",
                "1",
                " ",
            ]
        ),
        max_size=40,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_question_breaks_the_journal(path: Path, parts: list[str]) -> None:
    try:
        query = parse_query("".join(parts), NOON)
    except BadQuery:
        return
    with JournalSearch(path) as journal:
        list(journal.find(query, 20))


def test_the_longest_words_are_asked(path: Path) -> None:
    assert found(path, " ".join(["x" * 5000] * 30)) == []


def test_entries_of_an_older_oborona_are_found_by_their_envelope(tmp_path: Path) -> None:
    older = tmp_path / "journal.db"
    with closing(sqlite3.connect(older)) as db:
        for statements in schema.MIGRATIONS[:4]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 4")
        db.execute(
            "INSERT INTO verdict VALUES (1, 0, 'accept', 0, 100, 'below-line', 0, '', 1, 'Q', "
            "NULL, NULL, '192.0.2.1', 'h', 's@a.example', '',"
            " '[\"r@b.example\"]', 'lunch', '[]', NULL)"
        )
        db.commit()
    with pytest.raises(StoreError, match="starting Oborona brings it up"):
        JournalSearch(older)
    schema.prepare(older)
    with JournalSearch(older) as journal:
        (one,) = journal.find(parse_query("from:s@a.example -from:nobody", NOON), 20)
        assert one.header_from == ""


def test_bounds_in_time_are_asked_once(path: Path) -> None:
    # SQLite heeds one lower and one upper bound: a second pair would be read, and compared
    asked = list[str]()
    query = parse_query("from:example since:2d until:1h", NOON)
    with JournalSearch(path) as journal:
        journal._db.set_trace_callback(asked.append)
        list(journal.find(msgspec.structs.replace(query, before=ident.HIGHEST), 20))
    rows = [sql for sql in asked if "ORDER BY id DESC" in sql and "OFFSET" not in sql]
    assert rows
    for sql in rows:
        assert sql.count("id > ") == sql.count("id <= ") == 1, sql
        assert "id >= " not in sql
        assert "id < " not in sql


def test_a_damaged_row_is_passed_over(tmp_path: Path) -> None:
    damaged = tmp_path / "journal.db"
    schema.prepare(damaged)
    with closing(sqlite3.connect(damaged)) as db:
        for number in (1, 2, 3):
            db.execute(
                (
                    "INSERT INTO verdict VALUES (?, 0, ?, 0, 100, 'below-line', 0, '', 1, "
                    "'Q', NULL, NULL, ?, 'h', 's', '', ?, 'lunch', '[]', NULL, NULL, NULL)"
                ),
                (
                    number,
                    "accept",
                    b"\xff" if number == 2 else "192.0.2.1",
                    "[[" if number == 3 else '["r"]',
                ),
            )
        db.commit()
    with JournalSearch(damaged) as journal:
        assert [one.subject for one in journal.find(parse_query("", NOON), 20)] == ["lunch"]
