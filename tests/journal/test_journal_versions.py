"""Journals of earlier versions: brought up with what they hold, which says what it lacks.

And entries whose rows were damaged.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oborona import sqlite_file
from oborona.errors import StoreError
from oborona.ident import JournalIdGenerator
from oborona.journal import schema
from oborona.journal.batch_insert import POLICIES
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import CHUNK, JournalReader
from oborona.recheck.facts_at_delivery import facts_then, why_not
from oborona.types import Action, ShadowVerdict
from tests.journal.entries import NOON, make_entry

VERDICT = (
    "INSERT INTO verdict (id, time, verdict, score, line, decided_by, partial, policy_version, "
    "size, client_ip, helo, sender, login,"
    " recipients, subject, rules) VALUES (?, ?, 'spam', 130.5, 100, 'MASS', 0, 'abc', 9, '', '', "
    "'', '', '[]', 'x', '[]')"
)
EVIDENCE = (
    "INSERT INTO evidence (id, findings, facts, shingles) VALUES (?, '[]', '{\"links\":3}', X'')"
)


def made(path: Path, version: int, idents: list[int]) -> None:
    """Make a journal as an Oborona of that version did."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        sqlite_file.migrate(db, schema.FORMAT._replace(migrations=schema.MIGRATIONS[:version]))
        for ident in idents:
            db.execute(VERDICT, (ident, NOON))
            db.execute(EVIDENCE, (ident,))
        db.execute("UPDATE tally SET rows = ?", (len(idents),))


@pytest.mark.parametrize("version", range(1, schema.VERSION))
async def test_an_earlier_journal_keeps_its_entries_which_say_what_they_lack(
    tmp_path: Path, version: int
) -> None:
    path, numbers = tmp_path / "journal.db", JournalIdGenerator()
    old, new = numbers.next(NOON), numbers.next(NOON + 1)
    made(path, version, [old])
    assert schema.prepare(path) is None
    would = ShadowVerdict(action=Action.REJECT, score=250.0, line=200.0, decided_by="TRIAL")
    entry = make_entry(id=new, time=NOON + 1, would=would, kept=VerdictEvidence(away=True))
    async with await JournalWriter.open(path) as journal:
        journal.append(entry)
        await journal.flush()
        before = await journal.get(old)
        assert before is not None
        assert (before.facts, before.kept, before.would) == ({"links": 3}, None, None)
        assert facts_then(before) is None
        assert "older" in why_not(before)
        assert await journal.get(new) == entry
        assert await journal.late(old) is None


async def told(path: Path, when: float) -> list[JournalEntry | int]:
    async with await JournalReader.open(path) as reader:
        return [entry async for entry in reader.since(when)]


async def test_entries_since_a_time_come_in_order_and_all_of_them(tmp_path: Path) -> None:
    path, numbers = tmp_path / "journal.db", JournalIdGenerator()
    total = 2 * CHUNK + 7
    async with await JournalWriter.open(path) as journal:
        for second in range(total):
            journal.append(make_entry(id=numbers.next(NOON + second), time=NOON + second))
    found = await told(path, NOON + 5)
    assert [entry.time for entry in found if isinstance(entry, JournalEntry)] == [
        NOON + second for second in range(5, total)
    ]
    async with await JournalReader.open(path) as reader:
        assert await reader.count_since(NOON + 5) == len(found)
    assert await told(path, NOON + total) == []


BROKEN = (
    "UPDATE evidence SET kept = X'0102' WHERE id = ?",
    "UPDATE evidence SET kept = zeroblob(0) WHERE id = ?",
    "UPDATE evidence SET facts = '[1' WHERE id = ?",
    "UPDATE evidence SET facts = 7 WHERE id = ?",
    "UPDATE evidence SET shingles = X'01' WHERE id = ?",
    "UPDATE evidence SET findings = '{}' WHERE id = ?",
    "UPDATE verdict SET rules = 'x' WHERE id = ?",
    "UPDATE verdict SET would = '{}' WHERE id = ?",
    "UPDATE verdict SET verdict = 'perhaps' WHERE id = ?",
    "UPDATE verdict SET recipients = X'ff' WHERE id = ?",
)


@pytest.mark.parametrize("damage", BROKEN)
async def test_a_damaged_entry_is_told_by_its_id_and_the_others_are_read(
    tmp_path: Path, damage: str
) -> None:
    path, numbers = tmp_path / "journal.db", JournalIdGenerator()
    idents = [numbers.next(NOON + second) for second in range(3)]
    async with await JournalWriter.open(path) as journal:
        for ident in idents:
            journal.append(make_entry(id=ident, kept=VerdictEvidence()))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(damage, (idents[1],))
    found = await told(path, NOON - 1)
    assert found[1] == idents[1]
    assert [one.id for one in found if isinstance(one, JournalEntry)] == [idents[0], idents[2]]
    async with await JournalReader.open(path) as reader:
        with pytest.raises(StoreError, match="damaged"):
            await reader.get(idents[1])


async def test_what_policies_asked_is_written_before_their_entries_once_and_for_so_many(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path) as journal:
        journal.append_policy("one", {"A": "aa", "B\ud800": "bb"})
        journal.append(make_entry(policy_version="one"))
        await journal.flush()
        assert await journal.policies() == {"one": {"A": "aa", "B\ud800": "bb"}}
        for number in range(POLICIES + 3):
            journal.append_policy(f"v{number}", {})
        journal.append_policy("one", {"A": "another"})
        journal.append(make_entry())
        await journal.flush()
        found = await journal.policies()
        assert len(found) == POLICIES
        assert list(found)[-1] == f"v{POLICIES + 2}"


async def test_damaged_rules_of_a_policy_are_an_error_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path) as journal:
        journal.append_policy("one", {})
        journal.append(make_entry())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE policy SET rules = '[1]'")
    async with await JournalReader.open(path) as reader:
        with pytest.raises(StoreError, match=r"journal\.db.*policies"):
            await reader.policies()
