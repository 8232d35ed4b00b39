"""A backup has what was acknowledged, wherever it was at that moment.

What is put back applies no spool of what was there before.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import load_settings
from oborona.daemon.backup import creation
from oborona.daemon.backup.creation import create_backup
from oborona.daemon.backup.restore import restore_backup
from oborona.daemon.state import prepare_state
from oborona.journal import rows
from oborona.journal.journal import JournalWriter
from oborona.journal.spool import JournalSpool
from tests.journal.entries import make_entry
from tests.peers.oborona import SETTINGS

ROOT = Path(__file__).parents[3]
TIMES = 8  # a backup is taken


@contextmanager
def at_work(path: Path, worker: int, batch_s: float) -> Iterator[subprocess.Popen[str]]:
    words = [
        sys.executable,
        "-m",
        "tests.journal.spooling_program",
        str(path),
        str(worker),
        str(batch_s),
    ]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def acknowledged(process: subprocess.Popen[str], number: int) -> set[int]:
    assert process.stdout is not None
    return {int(process.stdout.readline()) for _ in range(number)}


def back_up(state: Path, target: Path) -> None:
    create_backup(load_settings(SETTINGS, {"paths.state": str(state)}), target, nullcontext)


def ids(state: Path) -> list[int]:
    """Return the entries of a journal, once a start has taken over what is in its spool."""
    prepare_state(state)

    async def taken_over() -> None:
        async with await JournalWriter.open(state / state_files.JOURNAL), asyncio.timeout(20):
            while list((state / state_files.JOURNAL_SPOOL).glob("*.spool")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    asyncio.run(taken_over())
    with closing(sqlite3.connect(state / state_files.JOURNAL)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [number for (number,) in db.execute("SELECT id FROM verdict")]


@pytest.mark.parametrize("batch_s", [0.001, 60.0], ids=["in SQLite at once", "in the spool alone"])
def test_what_was_acknowledged_before_a_backup_is_in_it(tmp_path: Path, batch_s: float) -> None:
    state = tmp_path / "state"
    prepare_state(state)
    with (
        at_work(state / state_files.JOURNAL, 1, batch_s) as one,
        at_work(state / state_files.JOURNAL, 2, batch_s) as two,
    ):
        said = set[int]()
        for number in range(TIMES):
            said |= acknowledged(one, 30) | acknowledged(two, 30)
            back_up(state, tmp_path / f"backup{number}")
            restore_backup(
                tmp_path / f"backup{number}", state=tmp_path / f"other{number}", force=False
            )
            assert said <= set(ids(tmp_path / f"other{number}"))


def test_what_goes_from_the_spool_while_it_is_copied_is_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the plain files and the moment of the backup a batch is committed and its file
    removed, and another message acknowledged.
    """
    state, copy = tmp_path / "state", creation._copy_plain
    prepare_state(state)
    spool = JournalSpool(state / state_files.JOURNAL_SPOOL)
    spool.append(rows.pack(entry := make_entry()))
    (path,) = (state / state_files.JOURNAL_SPOOL).glob("*.spool")
    spool.close(written=False)

    later = JournalSpool(state / state_files.JOURNAL_SPOOL)

    def meanwhile(source: Path, target: Path) -> None:
        copy(source, target)
        assert ids(state) == [entry.id]
        assert not path.exists()
        later.append(rows.pack(make_entry(id=entry.id + 1)))

    monkeypatch.setattr(creation, "_copy_plain", meanwhile)
    back_up(state, tmp_path / "backup")
    later.close(written=True)
    restore_backup(tmp_path / "backup", state=tmp_path / "other", force=False)
    assert ids(tmp_path / "other") == [entry.id, entry.id + 1]


def test_what_is_put_back_applies_no_spool_of_what_was_there_before(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    prepare_state(state)
    spool = JournalSpool(state / state_files.JOURNAL_SPOOL)
    spool.append(rows.pack(kept := make_entry()))
    back_up(state, backup)
    spool.append(rows.pack(make_entry(time=time.time())))  # after the backup
    spool.close(written=False)
    restore_backup(backup, state=state, force=True)
    assert ids(state) == [kept.id]
    (aside,) = state.glob("before-restore-*")
    assert list((aside / state_files.JOURNAL_SPOOL).glob("*.spool"))


def test_what_is_damaged_in_a_spool_stays_out(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    prepare_state(state)
    spool = JournalSpool(state / state_files.JOURNAL_SPOOL)
    spool.append(rows.pack(make_entry()))
    spool.close(written=False)
    (path,) = (state / state_files.JOURNAL_SPOOL).glob("*.spool")
    path.rename(path.with_name(f"{path.name}.damaged-20261123T120000Z"))
    (state / state_files.JOURNAL_SPOOL / "0.new").touch()
    back_up(state, backup)
    assert list((backup / "state" / state_files.JOURNAL_SPOOL).iterdir()) == []
