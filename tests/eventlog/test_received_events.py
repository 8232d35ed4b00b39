"""Events that came by HTTP: a table for each slot, each event once, and no file longer than need
be; whatever is killed, repeated or damaged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.declared_log import read_logs
from oborona.eventlog.event_batch import check_batch
from oborona.eventlog.event_spool import EventSpool, SpooledBatch, spooled_octets
from oborona.eventlog.export import received_events
from oborona.eventlog.export.received_events import ReceivedEvents
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.parquet import read_table, write_table
from tests.doors.http.event_site import click, declare, lines
from tests.eventlog.worlds import HASHER, START

SLOT = "2025-11-23T10:00"


class ReceivedLog:
    """A log, its spool, and what takes it."""

    def __init__(self, state: Path, closings: ExitStack, log: str = "clicks") -> None:
        declare(state)
        self.log = next(
            one for one in read_logs(state / "eventlog.d", frozenset()) if one.schema.name == log
        )
        self.root = state / "spool"
        self.spool = self.root / log
        self.door = EventSpool(self.root, 1 << 30)
        (state / "logs").mkdir(exist_ok=True)
        self.folder = LogFolder(state / "logs", log)
        self.store = closings.enter_context(LogStore(state / "eventlog.db"))
        self.now = START + 1.0
        self.received = self.made()

    def made(self, most_rows: int = 1000) -> ReceivedEvents:
        """Return what takes events, as a process that has just begun has it."""
        return ReceivedEvents(
            self.log,
            self.spool,
            self.folder,
            self.store,
            HASHER,
            most_rows=most_rows,
            clock=lambda: self.now,
        )

    def send(self, *events: dict[str, Any], once: str = "") -> None:
        """Write events down as the door does."""
        rows = [(n, line) for n, line in enumerate(lines(*events).splitlines(), 1)]
        batch = check_batch(self.log, rows)
        assert not batch.refused
        name = self.log.schema.name
        ident = batch.ident(name, "shop", once) if once else ""
        self.door.put(name, ident, batch.octets, batch.rows, self.now)
        self.now += 0.001

    def take(self, after_s: float = 400.0) -> None:
        """Do all there is to do some time later."""
        self.now += after_s
        while self.received.step():
            pass

    def check(self) -> None:
        """Have all tables checked, as far as the spool can see."""
        name = self.log.schema.name
        with self.store.transaction() as db:
            for table in self.store.due(name, 100):
                db.execute(
                    "INSERT INTO checked_table (log, name, batch, rows, checksum, marked, fired,"
                    " done) VALUES (?, ?, 1, 0, '', 0, '{}', 0)",
                    (name, table),
                )

    @property
    def tables(self) -> dict[str, list[Any]]:
        """The ids in each table."""
        shape = arrow_schema(self.log.schema)
        return {
            source.name: read_table(self.folder.source(source.name), shape).column("id").to_pylist()
            for source in self.store.sources(self.log.schema.name)
            if not source.why
        }

    @property
    def files(self) -> list[str]:
        """All files of the spool."""
        found = (path for path in self.spool.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.spool)) for path in found)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ReceivedLog]:
    """A log whose events have ids."""
    with ExitStack() as closings:
        yield ReceivedLog(tmp_path, closings)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[ReceivedLog]:
    """A log whose events have none."""
    with ExitStack() as closings:
        yield ReceivedLog(tmp_path, closings, "orders")


def test_batches_of_a_slot_are_one_table(site: ReceivedLog) -> None:
    site.send(click(1), click(0))
    site.now += 2
    site.send(click(2))
    site.take(200)
    assert site.tables == {}, "the slot is not over"
    site.take(105)
    assert site.tables == {}, "a batch may still be written"
    site.take(5)
    assert site.tables == {f"{SLOT}.http": ["c1", "c0", "c2"]}
    table = read_table(site.folder.source(f"{SLOT}.http"), arrow_schema(site.log.schema))
    row = table.to_pylist()[0]
    person = HASHER.person("bob")
    assert (row["person"], row["address"]) == (person, HASHER.text("192.0.2.1"))
    assert row["key"] == HASHER.event("click", person, ("/",))
    assert row["amount"] == 1.5


def test_files_stay_until_their_table_is_checked(site: ReceivedLog) -> None:
    site.send(click(0))
    site.take()
    assert [name.split("/")[0] for name in site.files] == [f"{SLOT}.http"]
    site.take()
    assert len(site.files) == 1
    site.check()
    site.take(0)
    assert site.files == []
    assert list(site.spool.iterdir()) == []
    site.take()
    assert list(site.tables) == [f"{SLOT}.http"]


def test_an_event_that_comes_again_is_in_the_log_once(site: ReceivedLog) -> None:
    site.send(click(0), click(1))
    site.send(click(1), click(2))
    site.take()
    site.send(click(0), click(3))
    site.check()
    site.take()
    site.send(click(3))
    site.take()
    assert list(site.tables.values()) == [["c0", "c1", "c2"], ["c3"]]
    site.check()
    site.take(0)
    assert site.files == [], "and of what is nothing new no file stays"
    site.take(86_400 + 600)
    site.send(click(0))
    site.take()
    assert list(site.tables.values())[-1] == ["c0"], "after a day it is another one"


def test_without_ids_a_repeated_batch_is_known_by_its_key(plain: ReceivedLog) -> None:
    plain.send(click(0), click(0), once="a")
    plain.send(click(0), click(0), once="a")
    plain.take()
    plain.check()
    plain.take(0)
    plain.send(click(0), click(0), once="a")
    plain.send(click(0), click(0), once="b")
    plain.send(click(0))
    plain.send(click(0))
    plain.take()
    assert [len(rows) for rows in plain.tables.values()] == [2, 4]


def test_what_is_late_or_too_much_is_a_table_of_its_own(site: ReceivedLog) -> None:
    site.received = site.made(most_rows=3)
    for n in range(0, 8, 2):
        site.send(click(n), click(n + 1))
    came = site.now
    site.take()
    assert [len(rows) for rows in site.tables.values()] == [2, 2, 2, 2]
    assert list(site.tables) == [f"{SLOT}.http{n}" for n in ("", "-2", "-3", "-4")]
    later, site.now = site.now, came
    site.send(*(click(n) for n in range(10, 20)))
    site.now = later
    site.take(0)
    assert len(site.tables[f"{SLOT}.http-5"]) == 10, "one batch is never cut"


@pytest.mark.parametrize("word", ["httpd-0a1b2c3d", "http-12345678", "http-0a1b2c3d"])
def test_an_event_in_a_dropped_file_is_another_one(site: ReceivedLog, word: str) -> None:
    site.send(click(0))
    site.take()
    name, dropped = f"{SLOT}.http", f"{SLOT}.{word}"
    site.folder.source(name).rename(site.folder.source(dropped))
    (site.spool / name).rename(site.spool / dropped)
    with site.store.transaction() as db:
        db.execute("UPDATE source_table SET name = ?", (dropped,))
    site.send(click(0))
    site.take()
    assert list(site.tables.values()) == [["c0"], ["c0"]]


def test_a_clock_that_was_ahead_holds_nothing_up(site: ReceivedLog) -> None:
    site.now += 1e6
    site.send(click(0))
    site.now -= 1e6
    site.take()
    assert list(site.tables.values()) == [["c0"]]
    assert list(site.tables) == ["2025-11-23T10:00.http"]


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("stop", range(18))
def test_killed_anywhere_each_event_is_there_once(
    site: ReceivedLog, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Before and after each change of a file, and of the store."""
    left = stop

    def may_die() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            left = 10**9
            raise Killed

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            may_die()
            done = call(*args, **kwargs)
            may_die()
            return done

        return called

    site.send(click(0), click(1))
    site.send(click(1), click(2))
    site.now += 400
    for name in ("rename", "mkdir", "rmdir", "unlink"):
        monkeypatch.setattr(Path, name, dying(getattr(Path, name)))
    monkeypatch.setattr(received_events, "write_table", dying(write_table))
    monkeypatch.setattr(LogStore, "deliver", dying(LogStore.deliver))
    deaths = 0
    for _ in range(4):
        try:
            site.received = site.made()
            site.take(0)
            site.check()
            site.take(0)
        except Killed:
            deaths += 1
    assert deaths <= 1
    told = [ident for rows in site.tables.values() for ident in rows]
    assert sorted(told) == ["c0", "c1", "c2"]
    assert site.files == []


