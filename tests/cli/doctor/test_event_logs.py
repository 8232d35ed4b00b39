"""`oborona doctor` on event logs: who runs, what is late, what was set aside, who is silent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from oborona import lock, state_files
from oborona.cli.context import CliContext
from oborona.daemon.state import prepare_state
from oborona.desk.doctor.event_logs import event_logs
from oborona.desk.doctor.report import CheckState
from oborona.eventlog.batch.store import DroppedFile, DropState, LogStore, SourceTable


@pytest.fixture
def context(tmp_path: Path) -> CliContext:
    """A site with event logs."""
    prepare_state(tmp_path / "state")
    return CliContext(None, tmp_path / "state", ("eventlog.enabled=true",))


def told(context: CliContext) -> list[tuple[str, CheckState, str]]:
    """Return what is said."""
    return [(report.what, report.state, report.words) for report in event_logs(context)]


def deliver(context: CliContext, log: str, name: str, ago: float, *, why: str = "") -> None:
    """Note a table that was delivered some seconds ago."""
    table = SourceTable(
        name=name, delivered=time.time() - ago, rows=7, checksum=f"{0:016x}", why=why
    )
    with LogStore(context.state / state_files.EVENT_LOG_STORE) as store:
        store.deliver(log, table)


def test_nothing_is_said_where_there_are_to_be_none(tmp_path: Path) -> None:
    assert told(CliContext(None, tmp_path, ())) == []


def test_a_process_that_does_not_run_is_told(context: CliContext) -> None:
    assert told(context)[0][:2] == ("event logs", CheckState.FAIL)
    with lock.hold(context.state / state_files.EVENT_LOG_LOCK, "test"):
        assert told(context)[0][:2] == ("event logs", CheckState.OK)


@pytest.mark.parametrize(
    ("hours", "state"), [(0.5, CheckState.OK), (1.5, CheckState.WARN), (5, CheckState.FAIL)]
)
def test_a_table_that_waits_is_told_by_name_and_age(
    context: CliContext, hours: float, state: CheckState
) -> None:
    deliver(context, "clicks", "2026-11-27T10:00", hours * 3600)
    (_, (what, found, detail)) = told(context)
    assert (what, found) == ("event log clicks", state)
    if state is not CheckState.OK:
        assert f"2026-11-27T10:00 (delivered {hours:.1f} h ago)" in detail


def test_what_was_set_aside_is_told(context: CliContext) -> None:
    deliver(context, "clicks", "2026-11-27T10:00", 60, why="is damaged")
    with LogStore(context.state / state_files.EVENT_LOG_STORE) as store:
        file = DroppedFile(
            file="a.csv",
            size=1,
            changed=1,
            seen=time.time(),
            name="x",
            state=DropState.ASIDE,
            why="bad",
        )
        store.note_file("clicks", file)
    (_, (_, found, detail)) = told(context)
    assert found is CheckState.WARN
    assert "2 set aside in the last day, the last a.csv: bad" in detail


def test_a_log_of_ours_that_is_silent_is_told(context: CliContext) -> None:
    deliver(context, "messages", "2026-11-27T10:00", 1000)
    (_, (what, found, detail)) = told(context)
    assert (what, found) == ("event log messages", CheckState.WARN)
    assert "no table came in the last 15 minutes" in detail
