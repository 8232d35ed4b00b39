"""A journal that is set aside while processes write it and are killed: what was acknowledged is in
one of its files, and all of them are whole.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.state import prepare_state
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.watch import watch_journal
from tests.journal.test_journal_set_aside import fill, put_aside, spoil, until

ROOT = Path(__file__).parents[2]
WRITERS = 3
TIMES = 25  # it is set aside
PATIENCE_S = 60.0


def program(path: Path, worker: int, batch_s: float) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "tests.journal.spooling_program",
        str(path),
        str(worker),
        str(batch_s),
    ]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def ids(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",), path
        found = [number for (number,) in db.execute("SELECT id FROM verdict")]
        assert db.execute("SELECT rows FROM tally").fetchone() == (len(found),), path
    return found


async def _take_over(path: Path) -> None:
    async with await JournalWriter.open(path), asyncio.timeout(PATIENCE_S):
        while list(path.with_name(state_files.JOURNAL_SPOOL).glob("*.spool")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def test_what_was_acknowledged_is_in_one_of_its_files(tmp_path: Path) -> None:
    path, chance, said = tmp_path / "journal.db", random.Random(7), set[int]()
    schema.prepare(path)
    running = [program(path, number, 0.002) for number in range(WRITERS)]
    try:
        for one in running:  # all of them are at work, however long a busy machine starts them
            assert one.stdout is not None
            said.add(int(one.stdout.readline()))
        for round_ in range(TIMES):
            time.sleep(0.05 + chance.random() * 0.1)
            put_aside(path)
            if round_ % 5 == 4:
                victim = running.pop(0)
                said |= killed(victim)
                running.append(program(path, WRITERS + round_, 0.002))
    finally:
        for one in running:
            said |= killed(one)
    asyncio.run(_take_over(path))
    files = [path, *(one for one in tmp_path.glob("journal.db.damaged-*") if one.name[-4] != "-")]
    found = [ids(one) for one in files]
    assert said <= {number for one in found for number in one}
    assert len(said) > TIMES


def acknowledging(path: Path) -> subprocess.Popen[str]:
    """Return a process that acknowledges what SQLite has none of."""
    process = program(path, 77, 60.0)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def there_once(path: Path, said: set[int]) -> None:
    found = ids(path)
    assert said <= set(found)
    assert (
        len(found) <= len(said) + 2
    )  # what was said first, and what was written as its writer was killed, and never said
    with closing(sqlite3.connect(path)) as db:
        for asked in ("SELECT id FROM went", "SELECT id FROM arrival WHERE NOT late"):
            assert sorted(number for (number,) in db.execute(asked)) == sorted(found), asked


async def test_what_a_killed_one_left_goes_into_the_one_that_a_start_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(tmp_path)
    path = tmp_path / state_files.JOURNAL
    async with await JournalWriter.open(path) as journal:
        await fill(journal, 300)
    said = await asyncio.to_thread(lambda: killed(acknowledging(path)))
    path.write_bytes(path.read_bytes()[:20_000])
    prepare_state(tmp_path)
    assert ids(path) == []
    await _take_over(path)
    there_once(path, said)
    assert "was set aside whole" in caplog.text
    assert f"{len(ids(path))} entries of a process that died are written" in caplog.text


async def test_what_a_killed_one_left_waits_until_the_damaged_one_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / state_files.JOURNAL
    schema.prepare(path)
    async with await JournalWriter.open(path, batch_s=0.01) as worker:
        await fill(worker, 300)
        process = await asyncio.to_thread(acknowledging, path)
        await asyncio.to_thread(spoil, path)
        said = await asyncio.to_thread(killed, process)
        await until(lambda: "what a dead process has left waits" in caplog.text)
        assert schema.suspicion(path)
        async with watch_journal(path, asyncio.Event()):
            await until(lambda: "of a process that died are written" in caplog.text)
    there_once(path, said)


def killed(process: subprocess.Popen[str]) -> set[int]:
    process.send_signal(signal.SIGKILL)
    with process:
        assert process.stdout is not None
        return {int(line) for line in process.stdout.read().split("\n")[:-1]}
