"""What `oborona explain` finds by a queue id: they are used again, and some read as an id."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.ident import from_text
from oborona.journal.journal import JournalWriter
from tests.journal.entries import NOON, make_entry


def explained(state: Path, queue_id: str, senders: list[str]) -> str:
    """Journal an entry of each sender under one queue id; return what is told of that."""

    async def fill() -> None:
        async with await JournalWriter.open(state / "journal.db") as journal:
            for hour, sender in enumerate(senders):
                journal.append(
                    make_entry(
                        time=NOON + hour * 3600, queue_id=queue_id, sender=sender, shingles=()
                    )
                )

    asyncio.run(fill())
    result = CliRunner().invoke(main, ["--state", os.fspath(state), "explain", queue_id])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("queue_id", ["4Xk2mT0gZ9z", "4XJ8kd1Bz3z9L"])
def test_a_queue_id_used_again_shows_the_newest(tmp_path: Path, queue_id: str) -> None:
    told = explained(tmp_path, queue_id, ["first@a.example", "second@a.example"])
    assert "second@a.example" in told
    assert "first@a.example" not in told


def test_the_second_of_these_reads_as_an_id() -> None:
    assert from_text("4XJ8kd1Bz3z9L") is not None
