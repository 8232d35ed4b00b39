"""`oborona metrics`: what the running workers say, and nothing of those that run no more."""

from __future__ import annotations

import os
import time
from pathlib import Path

from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from oborona import state_files
from oborona.cli import main
from oborona.daemon.worker import UP
from oborona.metrics import REGISTRY
from oborona.telemetry.status import STALE_S, WorkerStatus, write_status
from tests.peers.oborona import Oborona


def run(state: Path) -> Result:
    return CliRunner().invoke(main, ["--state", str(state), "metrics"], catch_exceptions=False)


def values(text: str, name: str) -> dict[str, float]:
    """Return the values of a sample's name, by worker."""
    return {
        sample.labels["worker"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_only_workers_that_run_are_told(tmp_path: Path) -> None:
    now = time.time()
    UP.set(1)
    for worker, age in ((0, 0.0), (1, 2 * STALE_S)):
        write_status(
            tmp_path,
            WorkerStatus(
                worker=worker, pid=1, time=now - age, policy="abc", metrics=REGISTRY.snapshot()
            ),
        )
    told = run(tmp_path)
    assert told.exit_code == 0
    assert values(told.stdout, "oborona_up") == {"0": 1.0}
    assert told.stdout.endswith("\n")
    assert not told.stdout.endswith("\n\n")


def test_where_nothing_runs_there_are_no_values(tmp_path: Path) -> None:
    told = run(tmp_path / "nowhere")
    assert told.exit_code == 0
    assert values(told.stdout, "oborona_up") == {}
    assert "# HELP oborona_up" in told.stdout


def test_a_folder_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / state_files.STATUS).write_text("")
    told = run(tmp_path)
    assert told.exit_code == os.EX_IOERR
    assert state_files.STATUS in told.stderr


def test_a_daemon_tells_of_all_its_workers_while_it_runs() -> None:
    with Oborona({"worker.processes": 2}) as daemon:
        deadline = time.monotonic() + 30
        while len(up := values(daemon.run("metrics").stdout, "oborona_up")) < 2:
            assert time.monotonic() < deadline, daemon.log()
            time.sleep(0.1)
        assert up == {"0": 1.0, "1": 1.0}
        daemon.halt()
        assert values(daemon.run("metrics").stdout, "oborona_up") == {}, (
            "who stops takes his word back"
        )