def test_a_table_that_rotted_is_made_again_of_its_files(site: ReceivedLog) -> None:
    site.send(click(0), click(1))
    site.take()
    (source,) = site.store.sources("clicks")
    for rotten in (source.name, f"{source.name}-again"):
        with site.store.transaction() as db:
            db.execute("UPDATE source_table SET why = 'rot' WHERE name = ?", (rotten,))
        site.take(0)
    assert [one.why for one in site.store.sources("clicks")] == ["rot", "rot"]
    assert len(site.files) == 1, "it stays for who looks at it"
    site.take(2 * 86_400)
    assert site.files == []


def test_made_again_it_is_checked_as_any_other(site: ReceivedLog) -> None:
    site.send(click(0), click(1))
    site.take()
    with site.store.transaction() as db:
        db.execute("UPDATE source_table SET why = 'rot'")
    site.take(0)
    assert site.tables == {f"{SLOT}.http-again": ["c0", "c1"]}
    site.check()
    site.take(0)
    assert site.files == []


def test_damaged_files_are_told_and_stop_nothing(site: ReceivedLog) -> None:
    site.send(click(0), click(1))
    (name,) = site.files
    path = site.spool / name
    path.write_bytes(path.read_bytes()[:-20])
    site.send(click(2))
    long = site.spool / name.replace("-2-", "-1-")
    long.write_bytes(b"x" * ((1 << 20) + 2))
    (site.spool / "a file of somebody").write_text("x")
    (site.spool / "a folder").mkdir()
    site.take()
    assert site.tables == {f"{SLOT}.http": ["c0", "c2"]}
    (why,) = site.folder.aside(f"{SLOT}.http").read_text().splitlines()
    assert json.loads(why)["record"] == 1
    assert f"{long.name}.unread" in site.files
    site.check()
    site.take(0)
    assert site.files == [f"{long.name}.unread", "a file of somebody"]


def test_what_a_killed_door_left_goes(site: ReceivedLog) -> None:
    site.send(click(0))
    half = site.spool / f".{site.files[0]}.4711"
    half.write_bytes(b'{"click": "c1"')
    os.utime(half, (site.now, site.now))
    site.take(1000)
    assert half.exists(), "somebody may be writing it"
    site.take(3600)
    assert not half.exists()
    assert list(site.tables.values()) == [["c0"]]


def test_without_a_spool_there_is_nothing_to_do(site: ReceivedLog) -> None:
    site.take()
    assert spooled_octets(site.root) == 0


@pytest.mark.parametrize(
    "name",
    [
        "x.jsonl",
        f"{'1' * 16}-{'0' * 32}-1-{'0' * 8}.csv",
        f".{'1' * 16}-{'0' * 32}-1-{'0' * 8}.jsonl",
        f"{'1' * 16}-{'0' * 32}--{'0' * 8}.jsonl",
        f"{'1' * 16}-{'0' * 32}-1-{'0' * 8}.jsonl\n",
        "\u0661" * 16 + f"-{'0' * 32}-1-{'0' * 8}.jsonl",
    ],
)
def test_other_names_are_no_batches(name: str) -> None:
    assert SpooledBatch.of(name) is None
