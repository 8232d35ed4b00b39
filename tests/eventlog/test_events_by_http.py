"""From a request to a checked table: what is sent twice is in the log once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from oborona import secret, state_files
from oborona.config import Settings
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.logs import EventLogs, open_logs
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.stores.policy_folders import policy_folders
from tests.doors.http.event_site import click, door, files, lines, send

ONCE = "batch 4711"


def work(settings: Settings, state: Path, clock: Callable[[], float]) -> dict[str, str]:
    """Do what is due as the process of event logs does; return what keeps a log from it."""
    with ExitStack() as closings:
        logs: EventLogs = open_logs(
            settings, state, policy_folders(settings.paths), closings, clock=clock
        )
        while logs.step(lambda: True):
            pass
        return logs.troubles


@pytest.mark.parametrize(("log", "once"), [("clicks", None), ("orders", ONCE)])
async def test_what_is_sent_again_is_checked_once(
    open_folder: Path, log: str, once: str | None
) -> None:
    at = door(open_folder, **{"eventlog.back_hours": "0", "eventlog.ready_minutes": "0"})
    now = time.time()
    events = [click(n, at=now, page=f"/{n // 2}") for n in range(6)]

    def checked() -> list[dict[str, Any]]:
        found = open_folder / "eventlog" / log / "checked/stream/5min"
        return [row for path in sorted(found.glob("*")) for row in pq.read_table(path).to_pylist()]

    async with at.serving():
        for _ in range(3):
            status, told = await send(at, lines(*events), log, once=once)
            assert (status, told["taken"]) == (200, 6)
        assert work(at.settings, open_folder, lambda: now + 400) == {}
        rows = checked()
        assert len(rows) == 6
        assert [row["rules"] for row in rows] == [[], ["DUPLICATE"]] * 3
        person = EventHasher(secret.load(open_folder).eventlog).person("bob")
        assert {row["person"] for row in rows} == {person}
        if log == "clicks":
            assert [row["id"] for row in rows] == [f"c{n}" for n in range(6)]

        status, told = await send(at, lines(*events), log, once=once)
        assert (status, told["taken"]) == (200, 6), "the client heard nothing, and asks again"
    assert work(at.settings, open_folder, lambda: time.time() + 800) == {}
    assert checked() == rows
    assert files(open_folder) == [], "nothing stays longer than it must"
    folder = open_folder / state_files.EVENT_LOGS / log
    assert sum(DeliveredTable(folder / "checked/1d", "date").counts().values()) == 6
    assert len(list((folder / "stream/5min").glob("*.parquet"))) == 1
