"""`oborona site`: from one machine to two and back, by its commands, on a real PostgreSQL."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import lock, state_files
from oborona.cli import main
from oborona.replication.log_pool import close_resting
from tests.peers.postgresql import Postgresql
from tests.replication.machines import following, new_state


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Postgresql]:
    with Postgresql() as server:
        yield server
    close_resting()


def run(state: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--state", str(state), *words])


def test_two_become_one_and_part_again(tmp_path: Path, postgresql: Postgresql) -> None:
    first, second = new_state(tmp_path / "a"), new_state(tmp_path / "b")
    for state, who in ((first, "ann"), (second, "eve")):
        done = run(state, "personal", "allow", f"{who}@example.test", "x@b.example")
        assert done.exit_code == 0, done.output
    done = run(first, "site", "begin", postgresql.address, "--name", "mx1")
    assert done.exit_code == 0, done.output
    assert "personal.db" in done.output
    done = run(second, "site", "join", postgresql.address, "--name", "mx2")
    assert done.exit_code == 0, done.output
    assert "kept what was there" in done.output
    shown = run(second, "personal", "show", "ann@example.test")
    assert "x@b.example" in shown.output
    assert "x@b.example" not in run(second, "personal", "show", "eve@example.test").output
    done = run(second, "personal", "deny", "ann@example.test", "y@b.example")
    assert done.exit_code == 0, done.output
    with following(first), following(second):
        told = run(first, "site", "status")
    assert told.exit_code == 0, told.output
    assert "mx1 (this one)" in told.output
    machines = [
        json.loads(line)
        for line in run(first, "site", "status", "--json").output.split("\n")
        if line
    ]
    assert [one["name"] for one in machines] == ["mx1", "mx2"]
    assert "y@b.example" in run(first, "personal", "show", "ann@example.test").output
    assert run(first, "site", "begin", postgresql.address).exit_code != 0
    assert run(second, "site", "leave").exit_code == 0
    assert not (second / state_files.SITE_LINK).exists()
    assert run(second, "personal", "deny", "ann@example.test", "z@b.example").exit_code == 0
    assert "z@b.example" not in run(first, "personal", "show", "ann@example.test").output
    assert run(first, "site", "forget", "mx2").exit_code == 1, "it has told that it left"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("postgresql://oborona:geheim@127.0.0.1/x", "passfile"),
        ("host=127.0.0.1 password=geheim", "passfile"),
        ("nonsense", "no address"),
        ("postgresql://oborona@127.0.0.1:1/x", "can't be reached"),
    ],
)
def test_addresses_that_are_refused(tmp_path: Path, address: str, says: str) -> None:
    state = new_state(tmp_path / "a")
    done = run(state, "site", "begin", address)
    assert done.exit_code != 0
    assert says in done.output
    assert "geheim" not in done.output
    assert not (state / state_files.SITE_LINK).exists()


def test_a_daemon_that_runs_is_to_be_stopped_first(tmp_path: Path, postgresql: Postgresql) -> None:
    state = new_state(tmp_path / "a")
    with lock.hold(state / state_files.KEEPER_LOCK, "oborona keeper"):
        done = run(state, "site", "join", postgresql.address)
    assert done.exit_code == os.EX_CONFIG
    assert "stop it first" in done.output


def test_one_alone_has_no_status(tmp_path: Path) -> None:
    done = run(new_state(tmp_path / "a"), "site", "status")
    assert (done.exit_code, "alone" in done.output) == (0, True)
    assert run(tmp_path / "a", "site", "leave").exit_code != 0
