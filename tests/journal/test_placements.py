"""The journal read in bulk: what was delivered where, and entries by their ids."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.ident import JournalIdGenerator
from oborona.journal.entry import CopyDelivery, JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.journal.placements import AT_ONCE, JournalPlacements
from oborona.types import Action

NOW = 1_780_000_000.0


def entry(ident: int, number: int, verdict: Action, login: str = "") -> JournalEntry:
    return JournalEntry(
        id=ident, time=NOW + number, verdict=verdict, score=1.0, line=100.0, decided_by="x",
        recipients=(f"p{number}@b.example",), login=login, header_from="Ann <ann@a.example>",
    )  # fmt: skip


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    async def fill() -> None:
        numbers = JournalIdGenerator(start=lambda: 0)
        async with await JournalWriter.open(tmp_path / "journal.db") as journal:
            for number in range(AT_ONCE + 50):
                verdict = (Action.ACCEPT, Action.SPAM, Action.REJECT)[number % 3]
                login = "ann" if number == 3 else ""
                ident = numbers.next(NOW + number)
                journal.append(entry(ident, number, verdict, login))
                if number == 1:  # its reader's list let it pass
                    journal.append_went(CopyDelivery(id=ident, recipient="p", spam=False, time=NOW))

    asyncio.run(fill())
    return tmp_path / "journal.db"


def test_what_was_delivered_is_told_in_order(journal: Path) -> None:
    with JournalPlacements(journal) as read:
        placed = list(read.since(0.0))
        assert [one.id for one in placed] == sorted(one.id for one in placed)
        numbers = [int(one.time - NOW) for one in placed]
        assert numbers == [n for n in range(AT_ONCE + 50) if n % 3 != 2 and n != 3]
        assert [one.filed for one in placed[:3]] == [False, False, True]
        assert placed[0].recipients == ("p0@b.example",)
        assert placed[0].header_from == "Ann <ann@a.example>"
        assert [one.time for one in read.since(NOW + AT_ONCE + 48)] == [NOW + AT_ONCE + 49]
        wanted = [one.id for one in placed]
        assert [one.id for one in read.entries([*reversed(wanted), 1])] == wanted


def test_damaged_rows_are_left_out_and_a_damaged_file_is_told(
    journal: Path, tmp_path: Path
) -> None:
    with sqlite3.connect(journal) as db:
        first, second = (row[0] for row in db.execute("SELECT id FROM verdict ORDER BY id LIMIT 2"))
        db.execute("UPDATE verdict SET recipients = '[1' WHERE id = ?", (first,))
    with JournalPlacements(journal) as read:
        assert next(iter(read.since(0.0))).id == second
        assert [one.id for one in read.entries([first, second])] == [second]
    (tmp_path / "other.db").write_bytes(b"\0" * 5000)
    for missing in ("none.db", "other.db"):
        with pytest.raises(StoreError):
            JournalPlacements(tmp_path / missing)
