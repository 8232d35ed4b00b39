"""Our own stores, cut into slots: every event in one table, whatever kills, waits and clocks do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oborona.accounts.store import schema as accounts
from oborona.errors import StoreError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.export.accounts import DeedLog, IncidentLog
from oborona.eventlog.export.exporter import SETTLE_S, LogExporter
from oborona.eventlog.export.feedback import SCHEMA, FeedbackLog
from oborona.eventlog.export.messages import MessageLog
from oborona.eventlog.export.moves import MoveLog
from oborona.eventlog.export.own_log import OwnLog
from oborona.eventlog.export.refusals import RefusalLog
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.known_logs import own_kinds
from oborona.eventlog.schema import OWN_NAMES
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import read_table
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.journal.journal import JournalWriter
from oborona.recheck.moves import MoveDecision, MoveStore
from tests.eventlog.worlds import HASHER, START
from tests.journal.entries import make_entry
from tests.journal.refusals import make_refusal


class ExportedSite:
    """A site's events, and what exports them by a clock that the test turns."""

    def __init__(self, state: Path, closings: ExitStack) -> None:
        self.now = START + 0.5
        self.events = state / "events.db"
        self.store = closings.enter_context(LogStore(state / "eventlog.db"))
        (state / "logs").mkdir(exist_ok=True)
        self.folder = LogFolder(state / "logs", "feedback")
        self.exporter = self.made()

    def made(self) -> LogExporter:
        """Return what exports, as a process that has just begun has it."""
        return LogExporter(
            FeedbackLog(self.events, HASHER),
            self.folder,
            self.store,
            back_s=600,
            clock=lambda: self.now,
        )

    def say(self, heard: float, number: int = 1, **changes: Any) -> None:
        """Have people say something, written down at a time."""
        event: dict[str, Any] = {
            "what": EventKind.COMPLAINT,
            "way": EventChannel.SIEVE,
            "time": heard - 1,
            "person": "anna@example.org",
        }
        with EventLog(self.events) as log:
            log.add([FeedbackEvent(**event | changes)] * number, now=heard)

    def export(self) -> int:
        """Close all slots that are due; return how many they were."""
        steps = 0
        while self.exporter.step():
            steps += 1
        return steps

    def ids(self, slot: int) -> list[int]:
        """Return the ids of a slot's table."""
        table = read_table(
            self.folder.source(slot_name(START + slot * SLOT_S)), arrow_schema(SCHEMA)
        )
        ids: list[int] = table.column("id").to_pylist()
        return ids


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ExportedSite]:
    """A site where nobody has said anything."""
    with ExitStack() as closings:
        yield ExportedSite(tmp_path, closings)


def test_each_slot_has_a_table_and_each_event_one(site: ExportedSite) -> None:
    site.say(START - 599, 3)  # in the first slot that is taken
    site.say(START + 10)
    site.say(START + 299.9, 3)
    site.say(START + 300, 2)
    assert site.export() == 1  # that of -600; the next is not settled
    site.now = START + SLOT_S + SETTLE_S - 0.1
    assert site.export() == 1
    site.now += 0.2
    assert site.export() == 1
    assert site.export() == 0
    assert [site.ids(-2), site.ids(-1), site.ids(0)] == [[1, 2, 3], [], [4, 5, 6, 7]]
    site.now = START + 1000
    assert site.export() == 2
    assert [site.ids(1), site.ids(2)] == [[8, 9], []]
    assert [table.rows for table in site.store.sources("feedback")] == [3, 0, 4, 2, 0]


def test_what_is_older_than_the_beginning_is_left_out(site: ExportedSite) -> None:
    site.say(START - 5000, 3)
    site.say(START - 100)
    site.now = START + 500
    site.export()
    assert [site.ids(-1), site.ids(0)] == [[4], []]


def test_an_event_written_down_late_comes_in_a_later_slot(site: ExportedSite) -> None:
    site.now = START + SLOT_S + SETTLE_S
    site.export()
    site.say(START + 299)
    site.now += SLOT_S
    site.export()
    assert [site.ids(0), site.ids(1)] == [[], [1]]


