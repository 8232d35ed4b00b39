"""What readers of event logs get: the tables and columns that they may read, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from oborona.errors import ConfigError
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.periods import DAY, PERIODS, UNKNOWN
from oborona.eventlog.readers.declared_reader import LogReader, read_readers
from oborona.eventlog.readers.reader_tables import ReaderTables
from oborona.eventlog.tables.parquet import read_table
from tests.eventlog.erasing_program import eraser
from tests.eventlog.test_day_pass import DATE, DUE, PassedLog, row
from tests.eventlog.worlds import CLICKS, NO_RULES, made_rows, opened_log

KEY = b"a key of tests, no site's"
ANALYSTS = """
folder = "{folder}"
tables = ["5min", "30min", "1d"]
[logs]
clicks = ["page"]
[masked]
clicks = ["page"]
"""


@pytest.fixture
def passed(tmp_path: Path) -> Iterator[PassedLog]:
    """A log without rules of a policy."""
    with opened_log(tmp_path) as log:
        yield PassedLog(log, tmp_path, lambda: NO_RULES)


def reader_of(tmp_path: Path, text: str = ANALYSTS, name: str = "analysts") -> LogReader:
    folder = tmp_path / f"{name}.d"
    folder.mkdir(exist_ok=True)
    read_by = tmp_path / name
    read_by.mkdir(exist_ok=True, mode=0o750)
    (folder / f"{name}.toml").write_text(text.format(folder=read_by))
    (reader,) = read_readers(folder, [CLICKS])
    return reader


def lay(passed: PassedLog, reader: LogReader) -> int:
    """Lay all that is due, as a process that has just begun does; return how many."""
    tables = ReaderTables(reader, CLICKS, passed.log.folder, KEY)
    laid = 0
    while tables.step():
        laid += 1
    assert not tables.step()
    return laid


def test_a_reader_gets_what_is_declared(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver(*made_rows(8, 3, 300).values())
    reader = reader_of(tmp_path)
    slots = [slot for one in PERIODS for slot in passed.delivered(one).counts() if slot != UNKNOWN]
    assert lay(passed, reader) == 3 + len(slots)
    assert lay(passed, reader) == 0
    shown = reader.folder / "clicks"
    for name in passed.log.folder.tables():
        ours, theirs = (
            read_table(passed.log.folder.checked(name)),
            read_table(shown / f"5min/{name}.parquet"),
        )
        assert theirs.column_names == ["id", "time", "event", "person", "key", "page", "rules"]
        for column in ("id", "time", "event", "rules"):
            assert theirs.column(column).to_pylist() == ours.column(column).to_pylist()
        for column in ("person", "page", "key"):
            pairs = set(
                zip(ours.column(column).to_pylist(), theirs.column(column).to_pylist(), strict=True)
            )
            assert {one for one in pairs if None in one} <= {(None, None)}
            assert len({one for one, _ in pairs}) == len({one for _, one in pairs}) == len(pairs)
            assert not {one for one, _ in pairs if one} & {one for _, one in pairs if one}
    assert pq.read_table(shown / f"1d/{DATE}.parquet").num_rows == sum(
        rows for slot, rows in passed.delivered(DAY).counts().items() if slot == DATE
    )


def test_files_are_for_the_group_and_nobody_else(passed: PassedLog, tmp_path: Path) -> None:
    before = os.umask(0o077)  # of the unit
    try:
        passed.deliver(*made_rows(8, 1, 20).values())
        reader = reader_of(tmp_path)
        reader.folder.chmod(0o2750)
        lay(passed, reader)
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    for path in reader.folder.rglob("*"):
        assert path.stat().st_mode & 0o7777 == (0o2750 if path.is_dir() else 0o640), path


def test_two_readers_have_no_hash_in_common(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(1, 1, 7, page="a")])
    readers = [reader_of(tmp_path, name=name) for name in ("one", "two")]
    for reader in readers:
        lay(passed, reader)
    one, two = (
        read_table(reader.folder / f"clicks/1d/{DATE}.parquet").to_pylist()[0] for reader in readers
    )
    assert one["id"] == two["id"] == 1
    for column in ("person", "key", "page"):
        assert one[column] != two[column]


@pytest.mark.parametrize(("persons", "value"), [("same", 7), ("none", "gone")])
def test_persons_as_ours_or_none(
    passed: PassedLog, tmp_path: Path, persons: str, value: object
) -> None:
    passed.deliver([row(1, 1, 7)])
    text = ANALYSTS.replace("[logs]", f'persons = "{persons}"\n[logs]')
    reader = reader_of(tmp_path, text)
    lay(passed, reader)
    (shown,) = read_table(reader.folder / f"clicks/1d/{DATE}.parquet").to_pylist()
    assert shown.get("person", "gone") == value
    assert ("key" in shown) is (persons == "same")


def test_what_changes_is_laid_anew_and_what_goes_is_removed(
    passed: PassedLog, tmp_path: Path
) -> None:
    robot = [row(n, n, 7, key=1) for n in range(40)]
    passed.deliver([*robot, row(100, 5, 8)])
    reader = reader_of(tmp_path, ANALYSTS.replace('"30min", ', ""))
    assert lay(passed, reader) == 2
    day = reader.folder / f"clicks/1d/{DATE}.parquet"
    first = day.read_bytes()
    passed.now = DUE
    passed.go_over()  # no rule of persons: nothing is given out again
    assert lay(passed, reader) == 0

    ErasureBook(passed.log.store, "clicks").ask([7], passed.now)
    assert eraser(passed).step()
    assert lay(passed, reader) == 2
    assert day.read_bytes() != first
    for path in reader.folder.rglob("*.parquet"):
        assert read_table(path).column("id").to_pylist() == [100]

    (name,) = passed.log.folder.tables()
    passed.log.folder.remove(name)
    assert lay(passed, reader) == 1
    assert sorted(path.name for path in reader.folder.rglob("*.parquet")) == [f"{DATE}.parquet"]


def test_another_declaration_lays_all_anew(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(1, 1, 7)])
    lay(passed, reader_of(tmp_path))
    other = reader_of(
        tmp_path,
        ANALYSTS.replace('clicks = ["page"]\n[masked]', "clicks = []\n[masked]").replace(
            '[masked]\nclicks = ["page"]', ""
        ),
    )
    assert lay(passed, other) == 3
    assert "page" not in read_table(other.folder / f"clicks/1d/{DATE}.parquet").column_names


def test_a_file_that_rots_is_laid_anew(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(1, 1, 7)])
    reader = reader_of(tmp_path)
    lay(passed, reader)
    (reader.folder / f"clicks/1d/{DATE}.parquet").write_bytes(b"PAR1 no more")
    assert lay(passed, reader) == 1


def test_what_a_killed_process_left_goes(passed: PassedLog, tmp_path: Path) -> None:
    passed.deliver([row(1, 1, 7)])
    reader = reader_of(tmp_path)
    lay(passed, reader)
    left = reader.folder / f"clicks/1d/.{DATE}.parquet.4711"
    left.write_bytes(b"half a table, with persons")
    own = reader.folder / "clicks/1d/.notes"
    own.write_text("a reader's own")
    assert lay(passed, reader) == 0
    assert not left.exists()
    assert own.exists()


def test_a_folder_that_is_missing_or_open_to_all_is_refused(
    passed: PassedLog, tmp_path: Path
) -> None:
    passed.deliver([row(1, 1, 7)])
    reader = reader_of(tmp_path)
    reader.folder.chmod(0o777)
    with pytest.raises(ConfigError, match="anybody may write"):
        lay(passed, reader)
    reader.folder.rmdir()
    with pytest.raises(ConfigError, match="install -d -o oborona -g GROUP -m 2750"):
        lay(passed, reader)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('folder = "srv"\n[logs]\nclicks = []', "an absolute path"),
        ('folder = "/srv"', "logs is not set"),
        (
            'folder = "/srv"\n[logs]\nclocks = []',
            "there is no event log 'clocks'; there are clicks",
        ),
        ('folder = "/srv"\n[logs]\nclicks = ["user"]', "no column 'user' of its own"),
        ('folder = "/srv"\n[logs]\nclicks = []\n[masked]\nclicks = ["page"]', "not among [logs]"),
        ('folder = "/srv"\ntables = ["2d"]\n[logs]\nclicks = []', "a list of 5min, 30min and 1d"),
        ('folder = "/srv"\npersons = "x"\n[logs]\nclicks = []', "persons"),
        ('folder = "/srv"\nwho = 1\n[logs]\nclicks = []', "who"),
        ("folder = ", "analysts.toml"),
    ],
)
def test_a_wrong_declaration_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "analysts.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_readers(tmp_path, [CLICKS])
    assert words in str(refused.value)
