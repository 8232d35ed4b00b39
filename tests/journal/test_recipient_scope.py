"""What is narrowed to some recipients: columns, words of rules, searches."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona import state_files
from oborona.ident import to_text
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.query import parse_query
from oborona.journal.recipient_scope import HIDDEN, NOBODY, mask_words, narrow_column
from oborona.journal.search import JournalSearch
from tests.journal.entries import NOON, make_entry

JOE, DAN = "joe@example.test", "dan@other.test"


def is_joe(address: str) -> bool:
    return address.lower() == JOE


@pytest.mark.parametrize(
    ("stored", "narrow"),
    [
        (f'["{JOE}","{DAN}"]', f'["{JOE}"]'),
        (f'["{DAN}"]', NOBODY),
        ("no JSON", NOBODY),
        ("[1]", NOBODY),
        (b"\xff", NOBODY),
        (None, NOBODY),
        (7, NOBODY),
        ("[" * 100_000, NOBODY),
    ],
    ids=range(8),
)
def test_a_column_has_those_alone_who_may_be_seen(stored: object, narrow: str) -> None:
    assert narrow_column(stored, is_joe) == narrow


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        (f"to {JOE} and <{DAN}>", f"to {JOE} and {HIDDEN}"),
        ("by ann@example.org, once", "by ann@example.org, once"),
        ("by nann@example.org", f"by {HIDDEN}"),
        ("none at all", "none at all"),
        ("@", HIDDEN),
    ],
)
def test_words_lose_the_addresses_of_others(words: str, masked: str) -> None:
    assert mask_words(words, is_joe, "Ann <ann@example.org>") == masked


@given(before=st.text(), after=st.text())
def test_no_words_around_it_show_an_address_of_others(before: str, after: str) -> None:
    assert DAN not in mask_words(f"{before}{DAN}{after}", is_joe)


def test_a_search_meets_those_alone_who_may_be_seen(tmp_path: Path) -> None:
    entry = make_entry(recipients=(JOE, DAN))

    async def fill() -> None:
        path = tmp_path / state_files.JOURNAL
        schema.prepare(path)
        async with await JournalWriter.open(path) as journal:
            journal.append(entry)
            journal.append(make_entry(recipients=(DAN,)))

    asyncio.run(fill())
    with JournalSearch(tmp_path / state_files.JOURNAL, covers=is_joe) as journal:
        found = {
            text: [(hit.id, hit.recipients) for hit in journal.find(parse_query(text, NOON), 9)]
            for text in ("", "to:joe", "to:dan", "dan", "-dan", f"queue:{entry.queue_id} to:dan")
        }
    joe = [(to_text(entry.id), (JOE,))]
    assert found == {
        "": joe,
        "to:joe": joe,
        "to:dan": [],
        "dan": [],
        "-dan": joe,
        f"queue:{entry.queue_id} to:dan": [],
    }
