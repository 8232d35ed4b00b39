"""Files of others: taken once, whole, or set aside with a reason; never a crash, never a loss."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.errors import StoreError
from oborona.eventlog.batch.store import DroppedFile, DropState, LogStore
from oborona.eventlog.declared_log import DeclaredLog, read_logs
from oborona.eventlog.export.dropped_files import MOST_TRIES, DroppedFiles
from oborona.eventlog.export.record_shaper import BrokenRecord, RecordShaper
from oborona.eventlog.export.records import UnreadableFile, read_records
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.parquet import read_table
from tests.eventlog.test_command import CLICKS
from tests.eventlog.worlds import HASHER, START

NOW = START + 1000.0
MORE = """
amount = "number"
count = "integer"
paid = "flag"
seen = "time"
"""


class DropFolder:
    """A log that others write, its folder, and what takes its files."""

    def __init__(self, state: Path, closings: ExitStack) -> None:
        (state / "eventlog.d").mkdir()
        self.dropped = state / "dropped"
        self.dropped.mkdir()
        (state / "logs").mkdir()
        declared = CLICKS.format(folder=self.dropped)
        declared = declared.replace("[thresholds]", f"{MORE}[thresholds]")
        (state / "eventlog.d/clicks.toml").write_text(declared)
        (self.log,) = read_logs(state / "eventlog.d", frozenset())
        self.now = NOW
        self.store = closings.enter_context(LogStore(state / "eventlog.db"))
        self.folder = LogFolder(state / "logs", "clicks")
        self.files = self.made()

    def made(self) -> DroppedFiles:
        """Return what takes files, as a process that has just begun has it."""
        return DroppedFiles(
            self.log,
            self.folder,
            self.store,
            HASHER,
            most_rows=1000,
            clock=lambda: self.now,
        )

    def drop(self, name: str, octets: bytes, *, ago: float = 60.0) -> Path:
        """Put a file there that was changed some seconds ago."""
        path = self.dropped / name
        path.write_bytes(octets)
        os.utime(path, (self.now - ago, self.now - ago))
        return path

    def take(self) -> dict[str, DroppedFile]:
        """Take all that is there; return what became of each file."""
        while self.files.step():
            pass
        return self.store.files("clicks")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        rows: list[dict[str, Any]] = read_table(
            self.folder.source(table), arrow_schema(self.log.schema)
        ).to_pylist()
        return rows


@pytest.fixture
def drops(tmp_path: Path) -> Iterator[DropFolder]:
    """A log of others."""
    with ExitStack() as closings:
        yield DropFolder(tmp_path, closings)


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a usual record."""
    usual = {"click": f"c{number}", "at": NOW - 5, "action": "click", "user": "bob", "page": "/"}
    return (
        usual
        | {
            "address": "192.0.2.1",
            "amount": 1.5,
            "count": 3,
            "paid": True,
            "seen": None,
        }
        | changes
    )


def lines(*records: object) -> bytes:
    """Return records as JSON lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def parquet(table: pa.Table) -> bytes:
    """Return a table as Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    octets: bytes = sink.getvalue().to_pybytes()
    return octets


SLOT = "2025-11-23T10:05"


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_each_kind_of_file_makes_the_same_rows(drops: DropFolder, kind: str) -> None:
    records = [record(0), record(1, user="", amount=None, page=None), record(2, paid=False)]
    names = list(records[0])
    octets = {
        "jsonl": lines(*records),
        "csv": "\n".join(
            [",".join(names)]
            + [",".join("" if row[n] is None else str(row[n]) for n in names) for row in records]
        ).encode(),
        "parquet": parquet(
            pa.Table.from_pylist(records, schema=pa.Table.from_pylist(records[:1]).schema)
        ),
    }[kind]
    drops.drop(f"{SLOT}.{kind}", octets)
    (file,) = drops.take().values()
    assert (file.state, file.name, file.broken) == (DropState.TAKEN, SLOT, 0), file.why
    first, nobody, last = drops.rows(SLOT)
    person = HASHER.person("bob")
    assert first == {
        "id": "c0",
        "time": datetime.fromtimestamp(NOW - 5, UTC),
        "event": "click",
        "person": person,
        "key": HASHER.event("click", person, ("/",)),
        "page": "/",
        "address": HASHER.text("192.0.2.1"),
        "amount": 1.5,
        "count": 3,
        "paid": True,
        "seen": None,
    }
    assert [nobody[name] for name in ("person", "key", "amount", "page")] == [None] * 4
    assert last["paid"] is False


