"""What is remembered of an address, when the counters are in a cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona.cli import main
from oborona.counters.cluster.sender import ClusterWriter
from oborona.counters.cluster.store import ClusterCounters
from oborona.counters.cluster.wire import ClusterAccess
from oborona.types import Action, Amounts, CountedPieces
from tests.cli.remembered import journal, shingle

IP = "9.10.11.12"


@pytest.fixture
def state(access: ClusterAccess, tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    worker = ClusterCounters(folder / "counters", "worker-0", access)
    for _ in range(40):
        pieces = CountedPieces(
            shingles=(shingle(folder, IP), shingle(folder, "9.10.11.0/24")), pairs=()
        )
        worker.add(pieces, Amounts(seen=1, spam=1), time.time() - 60)
    worker.close()
    bring_in(folder, access)
    return folder


def bring_in(state: Path, access: ClusterAccess) -> None:
    writer = ClusterWriter(state / "counters", access)
    writer.step(time.time())
    writer.step(time.time())
    writer.keep_top()
    writer.close()


def run(state: Path, access: ClusterAccess, *words: str, status: int = 0) -> Result:
    nodes = " ".join(map(str, access.nodes))
    settings = ["--set", "counters.store=cluster", "--set", f"cluster.nodes={nodes}"]
    told = ["--state", str(state), *settings, "reputation", *words]
    result = CliRunner().invoke(main, told, catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def test_it_is_shown_ranked_exported_forgiven_and_forgotten(
    state: Path, access: ClusterAccess
) -> None:
    (ident,) = journal(
        state, [{"client_ip": IP, "verdict": Action.REJECT, "shingles": (shingle(state, IP),)}]
    )

    def spam() -> int:
        found = json.loads(run(state, access, "show", IP, "--json").stdout)
        assert found["octets"] is None, "only the store of one machine can tell"
        return sum(int(day["spam"]) for day in found["days"])

    assert spam() == 40
    (first,) = run(state, access, "top", "--json").stdout.splitlines()
    assert json.loads(first)["entity"] == IP
    assert run(state, access, "export", "--postfix-cidr").stdout == f"{IP}/32 REJECT\n"
    run(state, access, "forgive", ident, "--reason", "ours")
    bring_in(state, access)
    assert spam() == 39
    run(state, access, "clear", IP, "--counts", "--reason", "sold")
    bring_in(state, access)
    assert spam() == 0
    assert "one machine alone" in run(state, access, "stats", status=78).stderr
