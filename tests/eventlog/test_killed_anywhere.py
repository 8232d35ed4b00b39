"""kill -9 at random moments, from dropped files to delivered days: each row once, the same octets.

`EVENTLOG_KILLS=500 python -m pytest tests/eventlog/test_killed_anywhere.py` kills as often.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oborona.eventlog.periods import PERIODS
from oborona.eventlog.tables.delta import DeliveredTable
from tests.eventlog.test_command import CLICKS
from tests.eventlog.worlds import START, made_rows, tree

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("pipeline_program.py")
KILLS = int(os.environ.get("EVENTLOG_KILLS", "15"))
TABLES, ROWS = 12, 6_000


def prepared(state: Path) -> Path:
    """Return a state folder with files that nobody has taken."""
    for name in ("eventlog.d", "dropped"):
        (state / name).mkdir(parents=True)
    declared = CLICKS.format(folder=state / "dropped")
    (state / "eventlog.d/clicks.toml").write_text(declared)
    for name, rows in made_rows(51, TABLES, ROWS).items():
        lines = [
            {
                "click": str(row["id"]),
                "at": None if row["time"] is None else row["time"].isoformat(),
                "action": row["event"],
                "user": str(row["person"]),
                "page": row["page"],
            }
            for row in rows
        ]
        path = state / "dropped" / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (START, START))
    return state


def done(state: Path, kills: int) -> int:
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


def delivered(state: Path) -> dict[str, list[str]]:
    """Return the rows of half hours and days, sorted."""
    found = {}
    for period in PERIODS:
        table = DeliveredTable(state / "logs/clicks/checked" / period.name, period.column)
        rows: list[dict[str, Any]] = []
        for slot in table.counts():
            part = table.rows(table.files(slot))
            assert part is not None
            rows += [{"slot": slot} | row for row in part.to_pylist()]
        found[period.name] = sorted(map(str, rows))
    return found


def small_files(state: Path) -> dict[str, bytes]:
    """Return all files but those of Delta, whose names are drawn."""
    return {
        name: octets
        for name, octets in tree(state / "logs").items()
        if "/checked/30min/" not in name and "/checked/1d/" not in name
    }


@pytest.mark.slow
@pytest.mark.timeout(120 + 12 * KILLS)
def test_killed_at_any_moment_each_row_is_delivered_once(tmp_path: Path) -> None:
    calm, state = prepared(tmp_path / "calm"), prepared(tmp_path / "killed")
    assert done(calm, 0) == 0
    assert done(state, KILLS) > 0
    wanted = delivered(calm)
    assert {name: len(rows) for name, rows in wanted.items()} == {"30min": ROWS, "1d": ROWS}
    assert delivered(state) == wanted
    assert any("revisions/1d" in name for name in small_files(calm)), "the day was gone over"
    assert small_files(state) == small_files(calm)
