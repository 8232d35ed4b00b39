"""What was appended is in the journal whoever is killed when, once.

Damage costs what is damaged, and is told.
"""

from __future__ import annotations

import asyncio
import logging
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from oborona import state_files
from oborona.config import DeliverySettings
from oborona.doorbell import LOOK_S
from oborona.errors import StoreError, StoreFull
from oborona.journal import rows, schema
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.journal import BATCH_S, JournalWriter
from oborona.journal.spool import JournalSpool, orphan_spools
from oborona.journal.spool_record import HEADER, MAGIC, Spooled, decode_all, encode, pack_policy
from oborona.types import Action
from tests.journal.entries import make_entry

ROOT = Path(__file__).parents[2]
KILLS = 12
PATIENCE_S = 60.0  # against hangs alone


def one_of_each() -> list[Spooled]:
    entry = make_entry(subject="\udcff lone", helo="a\0b")
    late = LateFindings(
        id=entry.id,
        time=1.0,
        before=Action.ACCEPT,
        score_before=0.0,
        verdict=Action.SPAM,
        score=7.0,
        line=5.0,
        decided_by="X",
    )
    went = CopyDelivery(id=entry.id, recipient="j\udcffe@example.test", spam=True, time=2.0)
    return [
        rows.pack(entry),
        rows.pack_late(late),
        rows.pack_went(went),
        pack_policy("1", {"A": "x", "B\ud800": "y"}),
    ]


def abandoned(folder: Path, entries: list[JournalEntry]) -> Path:
    """Write entries into a spool whose process is then as good as dead; return its file."""
    spool = JournalSpool(folder)
    for one in entries:
        spool.append(rows.pack(one))
    spool.close(written=False)
    (path,) = folder.glob("*.spool")
    return path


async def settled(path: Path, number: int) -> list[JournalEntry]:
    """Return the entries of a journal, once it has so many and nothing is left of others."""
    folder = path.with_name(state_files.JOURNAL_SPOOL)
    async with await JournalWriter.open(path) as journal, asyncio.timeout(20):
        while await journal.count() < number or list(folder.glob("*.spool")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await journal.recent(1000)


async def test_what_is_appended_is_there_once_after_kill_9(tmp_path: Path) -> None:
    path, chance, said = tmp_path / "journal.db", random.Random(5), set[int]()
    schema.prepare(path)
    for round_ in range(KILLS):
        batch_s = 0.01 if round_ % 2 else 60.0  # SQLite has most of it, or nothing
        command = [
            sys.executable,
            "-m",
            "tests.journal.spooling_program",
            str(path),
            str(round_),
            str(batch_s),
        ]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 120)):
                said.add(int(process.stdout.readline()))
            time.sleep(chance.random() * 0.05)
            process.send_signal(signal.SIGKILL)
            said |= {int(line) for line in process.stdout.read().split("\n")[:-1]}
    await settled(path, len(said))
    with closing(sqlite3.connect(path)) as db:
        there = [number for (number,) in db.execute("SELECT id FROM verdict")]
        assert said <= set(there)
        # what was written as its writer was killed, and never said
        assert len(there) <= len(said) + KILLS
        assert said <= {number for (number,) in db.execute("SELECT id FROM went")}
        assert sorted(there) == sorted(number for (number,) in db.execute("SELECT id FROM arrival"))
        assert db.execute("SELECT rows FROM tally").fetchone() == (len(there),)
        assert db.execute("SELECT version FROM policy").fetchall() == [("3f2a9c1b",)]


async def test_a_file_is_written_once_however_often_its_removal_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [make_entry(verdict=Action.ACCEPT) for _ in range(20)]
    abandoned(tmp_path / state_files.JOURNAL_SPOOL, entries)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _no_removal)
        async with (
            await JournalWriter.open(tmp_path / "journal.db") as journal,
            asyncio.timeout(PATIENCE_S),
        ):
            while await journal.count() < len(entries):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert sorted(await settled(tmp_path / "journal.db", 20), key=lambda one: one.id) == entries
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        assert db.execute("SELECT count(*) FROM arrival").fetchone() == (20,)


def _no_removal(_path: Path, *, missing_ok: bool = False) -> None:
    raise PermissionError(1, f"not now{missing_ok:.0f}")


async def test_a_torn_end_is_cut_and_damage_costs_one_entry_and_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [make_entry() for _ in range(5)]
    path = abandoned(tmp_path / state_files.JOURNAL_SPOOL, entries)
    octets = path.read_bytes()
    second = octets.index(MAGIC, 1)
    path.write_bytes(octets[: second + 40] + b"\x00" + octets[second + 41 : -7])
    found = await settled(tmp_path / "journal.db", 3)
    assert {one.id for one in found} == {entries[place].id for place in (0, 2, 3)}
    said = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("check value is wrong" in one and "set aside" in one for one in said)
    assert any("no whole record and are cut" in one for one in said)
    assert any("3 entries of a process that died are written" in one for one in said)
    (aside,) = (tmp_path / state_files.JOURNAL_SPOOL).iterdir()
    assert ".damaged-" in aside.name


async def test_records_of_a_newer_version_are_kept_and_those_behind_them_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (entry,) = entries = [make_entry()]
    path = abandoned(tmp_path / state_files.JOURNAL_SPOOL, entries)
    newer = bytearray(path.read_bytes())
    newer[4] += 1
    path.write_bytes(bytes(newer) + path.read_bytes())
    assert await settled(tmp_path / "journal.db", 1) == [entry]
    assert "are not known" in caplog.text
    (aside,) = (tmp_path / state_files.JOURNAL_SPOOL).iterdir()
    assert bytes(newer) in aside.read_bytes()


