"""The journal's file: made, brought up, refused, or set aside; never destroyed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oborona import sqlite_file
from oborona.errors import StoreError, StoreFull, StoreVersion
from oborona.journal import schema
from oborona.journal.journal import JournalWriter
from oborona.journal.queries import JournalReader
from tests.journal.entries import make_entry


async def fill(path: Path, number: int) -> None:
    async with await JournalWriter.open(path) as journal:
        for _ in range(number):
            journal.append(make_entry())


def test_a_new_file_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    assert schema.prepare(path) is None
    assert path.stat().st_mode & 0o027 == 0
    with closing(schema.open_writer(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        assert db.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert db.execute("PRAGMA page_size").fetchone() == (schema.PAGE_BYTES,)
        assert db.execute("PRAGMA synchronous").fetchone() == (1,)


async def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 3)
    assert schema.prepare(path) is None
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 3


async def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    assert schema.prepare(path) is None
    await fill(path, 1)


async def test_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 1)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreVersion, match="newer"):
        schema.prepare(path)
    with pytest.raises(StoreVersion, match="newer"):
        await JournalWriter.open(path)
    with pytest.raises(StoreVersion, match="newer"):
        await JournalReader.open(path)
    assert path.read_bytes() == before


async def test_an_older_version_is_brought_up_by_a_writer_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 2)
    more = (*schema.MIGRATIONS, ("ALTER TABLE verdict ADD COLUMN extra",))
    monkeypatch.setattr(schema, "FORMAT", schema.FORMAT._replace(migrations=more))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(StoreError, match="starting Oborona brings it up"):
        await JournalReader.open(path)
    schema.prepare(path)
    with closing(schema.open_writer(path)) as db:
        assert db.execute("SELECT extra FROM verdict").fetchall() == [(None,), (None,)]
    async with await JournalReader.open(path) as reader:
        assert await reader.count() == 2


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 2)
    broken = ("ALTER TABLE verdict ADD COLUMN extra", "ALTER TABLE absent ADD COLUMN extra")
    with monkeypatch.context() as patch:
        patch.setattr(
            schema, "FORMAT", schema.FORMAT._replace(migrations=(*schema.MIGRATIONS, broken))
        )
        with pytest.raises(StoreError, match="no such table"):
            schema.prepare(path)
    with closing(schema.open_writer(path)) as db:
        assert "extra" not in [column[1] for column in db.execute("PRAGMA table_info(verdict)")]


async def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE contacts (name)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a journal of Oborona"):
        schema.prepare(path)
    with pytest.raises(StoreError, match="not a journal of Oborona"):
        await JournalReader.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"not a database at all, " * 1000, id="text"),
        pytest.param(lambda whole: whole[: len(whole) // 2], id="half"),
        pytest.param(lambda whole: whole[:5000], id="less than a page"),
        pytest.param(lambda whole: whole[:100] + bytes(len(whole) - 100), id="zeros"),
        pytest.param(lambda whole: whole[:100] + b"\xff" * (len(whole) - 100), id="ones"),
    ],
)
async def test_a_damaged_file_is_set_aside_whole(
    tmp_path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 300)
    assert callable(damage)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)

    with pytest.raises(sqlite_file.SqliteFileDamaged, match="damaged"):
        schema.open_writer(path)
    assert path.read_bytes() == damaged

    aside = schema.prepare(path, lambda: 1_750_000_000.0)
    assert aside == tmp_path / "journal.db.damaged-20250615T150640Z"
    assert aside.read_bytes() == damaged
    assert str(aside) in caplog.text
    await fill(path, 1)
    assert schema.prepare(path) is None


def test_what_was_set_aside_in_the_same_second_stays(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    asides = []
    for number in range(3):
        path.write_bytes(b"no database %d" % number * 1000)
        asides.append(schema.prepare(path, lambda: 1_750_000_000.0))
    found = [aside.read_bytes() for aside in asides if aside is not None]
    assert found == [b"no database %d" % number * 1000 for number in range(3)]


async def test_any_byte_that_rots_gives_an_error_of_ours_or_none(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await fill(path, 40)
    whole = path.read_bytes()
    for place in range(0, len(whole), 997):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            async with await JournalReader.open(path) as reader:
                await reader.count()
                await reader.find(queue_id="4Xk2mT0gZ9z")
        except StoreError:
            continue


@pytest.mark.parametrize("place", ["missing/journal.db", "file/journal.db"])
async def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=place.removesuffix(".db")):  # or its lock
        schema.prepare(tmp_path / place)
    with pytest.raises(StoreError, match=place):
        await JournalWriter.open(tmp_path / place)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_a_folder_in_its_place_is_set_aside(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "journal.db"
    (tmp_path / f"journal.db{suffix}" / "within").mkdir(parents=True)
    aside = schema.prepare(path)
    assert aside is not None
    assert (aside.with_name(aside.name + suffix) / "within").is_dir()
    await fill(path, 1)


async def test_a_journal_that_is_shorter_than_its_pages_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As a killed daemon leaves it: the log has the first page, by which SQLite tells how long the
    file should be.
    """
    path, copy = tmp_path / "live.db", tmp_path / "journal.db"
    await fill(path, 400)
    with closing(schema.open_writer(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("UPDATE tally SET rows = rows")
        db.execute(f"PRAGMA user_version = {schema.VERSION}")
        for suffix in ("", "-wal"):
            part = path.with_name(path.name + suffix).read_bytes()
            copy.with_name(copy.name + suffix).write_bytes(
                part if suffix else part[: len(part) // 2]
            )
    aside = schema.prepare(copy)
    assert aside is not None, "SQLite opens it without a word"
    assert str(aside) in caplog.text
    assert "begun anew" in caplog.text
    await fill(copy, 1)
    assert schema.prepare(copy) is None


def test_an_error_text_that_is_no_unicode_is_damage(tmp_path: Path) -> None:
    """SQLite quotes the damaged schema in its error, and the octets of that need not be UTF-8."""
    path = tmp_path / "journal.db"
    schema.prepare(path)
    whole = path.read_bytes()
    place = whole.index(b"CREATE TABLE tally")
    path.write_bytes(whole[:place] + b"\xc3\x28" + whole[place + 2 :])
    with pytest.raises(sqlite_file.SqliteFileDamaged):
        schema.open_writer(path)


def test_errors_of_sqlite_are_told_in_an_admins_words() -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert isinstance(sqlite_file.explained_error(full, Path("j")), StoreFull)
    assert str(sqlite_file.explained_error(full, Path("j"))) == "j: no room left on the disk"
