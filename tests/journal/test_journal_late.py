"""What was found late: written beside its entry, read back as it was, purged with it.

Files of the version before are brought up.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry, LateFindings
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalReader
from oborona.types import Action, Finding, RuleHit, RuleMode, Shingle

NOW = 1_795_170_000.0


def entry(ident: int, when: float = NOW) -> JournalEntry:
    return JournalEntry(
        id=ident,
        time=when,
        verdict=Action.ACCEPT,
        score=0.0,
        line=100.0,
        decided_by="below-threshold",
    )


def late(ident: int) -> LateFindings:
    return LateFindings(
        id=ident,
        time=NOW + 5,
        before=Action.ACCEPT,
        score_before=12.5,
        verdict=Action.SPAM,
        score=130.25,
        line=100.0,
        decided_by="WHISPER",
        rules=(
            RuleHit(name="WHISPER", score=80.0, say="ё \ud800"),
            RuleHit(name="S", score=1.0, mode=RuleMode.SHADOW),
        ),
        findings=(Finding("picture-stopped", "plan.png"),),
        facts={"pictures_text": "шёпот", "links": 2, "links_domains": ["casino.example"]},
        shingles=(Shingle(65, 2**64 - 1), Shingle(66, 0)),
    )


async def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    first, second = (JournalIdGenerator().next(NOW + place) for place in range(2))
    async with await JournalWriter.open(path) as journal:
        journal.append(entry(first))
        journal.append(entry(second))
        journal.append_late(late(first))
        await journal.flush()
        assert (journal.written, journal.lost) == (2, 0)
    async with await JournalReader.open(path) as reader:
        assert await reader.late(first) == late(first)
        assert await reader.late(second) is None
        assert await reader.count() == 2


async def test_a_batch_of_nothing_else_is_written_and_a_second_word_on_a_message_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    ident = JournalIdGenerator().next(NOW)
    async with await JournalWriter.open(path) as journal:
        journal.append(entry(ident))
        await journal.flush()
        journal.append_late(late(ident))
        await journal.flush()
        journal.append_late(msgspec.structs.replace(late(ident), score=1.0))
        await journal.flush()
        found = await journal.late(ident)
        assert found is not None
        assert found.score == 130.25


async def test_facts_that_are_too_large_lose_their_texts(tmp_path: Path) -> None:
    ident = JournalIdGenerator().next(NOW)
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        journal.append_late(
            msgspec.structs.replace(late(ident), facts={"pictures_text": "x" * 70_000, "links": 2})
        )
        await journal.flush()
        found = await journal.late(ident)
        assert found is not None
        assert found.facts == {"links": 2}


@pytest.mark.parametrize("evidence", [False, True])
async def test_it_goes_with_its_entry_or_with_the_evidence(tmp_path: Path, evidence: bool) -> None:
    numbers = JournalIdGenerator()
    old, new = numbers.next(NOW - 1000), numbers.next(NOW)
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        for ident in (old, new):
            journal.append(entry(ident))
            journal.append_late(late(ident))
        await journal.flush()
        await journal.purge(
            NOW,
            max_rows=1000,
            retention_s=5000.0 if evidence else 500.0,
            evidence_s=500.0 if evidence else None,
        )
        assert await journal.late(old) is None
        assert await journal.late(new) is not None
        assert (await journal.get(old) is not None) == evidence
