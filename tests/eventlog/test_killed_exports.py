"""kill -9 while flows and logins become tables: each event in one table, as without.

`EVENTLOG_KILLS=500 python -m pytest tests/eventlog/test_killed_exports.py` kills as often.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.doors.login_attempt import LoginAttempt
from oborona.doors.login_recorder import LoginRecorder
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.event_spool import EventSpool
from oborona.eventlog.export.flows import SCHEMA as FLOWS
from oborona.eventlog.export.logins import SCHEMA as LOGINS
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.slots import SLOT_S
from oborona.eventlog.tables.arrow_schema import arrow_schema
from oborona.eventlog.tables.checksum import checksum_text
from oborona.eventlog.tables.parquet import read_table
from tests.eventlog.exporting_program import SLOTS
from tests.eventlog.test_flow_log import FlowSite, read_file
from tests.eventlog.worlds import START

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("exporting_program.py")
KILLS = int(os.environ.get("EVENTLOG_KILLS", "15"))
FILES = 4  # of logins, in a slot; each has as many rows


def prepared(state: Path) -> Path:
    """Return a state folder with flows and logins that nobody has taken, some of them late."""
    state.mkdir()
    now = 0.0
    recorder = LoginRecorder(
        EventSpool(state / state_files.EVENT_LOG_RECEIVED, 1 << 30), lambda: now
    )
    with ExitStack() as closings:
        site = FlowSite(state, closings)
        for slot in range(SLOTS):
            late = 3600 * (slot % 5 == 4)
            start = START + slot * SLOT_S
            site.take(read_file(f"f{slot}", start - late, sources=3, streams=20), start + 70.0)
            for number in range(FILES):
                now = start + 60.0 * number
                for _ in range(FILES):
                    recorder.note(LoginAttempt(login=f"u{slot}", why="password"))
                recorder.close()
    return state


def exported(state: Path, kills: int) -> int:
    """Run the program; return how many were killed."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(state), str(kills), "7"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60 + 10 * kills,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


def rows_of(state: Path, schema: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table that is written down, whose file has what is."""
    folder, found = LogFolder(state / "logs", schema.name), {}
    with LogStore(state / state_files.EVENT_LOG_STORE) as store:
        for source in store.sources(schema.name):
            table = read_table(folder.source(source.name), arrow_schema(schema))
            assert (table.num_rows, checksum_text(table)) == (source.rows, source.checksum)
            found[source.name] = table.to_pylist()
    return found


@pytest.mark.timeout(120 + 12 * KILLS)
def test_killed_at_any_moment_each_event_is_in_one_table(tmp_path: Path) -> None:
    calm, state = prepared(tmp_path / "calm"), prepared(tmp_path / "killed")
    assert exported(calm, 0) == 0
    assert exported(state, KILLS) > 0
    flows = rows_of(state, FLOWS)
    assert flows == rows_of(calm, FLOWS)
    assert sum(map(len, flows.values())) == 3 * SLOTS
    logins = rows_of(state, LOGINS)
    ids = [row["id"] for rows in logins.values() for row in rows]
    assert len(ids) == len(set(ids)) == SLOTS * FILES**2
    wanted = rows_of(calm, LOGINS)
    assert {name: len(rows) for name, rows in logins.items()} == {
        name: len(rows) for name, rows in wanted.items()
    }
