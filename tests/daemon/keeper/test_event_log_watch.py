"""People are told of tables that wait, sources that fall silent, and what was set aside: once while
it is the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from oborona import state_files
from oborona.config.eventlog import EventLogSettings
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.daemon.keeper.event_log_watch import AGAIN_S, EventLogWatch
from oborona.eventlog.batch.store import (
    CheckedTable,
    DroppedFile,
    DropState,
    LogBatch,
    LogStore,
    SourceTable,
)
from oborona.eventlog.batch.threshold_book import EventThreshold, ThresholdBook
from oborona.eventlog.slots import DAY_S, slot_name, slot_start
from oborona.telemetry.alert import Alert, AlertKind

NOW = 1_763_892_000.0  # 2025-11-23T10:00
SLOT_S = 300.0


class LateSite:
    """A state folder with the book of event logs, and who was told what."""

    def __init__(self, state: Path) -> None:
        self.now = NOW
        self.told: list[Alert] = []
        self.path = state / state_files.EVENT_LOG_STORE
        with LogStore(self.path):
            pass
        alarm = cast(AlertDispatcher, self)
        self.watch = EventLogWatch(state, EventLogSettings(), alarm, lambda: self.now)

    async def raise_(self, alert: Alert) -> None:
        """Note an alert."""
        self.told.append(alert)

    def delivered(self, name: str, at: float, *, log: str = "clicks", why: str = "") -> None:
        """Deliver a table."""
        table = SourceTable(name=name, delivered=at, rows=1, checksum="0", why=why)
        with LogStore(self.path) as store:
            store.deliver(log, table)

    def hour(self, at: float, rows: int) -> None:
        """Deliver a table with the rows of an hour."""
        name = slot_name(slot_start(at))
        with LogStore(self.path) as store:
            store.deliver("clicks", SourceTable(name=name, delivered=at, rows=rows, checksum="0"))

    def check(self) -> None:
        """Check all tables that are due."""
        with LogStore(self.path) as store:
            for log in store.logs():
                names = store.due(log, 1000)
                batch = store.begin(
                    LogBatch(id=0, log=log, tables=names, rules="", thresholds={}, begun=self.now)
                )
                checked = [
                    CheckedTable(
                        name=name,
                        batch=batch.id,
                        rows=1,
                        checksum="0",
                        marked=0,
                        fired={},
                        done=NOW,
                    )
                    for name in names
                ]
                store.finish(batch, checked, self.now, 0.0)


@pytest.fixture
def site(tmp_path: Path) -> LateSite:
    return LateSite(tmp_path)


async def test_nobody_is_told_of_logs_that_go_on(site: LateSite) -> None:
    for number in range(12):
        site.delivered(f"2025-11-23T09:{5 * number:02}", NOW - SLOT_S * (12 - number))
    await site.watch.step()
    assert site.told == []


async def test_tables_that_wait_are_told_with_their_times(site: LateSite) -> None:
    site.delivered("2025-11-23T08:00", NOW - 7000)
    site.delivered("2025-11-23T09:55", NOW - 60)
    await site.watch.step()
    (alert,) = site.told
    assert alert.kind is AlertKind.EVENT_LOG
    assert alert.title == "event logs need a look: clicks"
    assert "clicks: 2025-11-23T08:00 was delivered at 2025-11-23 08:03 UTC" in alert.text
    assert "117 minutes later" in alert.text
    assert "09:55 was delivered" not in alert.text
    assert alert.evidence["clicks"]["waiting"] == ["2025-11-23T08:00"]  # type: ignore[index]
    await site.watch.step()
    assert len(site.told) == 1, "it is the same"
    site.now += AGAIN_S
    site.delivered("2025-11-23T15:55", site.now - 60)
    await site.watch.step()
    assert len(site.told) == 2
    site.check()
    await site.watch.step()
    assert len(site.told) == 2
    site.delivered("2025-11-23T15:56", site.now - 4000)
    await site.watch.step()
    assert len(site.told) == 3, "late again"


async def test_a_source_that_falls_silent_is_told(site: LateSite) -> None:
    for number in range(10):
        site.delivered(f"2025-11-23T09:{number:02}", NOW - SLOT_S * (10 - number))
    for hour in range(4):  # an hour is usual there
        site.delivered(f"2025-11-23T0{hour}:00", NOW - 3600 * (4 - hour), log="hourly")
    site.check()
    site.now += 2 * SLOT_S
    await site.watch.step()
    assert site.told == []
    site.now += 10 * SLOT_S
    await site.watch.step()
    (alert,) = site.told
    assert alert.title == "event logs need a look: clicks"
    assert "its source has given no table since 2025-11-23 09:55 UTC" in alert.text


async def test_what_was_set_aside_is_told_once(site: LateSite) -> None:
    site.delivered("2025-11-23T09:50", NOW - 600, why="it is cut short")
    file = DroppedFile(
        file="a.csv",
        size=1,
        changed=0,
        seen=NOW - 60,
        name="",
        state=DropState.ASIDE,
        why="no head",
    )
    with LogStore(site.path) as store:
        store.note_file("clicks", file)
    await site.watch.step()
    (alert,) = site.told
    assert "clicks: set aside 2025-11-23T09:50: it is cut short" in alert.text
    assert "clicks: set aside a.csv: no head" in alert.text
    await site.watch.step()
    assert len(site.told) == 1


async def test_without_a_book_nothing_is_late(tmp_path: Path) -> None:
    site = LateSite(tmp_path)
    site.path.unlink()
    await site.watch.step()
    assert site.told == []


async def test_a_book_that_is_damaged_is_trouble_and_no_end(
    site: LateSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.path.write_bytes(b"no SQLite" * 1000)
    for suffix in ("-wal", "-shm"):
        Path(f"{site.path}{suffix}").unlink(missing_ok=True)
    await site.watch.step()
    await site.watch.step()
    assert site.told == []
    assert caplog.text.count("nobody is told of late event logs") == 1


async def test_rows_far_from_usual_are_told(site: LateSite) -> None:
    for day in range(8, 0, -1):
        for hour in range(24):
            site.hour(NOW - day * DAY_S + hour * 3600.0, 2_000 + 10 * day)
    site.hour(NOW, 2_100)
    site.now = NOW + 1.0
    site.check()
    await site.watch.step()
    assert not site.told, "as many as usual"
    site.now = NOW + 3600.0
    site.hour(site.now, 900)
    site.check()
    await site.watch.step()
    assert "clicks: 900 rows came in the last hour, where 2040 are usual" in site.told[-1].text
    await site.watch.step()
    assert len(site.told) == 1, "once while it is the same"


async def test_a_threshold_that_leapt_is_told_once(site: LateSite) -> None:
    with LogStore(site.path) as store:
        ThresholdBook(store, "clicks").renew(
            [
                EventThreshold(date=date, event="click", threshold=line, people=50, most=20.0)
                for date, line in (
                    ("2025-11-20", 100.0),
                    ("2025-11-21", 110.0),
                    ("2025-11-22", 400.0),
                )
            ]
        )
    site.delivered("2025-11-23T09:55", NOW - 10.0)
    await site.watch.step()
    assert "the threshold of click made of 2025-11-22 is 400, and was 105" in site.told[-1].text
    await site.watch.step()
    assert len(site.told) == 1
