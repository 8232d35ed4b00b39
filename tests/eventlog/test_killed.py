"""kill -9 at each step of a batch: what comes of it is what came without, octet for octet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oborona.eventlog.batch.run import MOST_TRIES
from tests.eventlog.checking_program import MOST
from tests.eventlog.test_suppression import suppressed
from tests.eventlog.worlds import HASHER, made_rows, opened_log, tree

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("checking_program.py")
TABLES = 5


@pytest.fixture
def delivered(tmp_path: Path) -> Path:
    """A state folder with tables, none of them checked."""
    state = tmp_path / "delivered"
    with opened_log(state) as log:
        suppressed(log, HASHER.person("person 1") or 0)
        for name, rows in made_rows(21, TABLES, 1_000).items():
            log.deliver(name, rows)
    return state


def outcome(state: Path) -> tuple[dict[str, bytes], list[tuple[object, ...]]]:
    """Return all files of a log, and what is known of its checked tables."""
    with opened_log(state) as log:
        log.folder.sweep()
        rows = log.store.checked("clicks")
        assert len(rows) == TABLES
    return tree(state / "logs"), [
        (row.name, row.batch, row.rows, row.checksum, row.marked, dict(row.fired)) for row in rows
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_each_step_it_goes_on_to_the_same_octets(delivered: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(delivered), str(work)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = outcome(work / "0")
    assert any("ABNORMAL (suppressed)" in str(row) for row in wanted[1])
    batches = -(-TABLES // MOST)
    transactions, files = 3 * batches, 3 * TABLES
    assert int(done.stdout) == 2 * (transactions + files)
    for step in range(1, int(done.stdout) + 1):
        assert outcome(work / str(step)) == wanted, step


def test_a_batch_over_which_the_process_ended_twice_is_halved(delivered: Path) -> None:
    with opened_log(delivered, most=4) as log:
        batch = log.checker._begun()
        assert batch is not None
        for _ in range(MOST_TRIES):
            log.store.retry(batch)
    with opened_log(delivered, most=4) as log:
        log.check()
        sizes = [len(batch.tables) for batch in reversed(log.store.batches("clicks", 10))]
        assert [table.rows for table in log.store.checked("clicks")] != []
    assert sizes == [0, 2, 3]
