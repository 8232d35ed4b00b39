"""Trouble is told at once, then each minute, and when it is over: never once for each attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.errors import StoreFull
from oborona.journal.trouble import REMIND_S, RETRY_S, JournalTrouble


def test_a_long_failure_is_told_each_minute_and_at_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trouble = JournalTrouble(Path("journal.db"))
    for second in range(150):
        trouble.failed(StoreFull("no room"), waiting=second, lost=0, now=1000.0 + second)
    trouble.succeeded(lost=7, now=1150.0)
    trouble.succeeded(lost=7, now=9999.0)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR", "ERROR", "WARNING"]
    assert "120 entries wait" in caplog.messages[2]
    assert "after 150 s; 7 entries were lost" in caplog.messages[3]


def test_attempts_become_rarer_to_a_bound() -> None:
    trouble = JournalTrouble(Path("journal.db"))
    pauses = []
    for _ in range(12):
        trouble.failed(StoreFull("no room"), waiting=0, lost=0, now=0.0)
        pauses.append(trouble.pause)
    assert pauses[0] < pauses[1] < pauses[2]
    assert pauses[-1] == RETRY_S
    trouble.succeeded(lost=0, now=1.0)
    assert trouble.pause == 0


def test_losses_without_a_failure_are_told_too(caplog: pytest.LogCaptureFixture) -> None:
    trouble = JournalTrouble(Path("journal.db"))
    trouble.succeeded(lost=0, now=0.0)
    trouble.succeeded(lost=3, now=1.0)
    trouble.succeeded(lost=5, now=2.0)
    trouble.succeeded(lost=9, now=2.0 + REMIND_S)
    trouble.over(lost=9)
    trouble.over(lost=10)
    assert [message.split(": ")[-1] for message in caplog.messages] == [
        "3 entries were lost since the start",
        "9 entries were lost since the start",
        "journal.db is closed; 10 entries were lost",
    ]