NO_TIMES: list[object] = ["", "soon", 1e300, -1e300, True, [], {}, "9" * 5000, None]
TIMES: list[tuple[object, float | None]] = [
    (NOW, NOW),
    (str(NOW), NOW),
    ("2025-11-23T10:05:30Z", 1_763_892_330),
    ("2025-11-23T13:05:30+03:00", 1_763_892_330),
    ("2025-11-23T10:05:30", 1_763_892_330),
    (0, 0),
    ("2100-01-01", 4_102_444_800),
    *((none, None) for none in NO_TIMES),
]


@pytest.mark.parametrize(("time", "wanted"), TIMES)
def test_times_are_told_or_unknown_and_never_a_reason_to_lose_a_row(
    drops: DropFolder, time: object, wanted: float | None
) -> None:
    drops.drop(f"{SLOT}.jsonl", lines(record(at=time)))
    drops.take()
    (row,) = drops.rows(SLOT)
    assert (row["time"] and row["time"].timestamp()) == wanted


def test_parquet_with_times_of_no_calendar_is_taken(drops: DropFolder) -> None:
    ticks = pa.array([0, 2**62, -(2**62), None, 10**15], pa.int64())
    for unit in ("ms", "us", "ns"):
        name = f"{SLOT}.{unit}"
        table = pa.Table.from_pylist([record(n) for n in range(5)])
        times = ticks.cast(pa.timestamp(unit, "UTC"))
        drops.drop(
            f"{name}.parquet",
            parquet(table.set_column(table.column_names.index("at"), "at", times)),
        )
    numbers = pa.Table.from_pylist(
        [record(n, at=at) for n, at in enumerate((math.nan, math.inf, -math.inf, None, NOW))]
    )
    drops.drop(f"{SLOT}.numbers.parquet", parquet(numbers))
    assert {file.state for file in drops.take().values()} == {DropState.TAKEN}
    assert [row["time"] is None for row in drops.rows(f"{SLOT}.numbers")] == [True] * 4 + [False]
    assert [row["time"] is None for row in drops.rows(f"{SLOT}.ms")] == [
        False,
        True,
        True,
        True,
        True,
    ]


BROKEN: list[tuple[object, str]] = [
    (b"{", "no JSON object"),
    (b"[1]", "no JSON object"),
    (b'{"click": "\xff"}', "no JSON object"),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, "no JSON object"),
    (record(click=None), "click is empty"),
    (record(action=""), "action is empty"),
    (record(count=1.5), "count = '1.5' is no integer"),
    (record(count=2**63), "is no integer"),
    (record(count="9" * 5000), "is no integer"),
    (record(amount="much"), "amount = 'much' is no number"),
    (record(amount=True), "is no number"),
    (record(paid="perhaps"), "is no flag"),
    (record(page=["/"]), "is no text"),
    (record(page="x" * 65_537), "page has 65537 characters"),
    (record(user={"name": "bob"}), "is no text"),
]


