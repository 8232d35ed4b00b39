"""`oborona counters bench`: real processes on a small store.

What it says it did is what the store has.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.counter_load.workload import NEW, SHINGLES

FIGURES = {
    "adds_per_s",
    "messages_per_s",
    "read_us_p50",
    "read_us_p99",
    "lag_ms_p50",
    "lag_ms_p99",
    "bytes_per_key",
    "cpu_ms_per_message",
}


def bench(folder: Path, *words: object) -> Result:
    return CliRunner().invoke(
        main,
        ["counters", "bench", "--directory", str(folder), *map(str, words)],
        catch_exceptions=False,
    )


def test_the_store_has_every_message_that_is_reported(tmp_path: Path) -> None:
    result = bench(
        tmp_path, "--keys", 10_000, "--seconds", 1, "--workers", 2, "--doorkeeper", 0, "--json"
    )
    assert result.exit_code == 0
    [line] = result.stdout.splitlines()
    report = json.loads(line)
    assert all(report[name] > 0 for name in FIGURES)
    assert report["keys"] == 10_000
    assert report["keys_after"] == 10_000 + NEW * report["messages"]
    assert report["adds_per_s"] == pytest.approx(
        report["messages"] * SHINGLES / report["seconds"], rel=0.02
    )
    assert report["messages_per_s"] == pytest.approx(
        report["messages"] / report["seconds"], rel=0.02
    )
    assert report["seconds"] >= 1
    assert report["read_us_p50"] <= report["read_us_p99"]
    assert report["lag_ms_p50"] <= report["lag_ms_p99"] <= report["lag_ms_max"]
    # key, cell and LMDB's own, and not the size of the map
    assert 28 < report["bytes_per_key"] < 200
    assert not report["interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_a_rate_is_kept_and_pairs_are_counted(tmp_path: Path) -> None:
    result = bench(
        tmp_path,
        "--keys",
        1000,
        "--seconds",
        1,
        "--rate",
        4000,
        "--pairs",
        2,
        "--doorkeeper",
        0,
        "--json",
    )
    report = json.loads(result.stdout)
    assert 0 < report["messages"] <= 100 * report["seconds"] + 1
    new_keys = report["keys_after"] - 1000 - NEW * report["messages"]
    assert 0 < new_keys <= 2 * 2 * report["messages"]  # P and U of each pair, some of them known


def test_a_rate_below_one_message_in_the_time_ends_in_time(tmp_path: Path) -> None:
    result = bench(tmp_path, "--keys", 1000, "--seconds", 1, "--rate", 1, "--workers", 2, "--json")
    report = json.loads(result.stdout)
    assert report["messages"] == 1  # the second is due 40 s after the first
    assert 1 <= report["seconds"] < 30


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e308", "-1", "0"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, seconds: str) -> None:
    result = bench(tmp_path, "--keys", 1000, f"--seconds={seconds}")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_nodes_are_a_cluster_s(tmp_path: Path) -> None:
    result = bench(tmp_path, "--keys", 1000, "--nodes", "127.0.0.1:1")
    assert result.exit_code == 2
    assert "--store cluster" in result.stderr


def test_without_json_it_is_a_table(tmp_path: Path) -> None:
    result = bench(tmp_path, "--keys", 1000, "--seconds", 0.3)
    assert "lmdb, 1,000 keys" in result.stdout
    assert "adds a second" in result.stdout
    assert "without the doorkeeper's table" in result.stdout


def test_a_store_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"somebody's")
    assert bench(tmp_path, "--keys", 1000, "--seconds", 0.3, "--json").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["data.mdb"]
    assert (tmp_path / "data.mdb").read_bytes() == b"somebody's"


def test_more_keys_than_the_disk_holds_are_refused(tmp_path: Path) -> None:
    result = bench(tmp_path, "--keys", 10**12)
    assert result.exit_code == os.EX_IOERR
    assert "MiB" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_reports_what_was_measured_and_clears_up(
    tmp_path: Path, number: signal.Signals
) -> None:
    command: list[str | Path] = [
        Path(sys.executable).parent / "oborona",
        "counters",
        "bench",
        "--directory",
        tmp_path,
    ]
    child = subprocess.Popen(
        [*command, "--keys", "1000", "--seconds", "100", "--rate", "4000", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 60
    while not list(tmp_path.glob("*/counters/spool/*.spool")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    child.send_signal(number)
    said, _ = child.communicate(timeout=60)
    report = json.loads(said)
    assert report["interrupted"]
    assert report["messages"] > 0
    assert report["seconds"] < 60
    assert child.returncode == 0
    assert list(tmp_path.iterdir()) == []
