"""The state folder made ready: what was begun is known, and nothing of it is begun anew without a
word.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from oborona import state_files, store_birth
from oborona.config import Settings
from oborona.daemon.state import OPTIONAL, prepare_state
from oborona.errors import StoreError, StoreForeign, StoreVersion
from oborona.journal import schema
from oborona.stores.counters import open_writer
from oborona.stores.persons.store import PersonStore as Persons

AT_ONCE = [one.file for one in OPTIONAL if one.at_once]
EVERY = [state_files.JOURNAL, *(one.file for one in OPTIONAL)]


def prepare_all(state: Path) -> None:
    """Prepare a state, with the stores that are begun when somebody needs them."""
    prepare_state(state)
    for one in OPTIONAL:
        if not (state / one.file).exists():
            one.shared.open(state / one.file).close()


def read_whole(state: Path) -> dict[str, bytes]:
    return {str(path.relative_to(state)): path.read_bytes() for path in state.rglob("*.db")}


def test_a_first_start_and_the_next_say_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(tmp_path)
    assert set(store_birth.read_records(tmp_path)) == {state_files.JOURNAL, *AT_ONCE}
    prepare_all(tmp_path)
    records = store_birth.read_records(tmp_path)
    assert set(records) == set(EVERY)
    prepare_state(tmp_path)
    assert store_birth.read_records(tmp_path) == records
    assert not caplog.records


def test_a_state_of_an_older_version_gets_its_records_quietly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_all(tmp_path)
    for file in EVERY:
        with closing(sqlite3.connect(tmp_path / file)) as db:
            db.execute("DROP TABLE begun")
    shutil.rmtree(tmp_path / state_files.BEGUN)
    prepare_state(tmp_path)
    assert set(store_birth.read_records(tmp_path)) == set(EVERY)
    assert not caplog.records


@pytest.mark.parametrize("file", EVERY)
@pytest.mark.parametrize(
    "lost", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "empty"]
)
def test_a_store_that_is_gone_or_empty_is_begun_anew_with_an_error(
    tmp_path: Path, file: str, lost: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    prepare_all(tmp_path)
    lost(tmp_path / file)
    prepare_state(tmp_path)
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert str(tmp_path / file) in record.message
    assert "begun anew" in record.message
    assert store_birth.read_records(tmp_path)[file].lost_at
    caplog.clear()
    prepare_state(tmp_path)
    assert not caplog.records, "it is said once"
    assert store_birth.read_records(tmp_path)[file].lost_at, "and kept"


@pytest.mark.parametrize("file", EVERY)
def test_a_store_of_another_site_is_set_aside(
    tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    prepare_all(ours)
    prepare_all(theirs)
    octets = (theirs / file).read_bytes()
    shutil.copy(theirs / file, ours / file)
    prepare_state(ours)
    (aside,) = (
        one for one in ours.glob(f"{file}.foreign-*") if not one.name.endswith(("-wal", "-shm"))
    )
    assert aside.read_bytes() == octets
    assert "another site" in caplog.text
    assert "begun anew" in caplog.text
    assert store_birth.read_records(ours)[file].lost_at


def test_a_secret_that_came_with_its_notes_and_without_its_stores_is_refused(
    tmp_path: Path,
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    prepare_all(ours)
    prepare_all(theirs)
    before = read_whole(ours)
    for name in (
        state_files.SECRET,
        state_files.SECRET_NOTE,
        f"counters/{state_files.SECRET_NOTE}",
    ):
        shutil.copy(theirs / name, ours / name)
    with pytest.raises(StoreForeign, match="not the secret"):
        prepare_state(ours)
    assert read_whole(ours) == before


@pytest.mark.parametrize(
    "name", [state_files.SECRET, state_files.SECRET_NOTE, f"counters/{state_files.SECRET_NOTE}"]
)
@pytest.mark.parametrize("change", ["gone", "empty", "half", "flip", "other", "folder"])
def test_a_lost_or_wrong_secret_begins_nothing(tmp_path: Path, name: str, change: str) -> None:
    """But for a note that is gone while its secret is there: it is written again."""
    prepare_all(tmp_path)
    path = tmp_path / name
    octets, before = path.read_bytes(), read_whole(tmp_path)
    path.unlink()
    if change == "folder":
        path.mkdir()
    elif change != "gone":
        flipped = bytes([octets[0] ^ 1]) + octets[1:]
        other = {"empty": b"", "half": octets[:16], "flip": flipped, "other": bytes(len(octets))}[
            change
        ]
        path.write_bytes(other)
    if change == "gone" and name != state_files.SECRET:
        prepare_state(tmp_path)
        assert path.read_bytes() == octets
        return
    with pytest.raises(StoreError):
        prepare_state(tmp_path)
    assert read_whole(tmp_path) == before


def test_an_older_copy_of_ones_own_store_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_all(tmp_path)
    kept = (tmp_path / "personal.db").read_bytes()
    (tmp_path / "personal.db").unlink()
    prepare_state(tmp_path)
    (tmp_path / "personal.db").write_bytes(kept)
    caplog.clear()
    prepare_state(tmp_path)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert (tmp_path / "personal.db").read_bytes() == kept


@pytest.mark.parametrize("file", [one.file for one in OPTIONAL])
@pytest.mark.parametrize(
    "fault",
    [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), TypeError("None"), OSError("odd")],
    ids=repr,
)
def test_whatever_an_optional_store_raises_is_one_line(
    tmp_path: Path,
    file: str,
    fault: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fault of the module that reads SQLite, which no file of ours raises at will."""
    prepare_all(tmp_path)
    real = store_birth.ensure_birth

    def carry(db: sqlite3.Connection, folder: Path) -> tuple[store_birth.StoreBirth, bool]:
        (_, _, path) = db.execute("PRAGMA database_list").fetchone()
        if Path(path).name == file:
            raise fault
        return real(db, folder)

    monkeypatch.setattr(store_birth, "ensure_birth", carry)
    prepare_state(tmp_path)
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.exc_info is None
    assert store_birth.read_records(tmp_path)[file].off
    monkeypatch.undo()
    prepare_state(tmp_path)
    assert not store_birth.read_records(tmp_path)[file].off


