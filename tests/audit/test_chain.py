"""The chain of the audit log: what is done to its file behind its back is found."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oborona.audit.reader import MOST_FAULTS, AuditQuery, AuditReader, ChainReport
from oborona.audit.row import (
    FORM_COLUMNS,
    NO_HASH,
    ActOutcome,
    AuditRow,
    RowKind,
    head_seal,
    row_hash,
)
from oborona.audit.schema import APPLICATION_ID, MIGRATIONS
from oborona.audit.store import CUT_ROWS, AuditStore, ChainEnd
from oborona.errors import StoreError, StoreForeign
from oborona.sqlite_file import SqliteFileDamaged

KEY = b"k" * 32
DAY_US = 86_400_000_000
KEEP_US = 400 * DAY_US
NOW_US = 1_795_000_000_000_000


def begun(at: int = NOW_US, **fields: str) -> AuditRow:
    row = AuditRow(number=0, kind=RowKind.BEGUN, at=at, act="lists.add")
    return msgspec.structs.replace(row, **fields)


def ended(at: int = NOW_US) -> AuditRow:
    return AuditRow(
        number=0, kind=RowKind.ENDED, at=at, act="lists.add", outcome=ActOutcome.DONE, took=5
    )


def act(path: Path, at: int = NOW_US, key: bytes = KEY, **fields: str) -> ChainEnd:
    with AuditStore(path, key) as store:
        row = begun(at, **fields)
        return store.end(row, store.begin(row, KEEP_US), ended(at))


def verify(path: Path, key: bytes = KEY, anchor: ChainEnd | None = None) -> ChainReport:
    with AuditReader(path) as reader:
        return reader.verify(key, anchor)


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    for number in range(5):
        act(path, about=f"entry {number}")
    return path


def test_a_log_is_whole_and_shows_acts_newest_first(log: Path) -> None:
    report = verify(log)
    assert (report.rows, report.first, report.faults, report.dropped) == (10, 1, (), 0)
    with AuditReader(log) as reader:
        acts = reader.acts(AuditQuery(), 3)
    assert [one.about for one in acts] == ["entry 4", "entry 3", "entry 2"]
    assert {one.outcome for one in acts} == {ActOutcome.DONE}


def write_as_of_form_1(path: Path) -> None:
    """Write a log of two rows as it was written before rows had roles."""
    with closing(sqlite3.connect(path)) as db:
        for statement in MIGRATIONS[0]:
            db.execute(statement)
        before = NO_HASH
        for number in (1, 2):
            row = AuditRow(
                number=number, form=1, kind=RowKind.BEGUN, at=NOW_US, act="teach", keyed=1
            )
            own = row_hash(row, before, KEY)
            old = msgspec.structs.astuple(row)[: FORM_COLUMNS[1]]
            places = ", ".join("?" * (len(old) + 2))
            db.execute(f"INSERT INTO audit VALUES ({places})", (*old, before, own))
            before = own
        db.execute("INSERT INTO head VALUES (1, 2, ?, ?)", (before, head_seal(2, before, KEY)))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.commit()


def test_rows_of_an_earlier_form_stay_whole_and_the_chain_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    write_as_of_form_1(path)
    act(path, roles="admin")
    report = verify(path)
    assert (report.rows, report.faults) == (4, ())
    change(path, "UPDATE audit SET roles = 'admin' WHERE number = 1")
    assert "row 1 was changed" in verify(path).faults[0]


def test_a_look_is_a_row_of_the_chain(log: Path) -> None:
    with AuditStore(log, KEY) as store:
        store.look(
            AuditRow(number=0, kind=RowKind.LOOKED, at=NOW_US, act="messages.find", about="joe")
        )
    assert verify(log).faults == ()
    with AuditReader(log) as reader:
        assert [one.looked for one in reader.acts(AuditQuery(looks=True), 2)] == [True, False]
        assert [one.number for one in reader.acts(AuditQuery(before=5), 9)] == [3, 1]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE audit SET about = 'other' WHERE number = 1", "row 1 was changed"),
        ("UPDATE audit SET person = 'eve' WHERE number = 5", "row 5 was changed"),
        ("UPDATE audit SET outcome = 'failed' WHERE number = 10", "row 10 was changed"),
        ("UPDATE audit SET at = 0 WHERE number = 4", "row 4 was changed"),
        ("UPDATE audit SET form = 3 WHERE number = 4", "row 4 was changed"),
        ("UPDATE audit SET form = 1 WHERE number = 4", "row 4 was changed"),
        ("UPDATE audit SET roles = 'admin' WHERE number = 5", "row 5 was changed"),
        ("UPDATE audit SET undo = '{}' WHERE number = 6", "row 6 was changed"),
        ("UPDATE audit SET dry = 'x' WHERE number = 4", "row 4 was changed"),
        ("UPDATE audit SET about = CAST(x'ff' AS TEXT) WHERE number = 3", "row 3 was changed"),
        ("UPDATE audit SET hash = x'00' WHERE number = 3", "row 3 was changed"),
        ("UPDATE audit SET before = 7 WHERE number = 3", "row 3 does not follow"),
        ("UPDATE audit SET keyed = 0 WHERE number = 3", "row 3 was changed"),
        ("DELETE FROM audit WHERE number = 1", "row 1 is missing, and no row says"),
        ("DELETE FROM audit WHERE number IN (5, 6)", "rows 5 to 6 are missing"),
        ("DELETE FROM audit WHERE number = 10", "the last row is 9, and 10 were written"),
        ("DELETE FROM audit", "the last row is 0, and 10 were written"),
        ("DELETE FROM head", "the end of the chain is gone"),
        ("UPDATE head SET seal = x'00'", "row 10 is not the one that was written last"),
        (
            (
                "INSERT INTO audit SELECT 11, form, kind, at, act, person, source, way, place,"
                " about, arguments, reason, dry, of, outcome, status, message, took, keyed, hash,"
                " hash, roles, undo FROM audit WHERE number = 10"
            ),
            "row 11 was changed",
        ),
    ],
)
def test_what_was_done_to_the_file_is_found(log: Path, statement: str, found: str) -> None:
    change(log, statement)
    assert any(found in fault for fault in verify(log).faults), verify(log).faults
    act(log, about="after it")  # which hides nothing
    faults = verify(log).faults
    assert faults, "an act after it has made it whole"


def test_rows_that_change_places_are_found(log: Path) -> None:
    change(
        log,
        "UPDATE audit SET number = 100 WHERE number = 3",
        "UPDATE audit SET number = 3 WHERE number = 5",
        "UPDATE audit SET number = 5 WHERE number = 100",
    )
    assert len(verify(log).faults) >= 2


def test_the_end_moved_back_with_its_head_is_found_without_the_key(log: Path) -> None:
    change(
        log,
        "DELETE FROM audit WHERE number > 8",
        "UPDATE head SET number = 8, hash = (SELECT hash FROM audit WHERE number = 8)",
    )
    assert verify(log).faults == ("row 8 is not the one that was written last",)


def test_a_log_written_anew_with_the_key_is_found_by_an_anchor(log: Path, tmp_path: Path) -> None:
    anchor = verify(log).end
    log.unlink()
    for number in range(5):
        act(log, about=f"other {number}")
    assert verify(log).faults == ()
    assert verify(log, anchor=anchor).faults == ("row 10 is another one than was noted",)
    assert verify(log, anchor=ChainEnd(11, anchor.hash)).faults == (
        "row 11, which was noted, is missing",
    )


def test_another_key_is_told_and_faults_are_bounded(log: Path) -> None:
    for number in range(10):
        act(log, about=f"more {number}")
    report = verify(log, key=b"o" * 32)
    assert len(report.faults) == MOST_FAULTS
    assert report.more == 30 + 1 - MOST_FAULTS


def test_before_the_site_has_a_secret_rows_have_no_key(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    act(path, key=b"")
    act(path)
    report = verify(path)
    assert (report.faults, report.unkeyed, report.rows) == ((), 2, 4)
    with pytest.raises(StoreForeign, match="which is gone"):
        act(path, key=b"")
    assert "which is not here" in verify(path, key=b"").faults[0]


def test_old_rows_are_dropped_and_the_chain_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    first = act(path, at=NOW_US)
    act(path, at=NOW_US + 300 * DAY_US)
    act(path, at=NOW_US + 400 * DAY_US)  # a day of grace: not each act drops one
    assert verify(path).dropped == 0
    act(path, at=NOW_US + 402 * DAY_US)
    report = verify(path)
    assert (report.faults, report.dropped, report.first) == ((), 2, 3)
    with closing(sqlite3.connect(path)) as db:
        cut = db.execute("SELECT of, status, message FROM audit WHERE kind = 'cut'").fetchall()
    assert cut == [(2, 2, first.hash.hex())]
    assert verify(path, anchor=first).faults == ()  # noted, and dropped since
    change(path, "DELETE FROM audit WHERE number < 5")
    assert "no row says that they were dropped" in verify(path).faults[0]


def test_a_clock_that_leaps_drops_little_at_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with AuditStore(path, KEY) as store:
        with store.transaction():
            for _ in range(CUT_ROWS + 50):
                store.begin(begun(), KEEP_US)
        store.begin(begun(NOW_US + 5000 * DAY_US), KEEP_US)
    report = verify(path)
    assert (report.faults, report.dropped, report.rows) == ((), CUT_ROWS, 50 + 1 + 1)


def test_a_clock_set_back_changes_no_order(log: Path) -> None:
    act(log, at=NOW_US - 100 * DAY_US, about="late")
    act(log, at=0, about="later")
    assert verify(log).faults == ()
    with AuditReader(log) as reader:
        assert [one.about for one in reader.acts(AuditQuery(), 2)] == ["later", "late"]
        assert not reader.acts(AuditQuery(since=NOW_US / 1e6 + 1), 9)


def test_an_end_whose_beginning_is_in_another_log_brings_it(tmp_path: Path, log: Path) -> None:
    row = begun(about="a restore")
    with AuditStore(log, KEY) as store:
        start = store.begin(row, KEEP_US)
    with AuditStore(tmp_path / "other.db", KEY) as store:
        store.end(row, start, ended())
        store.end(row, None, ended())
    with AuditReader(tmp_path / "other.db") as reader:
        assert [one.about for one in reader.acts(AuditQuery(), 9)] == ["a restore"] * 2
        assert reader.verify(KEY).rows == 4
    with AuditReader(log) as reader:
        assert [one.number for one in reader.acts(AuditQuery(open_only=True), 9)] == [start.number]


@pytest.mark.parametrize("octets", [b"no database at all" * 500, b"SQLite format 3\0" * 300])
def test_a_damaged_file_is_told_and_left(log: Path, octets: bytes) -> None:
    log.write_bytes(octets)
    for suffix in ("-wal", "-shm"):
        log.with_name(log.name + suffix).unlink(missing_ok=True)
    for use in (lambda: act(log), lambda: verify(log)):
        with pytest.raises(SqliteFileDamaged):
            use()
    assert log.read_bytes() == octets


def test_damaged_pages_end_in_an_error_or_a_fault(log: Path) -> None:
    change(log, "PRAGMA wal_checkpoint(TRUNCATE)")
    whole = log.read_bytes()
    for at in range(100, len(whole), 997):
        log.write_bytes(whole[:at] + b"\xa5" * 64 + whole[at + 64 :])
        try:
            verify(log)
            with AuditReader(log) as reader:
                reader.acts(AuditQuery(about="x", person="y", act="z"), 50)
        except StoreError:
            pass


@pytest.mark.parametrize(
    ("query", "number"),
    [
        (AuditQuery(person="anna"), 1),
        (AuditQuery(person="bob"), 2),
        (AuditQuery(person="bo"), 0),
        (AuditQuery(act="lists"), 3),
        (AuditQuery(act="lists.add"), 3),
        (AuditQuery(act="list"), 0),
        (AuditQuery(about="EXAMPLE"), 1),
        (AuditQuery(about="%"), 0),
        (AuditQuery(until=NOW_US / 1e6), 0),
        (AuditQuery(since=NOW_US / 1e6), 3),
    ],
)
def test_acts_are_found(tmp_path: Path, query: AuditQuery, number: int) -> None:
    path = tmp_path / "audit.db"
    act(path, person="anna", source="login=anna sudo=bob uid=root", about="bad.example")
    act(path, person="bob", source="uid=bob")
    act(path, person="carl", source="uid=carl")
    with AuditReader(path) as reader:
        assert len(reader.acts(query, 9)) == number