@pytest.mark.parametrize(("line", "why"), BROKEN)
def test_a_broken_row_is_left_out_with_its_reason(
    drops: DropFolder, line: object, why: str
) -> None:
    octets = line if isinstance(line, bytes) else lines(line).rstrip()
    drops.drop(f"{SLOT}.jsonl", lines(record(1)) + octets + b"\n" + lines(record(2)))
    (file,) = drops.take().values()
    assert (file.state, file.broken) == (DropState.TAKEN, 1)
    assert [row["id"] for row in drops.rows(SLOT)] == ["c1", "c2"]
    (kept,) = drops.folder.aside(SLOT).read_text().splitlines()
    told = json.loads(kept)
    assert told["record"] == 1
    assert why in told["why"]


def test_lone_surrogates_are_kept_as_python_writes_them(drops: DropFolder) -> None:
    (row_of,) = [RecordShaper(drops.log, HASHER, SLOT).row]
    row = row_of(0, record(page="a\udce4b", user="\ud800", address="\udfff"))
    assert "a\\udce4b" in row
    assert row[3] == HASHER.person("\\ud800")


TOO_MANY = b"".join(lines(record(n)) for n in range(1001))
UNREADABLE: list[tuple[str, bytes, str]] = [
    ("x.parquet", b"", "Parquet"),
    ("x.parquet", b"PAR1" * 100, ""),
    ("x.parquet", parquet(pa.Table.from_pylist([record()]))[:-9], ""),
    ("x.parquet", parquet(pa.table({"click": ["a"]})), "the column 'at' is missing"),
    ("x.csv", b"click,at\n1,2\n", "is missing"),
    ("x.csv", b"", "is missing"),
    ("x.csv", b"\xff\xfe", "can't decode"),
    ("x.csv", ",".join(record()).encode() + b",click\n", "is there twice"),
    ("x.jsonl", b"{\n[\n", "none of its 2 records can be used"),
    ("x.jsonl", b"x" * ((1 << 20) + 1), "a line of more than"),
    ("x.jsonl", TOO_MANY, "more than 1000 records"),
    ("2099-01-01T00:00.jsonl", lines(record()), "more than a day ahead"),
]


@pytest.mark.parametrize(("name", "octets", "why"), UNREADABLE)
def test_a_file_that_cant_be_read_is_set_aside_and_the_others_go_on(
    drops: DropFolder, name: str, octets: bytes, why: str
) -> None:
    drops.drop(name, octets)
    drops.drop("z.jsonl", lines(record(7)))
    found = drops.take()
    assert found[name].state is DropState.ASIDE
    assert why in found[name].why or (not why and found[name].why)
    assert found["z.jsonl"].state is DropState.TAKEN
    assert (drops.dropped / name).exists()
    assert not drops.files.step()


def test_a_file_of_any_name_is_of_the_slot_in_which_it_came(drops: DropFolder) -> None:
    for name in ("a b.jsonl", "a_b.jsonl", "\udce4.jsonl", "-.jsonl", "2025-11-23T10:07.jsonl"):
        drops.drop(name, lines(record()))
    files = drops.take()
    names = {file.name for file in files.values()}
    assert len(names) == 5
    assert all(name.startswith("2025-11-23T10:15.") for name in names)


def test_a_file_is_taken_once_and_again_only_when_it_changed(drops: DropFolder) -> None:
    drops.drop("a.jsonl", lines(record(1)))
    assert drops.take()["a.jsonl"].state is DropState.TAKEN
    assert not drops.files.step()
    drops.drop("a.jsonl", lines(record(1)), ago=30)
    assert drops.take()["a.jsonl"].state is DropState.AGAIN
    drops.drop("a.jsonl", lines(record(1), record(2)), ago=20)
    after = drops.take()["a.jsonl"]
    assert after.state is DropState.ASIDE
    assert "there already, with other rows" in after.why
    assert len(drops.store.sources("clicks")) == 1
    drops.drop(f"{after.name}.csv", lines(record(1)))
    assert drops.take()[f"{after.name}.csv"].state is DropState.ASIDE