def test_any_bit_of_an_optional_store_stops_no_start(tmp_path: Path) -> None:
    """Each thirty-seventh octet of the first two pages: the header and the schema, whose damage
    SQLite quotes in its errors.
    """
    prepare_state(tmp_path)
    path = tmp_path / "signatures.db"
    whole = path.read_bytes()
    for place in range(0, 8192, 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x80]) + whole[place + 1 :])
        for suffix in ("-wal", "-shm"):
            (tmp_path / f"signatures.db{suffix}").unlink(missing_ok=True)
        with suppress(StoreVersion):  # where the bit is one of the version
            prepare_state(tmp_path)


def test_a_store_that_goes_while_it_is_used_is_begun_anew_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_all(tmp_path)
    with Persons(tmp_path / "personal.db") as store:
        (tmp_path / "personal.db").unlink()
        store.strict("joe@example.test", 1.5)
    assert "begun anew" in caplog.text
    with Persons(tmp_path / "personal.db", make=False) as store:
        assert store.of("joe@example.test").strictness == 1.5


@pytest.mark.parametrize(
    "lost", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "empty"]
)
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "of an older version"])
def test_counts_that_are_gone_or_empty_begin_anew_with_an_error(
    tmp_path: Path, lost: Callable[[Path], object], recorded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(tmp_path)
    open_writer(Settings(), tmp_path).close()
    open_writer(Settings(), tmp_path).close()
    assert not caplog.records
    lost(tmp_path / store_birth.COUNTERS)
    if not recorded:
        shutil.rmtree(tmp_path / state_files.BEGUN)
    open_writer(Settings(), tmp_path).close()
    errors = [one.message for one in caplog.records if one.levelname == "ERROR"]
    assert len(errors) == 1
    assert "begun anew" in errors[0]
    assert store_birth.read_records(tmp_path)[store_birth.COUNTERS].lost_at
    caplog.clear()
    open_writer(Settings(), tmp_path).close()
    assert not caplog.records


def test_counts_of_another_site_are_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for state in (ours, theirs):
        prepare_state(state)
        open_writer(Settings(), state).close()
    shutil.copy(theirs / store_birth.COUNTERS, ours / store_birth.COUNTERS)
    open_writer(Settings(), ours).close()
    assert list((ours / "counters").glob("data.mdb.damaged-*"))
    assert "another site" in caplog.text
    assert store_birth.read_records(ours)[store_birth.COUNTERS].lost_at


def test_counts_that_go_while_they_are_written_begin_anew_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(tmp_path)
    with closing(open_writer(Settings(), tmp_path)) as writer:
        writer.step(1.0)
        (tmp_path / store_birth.COUNTERS).unlink()
        writer.step(2.0)
        assert (tmp_path / store_birth.COUNTERS).stat().st_size
    assert "while it was in use: begun anew" in caplog.text


def test_a_record_that_is_damaged_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare_state(tmp_path)
    record = tmp_path / state_files.BEGUN / f"{state_files.JOURNAL}.json"
    record.write_bytes(b"\xff{")
    prepare_state(tmp_path)
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert store_birth.read_record(tmp_path, state_files.JOURNAL) is not None


def test_a_damaged_journal_is_recorded_as_lost(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    (tmp_path / state_files.JOURNAL).write_bytes(b"no database" * 1000)
    prepare_state(tmp_path)
    found = store_birth.read_records(tmp_path)[state_files.JOURNAL]
    assert "set aside" in found.lost
    assert schema.suspicion(tmp_path / state_files.JOURNAL) == ""
