"""Flows as a log of events: each window of a source in one table, whatever kills and is late."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oborona.accounts.addresses.own_networks import NetworkHolder
from oborona.accounts.flows import schema
from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.flow_taker import FlowTaker, ReadFile, kept
from oborona.accounts.flows.records import from_rows
from oborona.accounts.flows.store import DAY_S, FlowMark, FlowStore
from oborona.accounts.flows.windows import SYN, windows
from oborona.counters.whole_spool import WholeSpool
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.export.exporter import SETTLE_S, LogExporter
from oborona.eventlog.export.flows import SCHEMA, FlowLog
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.parquet import read_table
from oborona.message.hashing import Hasher
from tests.eventlog.worlds import HASHER, START

JOE = NetworkHolder("joe", "firm", "limited")
OURS = {"192.0.2.1": JOE}


def read_file(name: str, start: int, sources: int = 1, streams: int = 300) -> ReadFile:
    """Return a file of as many streams of 192.0.2.1, and of each of its neighbours."""
    table, ms = AddressTable(), start * 1000
    rows = [
        (table.id_of(f"192.0.2.{1 + source}"), table.id_of(f"198.51.{n % 100}.{n % 200}"), n, 3,
         700, ms, ms + 5, ms + 9, SYN, 0)
        for source in range(sources)
        for n in range(streams)
    ]  # fmt: skip
    found = windows(from_rows(rows), start, 60, sampled=[False], timeless=[False])
    return ReadFile(
        name=name, size=1, start=start, windows=found, table=table, exporters=[], records=len(rows)
    )


class FlowSite:
    """A site whose flows are taken, and what exports them by a clock that the test turns."""

    def __init__(self, state: Path, closings: ExitStack) -> None:
        self.now = START + 0.5
        self.state = state
        self.path = state / "flows.db"
        self.store = closings.enter_context(LogStore(state / "eventlog.db"))
        (state / "logs").mkdir(exist_ok=True)
        (state / "counters").mkdir(exist_ok=True)
        self.folder = LogFolder(state / "logs", "flows")
        self.exporter = self.made()

    def made(self) -> LogExporter:
        """Return what exports, as a process that has just begun has it."""
        log = FlowLog(self.path, HASHER)
        return LogExporter(log, self.folder, self.store, back_s=600, clock=lambda: self.now)

    def take(self, read: ReadFile, written: float) -> None:
        """Have the flow process take a file."""
        with FlowStore(self.path) as store:
            spool = WholeSpool(self.state / "staged", self.state / "counters/spool", "flows")
            FlowTaker(
                store,
                spool,
                Hasher(b"k" * 32),
                kept_from=10,
                holder=lambda address: OURS.get(address, NetworkHolder()),
            ).take(read, written)

    def export(self, until: float) -> None:
        """Close all slots that are due by then."""
        self.now = until
        while self.exporter.step():
            pass

    def rows(self, slot: int) -> list[dict[str, Any]]:
        """Return the table of a slot."""
        path = self.folder.source(slot_name(START + slot * SLOT_S))
        rows: list[dict[str, Any]] = read_table(path, arrow_schema(SCHEMA)).to_pylist()
        return rows


@pytest.fixture
def site(tmp_path: Path) -> Iterator[FlowSite]:
    """A site that has taken nothing."""
    with ExitStack() as closings:
        yield FlowSite(tmp_path, closings)


def test_columns_of_a_window_and_whose_it_is(site: FlowSite) -> None:
    site.take(read_file("a", START, sources=2), START + 70)
    with FlowStore(site.path) as store:
        store.mark([FlowMark(start=START, address="192.0.2.1", limit=f"L{n}") for n in (2, 1, 2)])
    site.export(START + SLOT_S + SETTLE_S)
    joe, nobody = site.rows(0)
    assert joe["key"] == joe["id"]
    assert {name: value for name, value in joe.items() if name not in {"id", "key"}} == {
        "time": datetime.fromtimestamp(START, UTC),
        "event": "flow",
        "person": HASHER.person("account joe"),
        "address": HASHER.text("192.0.2.1"),
        "customer": HASHER.text("firm"),
        "state": "limited",
        "streams": 300,
        "packets": 900,
        "octets": 210_000,
        "destinations": 200,
        "networks": 100,
        "refused": 0,
        "at_once": 300,
        "sampled": False,
        "limits": "L1 L2",
        "heard": datetime.fromtimestamp(START + 70, UTC),
    }
    assert nobody["person"] == HASHER.person("address 192.0.2.2")
    assert (nobody["customer"], nobody["state"], nobody["limits"]) == (None, None, None)
    assert FlowLog.person_names("x") == ("account x", "address x")


def test_a_late_minute_comes_in_the_slot_in_which_it_was_taken(site: FlowSite) -> None:
    site.take(read_file("b", START + 60), START + 130)
    site.export(START + SLOT_S + SETTLE_S)
    site.take(read_file("a", START), START + SLOT_S + 20)
    site.take(read_file("old", START - 2 * 86_400), START + SLOT_S + 30)
    with FlowStore(site.path) as store:
        store.purge(START + SLOT_S + 31)  # a day has passed since that of two days ago
    site.export(START + 2 * SLOT_S + SETTLE_S)
    assert [row["time"].timestamp() - START for row in site.rows(0)] == [60]
    assert [row["time"].timestamp() - START for row in site.rows(1)] == [0, -2 * 86_400]


def test_what_is_purged_is_gone_and_numbers_go_on(site: FlowSite) -> None:
    site.take(read_file("a", START), START + 70)
    site.export(START + SLOT_S + SETTLE_S)
    with FlowStore(site.path) as store:
        store.purge(START + 71 + DAY_S)
        assert store.windows(0) == []
    site.take(read_file("b", START + 86_400), START + 86_470)
    site.export(START + 86_400 + SLOT_S + SETTLE_S)
    assert [row["streams"] for row in site.rows(0)] == [300]
    assert [row["streams"] for row in site.rows(288)] == [300]
    tables = site.store.sources("flows")
    assert sum(table.rows for table in tables) == 2


def test_killed_between_the_file_and_its_row_the_slot_is_written_again(
    site: FlowSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.take(read_file("a", START), START + 70)
    monkeypatch.setattr(LogStore, "deliver", lambda *_: exec("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        site.export(START + SLOT_S + SETTLE_S)
    monkeypatch.undo()
    site.exporter = site.made()
    site.export(START + 2 * SLOT_S + SETTLE_S)
    assert [len(site.rows(slot)) for slot in (-1, 0, 1)] == [0, 1, 0]


def test_a_file_that_is_taken_anew_makes_the_same_events(site: FlowSite) -> None:
    site.take(read_file("a", START, sources=3), START + 70)
    site.export(START + SLOT_S + SETTLE_S)
    for path in site.state.glob("flows.db*"):
        path.unlink()
    site.take(read_file("a", START, sources=3), START + SLOT_S + 20)
    site.export(START + 2 * SLOT_S + SETTLE_S)
    before, after = ([(row["id"], row["key"]) for row in site.rows(slot)] for slot in (0, 1))
    assert before == after, "they are told as duplicates"
    assert len(set(before)) == 3


def test_sums_beyond_a_column_are_cut_and_stop_no_table(site: FlowSite) -> None:
    read = read_file("a", START)
    window = read.windows[0]
    for amounts in (window.packets, window.octets):
        amounts[:] = 2**63 - 1
    site.take(read, START + 70)
    site.export(START + SLOT_S + SETTLE_S)
    (row,) = site.rows(0)
    assert row["octets"] == 2**63 - 1


def test_a_store_of_an_older_oborona_gives_nothing_until_it_is_brought_up(site: FlowSite) -> None:
    with closing(sqlite3.connect(site.path)) as db:
        for statement in schema.MIGRATIONS[0]:
            db.execute(statement)
        db.execute(
            "INSERT INTO flow_window VALUES (?, '192.0.2.1', 'o', 1, 1, 1, 1, 1, 0, 0)", (START,)
        )
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    site.export(START + SLOT_S + SETTLE_S)
    assert site.rows(0) == []
    site.take(read_file("a", START + SLOT_S), START + SLOT_S + 70)
    site.export(START + 2 * SLOT_S + SETTLE_S)
    assert [row["streams"] for row in site.rows(1)] == [300]
    with FlowStore(site.path) as store:
        assert {window.networks for window in store.windows(0)} == {None, 100}


@pytest.mark.parametrize("many", [True, False])
def test_networks_are_counted_as_a_set_of_them_has_them(many: bool) -> None:
    """Against sets: addresses of both families, sources with many streams and with few."""
    table, ms = AddressTable(), START * 1000
    there = [
        *(f"198.51.{n % 7}.{n}" for n in range(120)),
        *(f"2001:db8:{n % 5:x}:{n:x}::{n:x}" for n in range(60)),
        *(f"::ffff:203.0.{n % 3}.9" for n in range(9)),
    ]
    rows = [
        (table.id_of(f"192.0.2.{source}"), table.id_of(address), n, 3, 700, ms, ms, ms, SYN, 0)
        for source, step in ((1, 1), (2, 3), (3, 60))
        for n, address in enumerate(there[::step])
    ]
    (window,) = windows(from_rows(rows), START, 60, sampled=[False], timeless=[False])
    found = kept(window, table, 1 if many else 50, lambda _address: NetworkHolder())
    assert {one.address: one.networks for one in found} == {
        f"192.0.2.{source}": len({_network(address) for address in there[::step]})
        for source, step in ((1, 1), (2, 3), (3, 60))
        if many or len(there[::step]) >= 50
    }


def _network(address: str) -> str:
    plain = address.removeprefix("::ffff:")
    separator = "." if "." in plain else ":"
    return separator.join(plain.split(separator)[:3])