def test_a_file_that_ends_the_process_is_set_aside_in_the_end(
    drops: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    drops.drop("a.jsonl", lines(record()))
    drops.drop("b.jsonl", lines(record()))
    read = DroppedFiles._read
    monkeypatch.setattr(
        DroppedFiles,
        "_read",
        lambda self, path, name: killed() if path.name == "a.jsonl" else read(self, path, name),
    )
    with pytest.raises(KeyboardInterrupt):
        drops.files.step()
    for _ in range(MOST_TRIES - 1):
        drops.files = drops.made()
        with pytest.raises(KeyboardInterrupt):
            drops.take()
    assert drops.store.files("clicks")["b.jsonl"].state is DropState.TAKEN
    drops.files = drops.made()
    found = drops.take()
    assert (found["a.jsonl"].state, found["b.jsonl"].state) == (DropState.ASIDE, DropState.TAKEN)
    assert found["a.jsonl"].why == f"the process ended {MOST_TRIES} times while it read it"


def test_a_file_that_waits_for_room_is_taken_in_the_end(
    drops: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("No space left on device")

    drops.drop("a.jsonl", lines(record()))
    monkeypatch.setattr("oborona.eventlog.export.dropped_files.write_table", full)
    for _ in range(9):
        with pytest.raises(StoreError):
            drops.files.step()
    monkeypatch.undo()
    assert drops.take()["a.jsonl"].state is DropState.TAKEN


def test_a_large_file_is_one_table_in_its_order(
    drops: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oborona.eventlog.export.row_gatherer.AT_ONCE", 7)
    drops.drop(f"{SLOT}.jsonl", lines(*(record(n) for n in range(30))))
    drops.take()
    assert [row["id"] for row in drops.rows(SLOT)] == [f"c{n}" for n in range(30)]


def test_what_is_being_written_is_let_lie(drops: DropFolder) -> None:
    drops.drop(".a.jsonl", lines(record()))
    drops.drop("b.jsonl", lines(record()), ago=1)
    drops.drop("c.tmp", lines(record()))
    (drops.dropped / "d.jsonl").mkdir()
    os.mkfifo(drops.dropped / "e.jsonl")
    drops.now += 0
    assert drops.take() == {}
    drops.now += 10
    assert set(drops.take()) == {"b.jsonl"}


def test_a_folder_that_is_gone_is_told(drops: DropFolder) -> None:
    drops.dropped.rmdir()
    with pytest.raises(StoreError, match="No such file"):
        drops.files.step()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> DeclaredLog:
    """A log with a column of each kind."""
    folder = tmp_path_factory.mktemp("declared")
    text = CLICKS.format(folder=folder).replace("[thresholds]", f"{MORE}[thresholds]")
    (folder / "clicks.toml").write_text(text)
    return read_logs(folder, frozenset())[0]


@settings(max_examples=400)
@given(st.data())
def test_any_record_is_a_row_of_its_schema_or_broken(log: DeclaredLog, data: st.DataObject) -> None:
    names = [*log.source, "other"]
    given_record = data.draw(st.dictionaries(st.sampled_from(names), VALUES))
    try:
        row = RecordShaper(log, HASHER, SLOT).row(0, given_record)
    except BrokenRecord:
        return
    table = pa.table([[value] for value in row], schema=arrow_schema(log.schema))
    assert table.num_rows == 1


@settings(max_examples=150)
@given(
    st.sampled_from([".jsonl", ".csv", ".parquet"]), st.binary(max_size=300), st.integers(0, 400)
)
def test_any_octets_are_records_or_unreadable(
    tmp_path_factory: pytest.TempPathFactory, log: DeclaredLog, kind: str, octets: bytes, cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzzed{kind}"
    whole = parquet(pa.Table.from_pylist([record(1), record(2)]))
    path.write_bytes(
        whole[:cut] + octets + whole[cut + len(octets) :] if kind == ".parquet" else octets
    )
    try:
        for found in read_records(path, tuple(log.source), 100):
            assert isinstance(found, dict | str)
    except UnreadableFile:
        pass