def test_killed_between_the_file_and_its_row_the_slot_is_written_again(
    site: ExportedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.say(START + 10, 2)
    site.now = START + SLOT_S + SETTLE_S
    monkeypatch.setattr(LogStore, "deliver", lambda *_: exec("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        site.export()
    monkeypatch.undo()
    site.exporter = site.made()
    site.say(START + 20)  # which comes meanwhile, late
    site.export()
    assert site.ids(0) == [1, 2, 3]
    (table,) = site.store.sources("feedback", names=(slot_name(START),))
    file = read_table(site.folder.source(table.name), arrow_schema(SCHEMA))
    assert (table.rows, table.checksum) == (3, checksum_text(file))


def test_a_clock_that_is_set_back_closes_no_slot_twice(site: ExportedSite) -> None:
    site.export()
    site.say(START + 10)
    site.now = START + 4000
    site.export()
    before = site.store.sources("feedback")
    site.now = START + 100
    assert site.export() == 0
    site.say(START + 110)
    site.now = START + 4300
    site.export()
    assert site.store.sources("feedback")[: len(before)] == before
    rows = [number for slot in range(-2, 14) for number in site.ids(slot)]
    assert rows == [1, 2]


def test_a_store_that_begins_anew_is_followed_from_its_beginning(
    site: ExportedSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.say(START + 10, 5)
    site.now = START + SLOT_S + SETTLE_S
    site.export()
    for path in site.events.parent.glob("events.db*"):
        path.unlink()
    site.say(START + 310)
    site.now += SLOT_S
    site.export()
    assert [site.ids(0), site.ids(1)] == [[1, 2, 3, 4, 5], [1]]
    assert "begins anew" in caplog.text


def test_a_damaged_store_is_told_and_the_slot_stays_open(site: ExportedSite) -> None:
    site.say(START + 10)
    site.events.write_bytes(b"not SQLite" * 1000)
    site.now = START + 4000
    with pytest.raises(StoreError, match="is damaged"):
        site.exporter.step()
    assert site.store.sources("feedback") == []


def test_columns_of_what_people_said(site: ExportedSite) -> None:
    site.export()
    site.say(START + 10, 1, ident=7, source="dovecot")
    site.say(START + 11, 1, message_id="<a@b>")
    site.say(START + 12, 1, what=EventKind.TRAP, way=EventChannel.TRAP, person="")
    site.now = START + 4000
    site.export()
    known, told, trap = read_table(site.folder.source(slot_name(START))).to_pylist()
    anna = HASHER.person("anna@example.org")
    assert known["key"] == HASHER.event("complaint", anna, (7,))
    assert known["source"] == HASHER.text("dovecot")
    assert told["key"] == HASHER.event("complaint", anna, (HASHER.text("<a@b>"),))
    assert (trap["event"], trap["person"], trap["key"]) == ("trap", None, None)
    assert known["believed"] is None


async def test_columns_of_messages_and_who_sent_them(tmp_path: Path) -> None:
    entries = [
        make_entry(time=START + 1, login="joe"),
        make_entry(time=START + 2, facts={"author": "ann@example.org"}),
        make_entry(time=START + 3, facts={}, sender="\udce4@x", client_ip="192.0.2.77"),
    ]
    async with await JournalWriter.open(tmp_path / "journal.db") as journal:
        for entry in entries:
            journal.append(entry)
        await journal.flush()
    log = MessageLog(tmp_path / "journal.db", HASHER)
    last = log.last_place(0, START + 2.5)
    joe, ann = log.table(0, last).to_pylist()
    (stranger,) = log.table(last, log.last_place(last, START + 10)).to_pylist()
    assert joe["person"] == HASHER.person("account joe")
    assert ann["person"] == HASHER.person("author ann@example.org")
    assert stranger["person"] == HASHER.person("network 192.0.2.0/24")
    assert (joe["own"], ann["own"], joe["recipients"], joe["hits"]) == (True, False, 2, "MASS_TEXT")
    assert joe["message"] == entries[0].id


def rows_of(log: OwnLog, last: int) -> list[dict[str, Any]]:
    """Return all events up to a place."""
    rows: list[dict[str, Any]] = log.table(0, last).to_pylist()
    return rows


def test_columns_of_moves_and_of_those_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "recheck.db"
    log = MoveLog(path, HASHER)
    assert (log.origin(), log.last_place(0, START)) == ("", 0)
    decision = MoveDecision(
        message=5,
        recipient="anna@example.org",
        source="INBOX",
        target="Junk",
        why="rules fire now",
        score=9.5,
        line=8.0,
        event="signature",
    )
    with MoveStore(path) as moves:
        (number,) = moves.decide([decision], now=START + 1.5)
    assert log.origin() != ""
    assert log.last_place(0, START + 1) == 0
    assert log.last_place(0, START + 2) == number
    (row,) = rows_of(log, number)
    assert row == {
        "id": number,
        "time": datetime.fromtimestamp(START + 1.5, UTC),
        "event": "move",
        "person": HASHER.person("reader anna@example.org"),
        "key": None,
        "message": 5,
        "source": "INBOX",
        "target": "Junk",
        "state": "decided",
        "score": 9.5,
        "line": 8.0,
        "cause": "signature",
        "why": "rules fire now",
    }


def test_columns_of_deeds_and_incidents(tmp_path: Path) -> None:
    path = tmp_path / "accounts.db"
    with closing(accounts.SHARED.open(path)) as db:
        db.execute(
            "INSERT INTO account VALUES ('u1', NULL, 'U', 0, 1, 50, '', 0, 0, '', 'open', 0, '', '',"
            " 0, 0)"
        )
        for until in (0.0, START + 60.0):
            db.execute(
                "INSERT INTO deed (account, at, by, what, until, why) VALUES ('u1', ?, 'olga', 'ban',"
                " ?, 'spam from a stolen password')",
                (START + 1.0, until),
            )
        values = (
            "u1",
            "192.0.2.7",
            "HOUR",
            "recipients",
            "1h",
            START + 2.0,
            START + 2.0,
            1,
            900.0,
            300.0,
        )
        db.execute(
            "INSERT INTO incident VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 'ban', 20, 'duty',"
            " 'say', '[]', '[]', '', '', '', 0, '')",
            values,
        )
    deeds, incidents = DeedLog(path, HASHER), IncidentLog(path, HASHER)
    assert deeds.last_place(0, START + 1.0) == 0
    assert (deeds.last_place(0, START + 2), incidents.last_place(0, START + 3)) == (2, 1)
    person = HASHER.person("account u1")
    assert [
        (row["event"], row["person"], row["by"], row["until"]) for row in rows_of(deeds, 2)
    ] == [
        ("ban", person, "olga", None),
        ("ban", person, "olga", datetime.fromtimestamp(START + 60, UTC)),
    ]
    (row,) = rows_of(incidents, 1)
    assert (row["event"], row["person"], row["limit"], row["value"], row["most"]) == (
        "incident", person, "HOUR", 900.0, 300.0
    )  # fmt: skip
    assert row["address"] == HASHER.text("192.0.2.7")


async def test_refusals_come_once_they_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await JournalWriter.open(path) as journal:
        first = [
            journal.take(make_refusal(time=START + n, sender=f"{n}@a.example")) for n in range(3)
        ]
        journal.take(make_refusal(time=START + 300.0, client_ip="192.0.2.1"))
        await journal.flush()
    log = RefusalLog(path, HASHER)
    assert log.last_place(0, START + 600) == 0
    last = log.last_place(0, START + 700)
    assert last == max(first)
    (row,) = rows_of(log, last)
    assert (row["event"], row["times"], row["stage"], row["decided_by"]) == (
        "refusal", 3, "connect", "ZEN",
    )  # fmt: skip
    assert row["person"] == HASHER.person("network 198.51.100.0/24")
    assert row["last"] == datetime.fromtimestamp(START + 2, UTC)
    everything = log.last_place(0, START + 1000)
    assert [one["times"] for one in log.table(last, everything).to_pylist()] == [1]


def test_the_logs_of_our_own_are_those_that_are_named() -> None:
    assert {log.schema.name for log in own_kinds()} == OWN_NAMES