async def test_a_file_that_cannot_be_read_holds_no_other_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    schema.prepare(path)
    entry = make_entry()
    name = abandoned(tmp_path / state_files.JOURNAL_SPOOL, [entry]).name
    of_another = (
        tmp_path / state_files.JOURNAL_SPOOL / f"0.{name.split('.')[1]}.00000001.spool"
    )  # the first to be looked at
    of_another.symlink_to(of_another)

    def said() -> list[str]:
        # the whole path: a process whose number ends in 0 has left a file with a like name
        return [one.message for one in caplog.records if str(of_another) in one.message]

    async with await JournalWriter.open(path) as journal, asyncio.timeout(PATIENCE_S):
        while await journal.get(entry.id) is None or not said():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)  # looks a second apart
    assert len(said()) == 1
    assert of_another.is_symlink()


def test_what_cannot_be_read_once_is_taken_once_it_can(tmp_path: Path) -> None:
    """The first look fails between two files of a dead process, as where no descriptor is free: it
    keeps no lock on the other.
    """
    spool = JournalSpool(tmp_path, file_bytes=1)  # each row in a file of its own
    for _ in range(2):
        spool.append(rows.pack(make_entry()))
    spool.close(written=False)
    first, second = sorted(tmp_path.iterdir())
    aside = first.rename(tmp_path / "aside")
    first.symlink_to(first)
    with pytest.raises(StoreError):
        list(orphan_spools(tmp_path))
    first.unlink()
    aside.rename(first)
    found = list(orphan_spools(tmp_path))
    assert [one.path for one in found] == [first, second]
    for one in found:
        one.close()


def test_who_delivers_waits_longer_than_taking_over_takes() -> None:
    """A message whose worker was killed behind the answer is mostly delivered at once, and by
    another worker.
    """
    assert DeliverySettings().journal_wait_s > LOOK_S + BATCH_S


async def test_a_living_process_keeps_its_files(tmp_path: Path) -> None:
    spool = JournalSpool(tmp_path, file_bytes=1)  # each row in a file of its own
    for _ in range(3):
        spool.append(rows.pack(make_entry()))
    assert len(list(tmp_path.iterdir())) == 3
    assert list(orphan_spools(tmp_path)) == []
    spool.written(3)
    assert len(list(tmp_path.iterdir())) == 1
    spool.written(None)
    assert [one.stat().st_size for one in tmp_path.iterdir()] == [0]
    spool.append(rows.pack(make_entry()))
    spool.close(written=True)
    assert list(tmp_path.iterdir()) == []


async def test_what_sqlite_has_leaves_the_spool(tmp_path: Path) -> None:
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=60) as journal:
        for _ in range(10):
            journal.append(make_entry())
        (path,) = (tmp_path / state_files.JOURNAL_SPOOL).iterdir()
        assert len(decode_all(path.read_bytes())[0]) == 10
        await journal.flush()
        assert path.stat().st_size == 0
    assert list((tmp_path / state_files.JOURNAL_SPOOL).iterdir()) == []


def _fill(spool: JournalSpool, row: Spooled) -> None:
    for _ in range(1000):
        spool.append(row)


def test_a_spool_has_a_bound(tmp_path: Path) -> None:
    spool = JournalSpool(tmp_path, file_bytes=5000, most_bytes=20_000)
    row = rows.pack(make_entry())
    with pytest.raises(StoreFull, match="has grown"):
        _fill(spool, row)
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 30_000
    spool.written(None)
    spool.append(row)
    spool.close(written=True)


async def test_what_is_dropped_from_memory_leaves_the_spool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.journal.journal.WAITING_BYTES", 20_000)
    monkeypatch.setattr("oborona.sqlite_file.BUSY_S", 0.01)
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as journal:
        journal._spool = JournalSpool(tmp_path / state_files.JOURNAL_SPOOL, file_bytes=2000)
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(200):
                journal.append(make_entry())
            assert journal.lost > 100
            assert (
                sum(one.stat().st_size for one in (tmp_path / state_files.JOURNAL_SPOOL).iterdir())
                < 20_000
            )
            other.execute("ROLLBACK")


async def test_a_full_disk_is_told_once_and_mail_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, ignored = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    async with await JournalWriter.open(tmp_path / "journal.db", batch_s=0.01) as journal:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
            for _ in range(5):
                journal.append(make_entry())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "kept in memory alone" in caplog.text
        journal.append(make_entry())
        assert "the spool is written again" in caplog.text
        await journal.flush()
        assert await journal.count() == 6


def test_rows_come_back_as_they_were() -> None:
    made = one_of_each()
    assert decode_all(b"".join(map(encode, made))) == (made, [])


def test_a_record_of_an_older_version_is_taken_without_what_it_lacks() -> None:
    """Which was written when messages did not say by which door they came."""
    row = rows.pack(make_entry(door="milter"))
    older = encode(row._replace(verdict=row.verdict[:-1]))
    assert decode_all(older) == ([row._replace(verdict=(*row.verdict[:-1], None))], [])


def test_hostile_octets_are_never_a_row_and_end() -> None:
    made = one_of_each()
    chance, whole = random.Random(3), b"".join(map(encode, made))
    for _ in range(300):
        octets = bytearray(whole)
        for _ in range(chance.randrange(1, 5)):
            octets[chance.randrange(len(octets))] ^= 1 << chance.randrange(8)
        cut = octets[: chance.randrange(len(octets) + 1)]
        found, unread = decode_all(bytes(cut))
        assert all(row in made for row in found)
        assert sum(len(encode(row)) for row in found) + sum(one.size for one in unread) == len(cut)
    length = HEADER.pack(MAGIC, 1, 1, 0xFFFFFFFF, 0)
    assert decode_all(length * 1000)[0] == []
    assert decode_all(MAGIC * 10_000)[0] == []
