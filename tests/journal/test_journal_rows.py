"""What is packed comes back as it was, whatever a peer put into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.journal import rows, texts
from oborona.journal.entry import SUBJECT_LENGTH, JournalEntry
from oborona.journal.fact_rows import FACTS_BYTES
from oborona.journal.texts import TEXT_LENGTH
from oborona.types import Action, Finding, RuleHit, RuleMode, Shingle
from tests.journal.entries import make_entry

# Any str, lone surrogates and NUL included.
PEER = st.text(st.characters(exclude_categories=()), max_size=40)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
FACT = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**64 - 1), NUMBER, PEER, st.lists(PEER, max_size=3)
)

ENTRIES = st.builds(
    JournalEntry,
    id=st.integers(0, 2**63 - 1),
    time=NUMBER,
    verdict=st.sampled_from(Action),
    score=NUMBER,
    line=NUMBER,
    decided_by=st.text("ABC_-", max_size=9),
    queue_id=PEER,
    message_id=PEER,
    client_ip=PEER,
    helo=PEER,
    sender=PEER,
    recipients=st.lists(PEER, max_size=4).map(tuple),
    login=PEER,
    size=st.integers(0, 2**62),
    subject=PEER,
    rules=st.lists(
        st.builds(RuleHit, name=PEER, score=NUMBER, say=PEER, mode=st.sampled_from(RuleMode)),
        max_size=3,
    ).map(tuple),
    findings=st.lists(st.builds(Finding, PEER, PEER), max_size=3).map(tuple),
    facts=st.dictionaries(PEER, FACT, max_size=5),
    shingles=st.lists(
        st.builds(Shingle, st.integers(1, 75), st.integers(0, 2**64 - 1)), max_size=40
    ).map(tuple),
    policy_version=st.text("0123456789abcdef", max_size=8),
    partial=st.booleans(),
)


@pytest.fixture(scope="module")
def columns() -> Iterator[sqlite3.Connection]:
    """Three untyped columns' worth of SQLite, since it is what texts must survive."""
    db = sqlite3.connect(":memory:")
    yield db
    db.close()


def through(db: sqlite3.Connection, values: tuple[object, ...]) -> tuple[Any, ...]:
    """Return values as SQLite gives them back."""
    row: tuple[Any, ...] = db.execute(f"SELECT {', '.join('?' * len(values))}", values).fetchone()
    return row


def back(db: sqlite3.Connection, entry: JournalEntry) -> JournalEntry:
    row = rows.pack(entry)
    (names,) = through(db, (rows.names_json(row.names),))
    return rows.unpack(
        through(db, row.verdict),
        through(db, row.evidence),
        names if row.shape is not None else None,
    )


@given(entry=ENTRIES)
def test_an_entry_comes_back_as_it_was(columns: sqlite3.Connection, entry: JournalEntry) -> None:
    assert back(columns, entry) == entry


def test_a_pair_of_surrogates_does_not_become_one_letter(columns: sqlite3.Connection) -> None:
    entry = make_entry(
        helo="\ud83d\ude00", recipients=("\ud83d\ude00",), facts={"x": "\ud83d\ude00"}
    )
    assert back(columns, entry) == entry
    assert back(columns, entry).helo != "😀"


def test_long_texts_are_cut(columns: sqlite3.Connection) -> None:
    long = "ы" * 5000
    found = back(columns, make_entry(helo=long, message_id=long, recipients=(long,), subject=long))
    assert found.helo == found.message_id == found.recipients[0] == "ы" * TEXT_LENGTH
    assert found.subject == "ы" * SUBJECT_LENGTH


def test_a_message_id_is_found_by_what_is_kept_of_it() -> None:
    assert (
        texts.message_key("x" * 5000)
        == texts.message_key("x" * TEXT_LENGTH)
        != texts.message_key("x")
    )


def test_too_many_facts_lose_their_texts_first(columns: sqlite3.Connection) -> None:
    found = back(
        columns,
        make_entry(facts={"words": 7, "body": "x" * FACTS_BYTES, "links": ["y"], "ham": False}),
    )
    assert found.facts == {"words": 7, "ham": False}
    assert back(columns, make_entry(facts={f"n{i}": i for i in range(3000)})).facts["n2999"] == 2999
    assert back(columns, make_entry(facts={f"n{i}": i for i in range(9000)})).facts == {}


def test_facts_that_json_does_not_know_become_their_nearest(columns: sqlite3.Connection) -> None:
    odd: dict[str, object] = {
        "set": frozenset({"a"}),
        "nan": float("nan"),
        "large": 2**200,
        "object": Action.SPAM,
        "surrogate beside": {"\ud800"},
    }
    facts = back(columns, make_entry(facts=odd)).facts
    assert facts["set"] == ["a"]
    assert facts["object"] == "spam"
    assert facts["large"] == 2**200


def test_entries_with_the_same_facts_share_one_list_of_names() -> None:
    first, second = (
        rows.pack(make_entry(facts={"a": 1, "b": 2})),
        rows.pack(make_entry(facts={"a": 3, "b": 4})),
    )
    other = rows.pack(make_entry(facts={"b": 2, "a": 1}))
    assert first.shape == second.shape != other.shape
    assert first.names == ("a", "b")
    assert isinstance(first.shape, int)
    assert 0 <= first.shape < 2**63


def test_an_entry_without_its_evidence_keeps_the_verdict() -> None:
    entry = make_entry()
    found = rows.unpack(rows.pack(entry).verdict, None, None)
    assert (found.verdict, found.rules, found.sender) == (entry.verdict, entry.rules, entry.sender)
    assert (found.facts, found.shingles, found.findings) == ({}, (), ())


def test_the_memory_of_a_row_is_not_underestimated() -> None:
    entry = make_entry(recipients=tuple(f"user{i}@example.test" for i in range(1000)))
    assert rows.pack(entry).bytes > sum(map(len, entry.recipients))
