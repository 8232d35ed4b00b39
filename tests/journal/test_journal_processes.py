"""The journal when processes die, compete, and run out of disk."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from oborona.errors import StoreError
from oborona.journal import refusal_ledger, schema
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalReader
from tests.journal.entries import make_entry
from tests.journal.refusals import make_refusal

ROOT = Path(__file__).parents[2]


def writer(path: Path, worker: int, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.journal.entries", str(path), str(worker), str(number)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


async def test_kill_9_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for round_ in range(3):
        process = writer(path, round_, 1_000_000)
        assert process.stdout is not None
        committed = 0
        for line in process.stdout:
            committed = int(line)
            if committed >= 400 + 20 * round_:
                process.send_signal(signal.SIGKILL)
                break
        committed = max(
            [committed, *(int(line) for line in process.stdout.read().split("\n")[:-1])]
        )
        process.stdout.close()
        assert process.wait(timeout=30) == -signal.SIGKILL
        with closing(sqlite3.connect(path)) as db:
            written = {name for (name,) in db.execute("SELECT queue_id FROM verdict")}
            assert {f"W{round_}N{i}" for i in range(committed)} <= written
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute(
                "SELECT rows = (SELECT count(*) FROM verdict) FROM tally"
            ).fetchone() == (1,)
            assert db.execute(
                "SELECT count(*) FROM verdict LEFT JOIN evidence USING (id) WHERE facts IS NULL"
            ).fetchone() == (0,)
    assert schema.prepare(path) is None


async def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"  # made by whoever comes first
    processes = [writer(path, worker, 700) for worker in range(3)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 2100
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(DISTINCT queue_id) FROM verdict").fetchone() == (2100,)
        assert db.execute("SELECT count(*) FROM names").fetchone() == (1,)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


PREPARES = """
import sys
from pathlib import Path
from oborona.errors import StoreError
from oborona.journal import schema
print("ready", flush=True)
for line in sys.stdin:
    try:
        print("aside" if schema.prepare(Path(line.rstrip())) else "fine", flush=True)
    except StoreError as error:
        print(error, flush=True)
"""


def test_units_that_start_at_once_set_a_damaged_file_aside_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PREPARES]
    units = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        for unit in units:
            assert unit.stdin and unit.stdout  # noqa: PT018 - for the types alone
            assert unit.stdout.readline() == "ready\n"
        for round_ in range(25):
            path = tmp_path / str(round_) / "journal.db"
            path.parent.mkdir()
            path.write_bytes(b"not a database at all, " * 1000)
            for unit in units:
                assert unit.stdin
                unit.stdin.write(f"{path}\n")
                unit.stdin.flush()
            answers = sorted(unit.stdout.readline() for unit in units if unit.stdout)
            assert answers == ["aside\n", "fine\n", "fine\n"]
            [aside] = [one for one in path.parent.iterdir() if ".damaged-" in one.name]
            assert aside.read_bytes() == b"not a database at all, " * 1000
            with closing(schema.open_writer(path)) as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        for unit in units:
            unit.communicate(timeout=30)


async def test_purging_beside_a_writer_keeps_the_number_exact(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.prepare(path)
    process = writer(path, 1, 1000)
    async with await JournalWriter.open(path) as keeper:
        while process.poll() is None:
            await keeper.purge(0, retention_s=0, max_rows=100, limit=30)
        assert process.stdout is not None
        process.stdout.close()
        while await keeper.purge(0, retention_s=0, max_rows=100, limit=30):
            pass
        assert process.returncode == 0
        assert await keeper.count() == 100
        assert {entry.queue_id for entry in await keeper.recent(200)} == {
            f"W1N{i}" for i in range(900, 1000)
        }


@pytest.fixture
def small_disk() -> object:
    """Let files of this process grow by a limit only.

    What a write beyond it meets is what a full disk gives.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


async def test_a_full_disk_holds_nobody_up_and_is_over_when_it_is_over(
    tmp_path: Path, small_disk: object, caplog: pytest.LogCaptureFixture
) -> None:
    assert callable(small_disk)
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        before = [make_entry() for _ in range(100)]
        for entry in before:
            journal.append(entry)
        await journal.flush()
        small_disk(path.with_name("journal.db-wal").stat().st_size + 10_000)
        during = [make_entry() for _ in range(300)]
        for entry in during:
            journal.append(entry)
        with pytest.raises(StoreError) as caught:
            await journal.flush()
        assert str(path) in str(caught.value)
        await asyncio.sleep(1)  # some attempts of its own
        assert journal.waiting == 300
        assert await journal.get(before[7].id) == before[7]  # reading goes on
        # the spool's file and the journal's meet the limit, whichever comes first
        assert {record.levelno for record in caplog.records} == {logging.ERROR}
        assert sum("entries wait in memory" in one for one in caplog.messages) == 1
        small_disk(resource.RLIM_INFINITY)
        await journal.flush()
        assert journal.waiting == journal.lost == 0
        assert await journal.recent(300) == during[::-1]
        assert await journal.count() == 400
    assert "written again" in caplog.text
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_full_disk_costs_references_of_refusals_and_one_line_of_the_log(
    tmp_path: Path,
    small_disk: object,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert callable(small_disk)
    monkeypatch.setattr(refusal_ledger, "WAITING_ROWS", 200)
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path, batch_s=0.01) as journal:
        journal.take(make_refusal())
        await journal.flush()
        small_disk(path.with_name("journal.db-wal").stat().st_size + 10_000)
        told = []
        for _ in range(2):
            told += [
                journal.take(make_refusal(client_ip=f"10.1.{n}.1", sender=f"{n}@a.example"))
                for n in range(250)
            ]
            with pytest.raises(StoreError):
                await journal.flush()
        assert len(set(told)) == 300, "the first 200 wait and are told once more, 50 are lost twice"
        lines = [one for one in caplog.messages if "further ones are told" in one]
        assert len(lines) == 1
        small_disk(resource.RLIM_INFINITY)
        await journal.flush()
        answers = [await journal.refusal(number) is not None for number in told[:250]]
        assert answers == [True] * 200 + [False] * 50
        fresh = journal.take(make_refusal(client_ip="10.1.249.1"))
        await journal.flush()
        assert await journal.refusal(fresh) is not None
    assert "refusals are recorded again; 100 references" in caplog.text
