"""The status as it is asked for: who runs, who is away since when, and what is late."""

from __future__ import annotations

import time
from pathlib import Path

from oborona import state_files
from oborona.desk.asks.status import StatusAnswer, StatusQuestion, read_status
from oborona.desk.processes.parts import ProcessPart
from oborona.metrics import MetricsSnapshot
from oborona.telemetry import status
from tests.desk.desk_site import CALLER, DeskSite

NOTHING = MetricsSnapshot()


def read(state: Path, **overrides: str) -> StatusAnswer:
    return read_status(DeskSite(state, **overrides), CALLER, StatusQuestion())


def part(answer: StatusAnswer, name: str) -> ProcessPart:
    (found,) = [one for one in answer.processes if one.name == name]
    return found


def say(state: Path, *, worker: int = 0, ago: float = 0.0, policy: str = "p") -> None:
    status.write_status(
        state,
        status.WorkerStatus(
            worker=worker, pid=7, time=time.time() - ago, metrics=NOTHING, policy=policy
        ),
    )


def test_who_never_said_anything_is_away(tmp_path: Path) -> None:
    answer = read(tmp_path)
    worker = part(answer, "worker-0")
    assert (worker.here, worker.at) == (False, None)
    assert "worker-0 has said nothing" in answer.late
    assert "flows" not in {one.name for one in answer.processes}


def test_who_has_stopped_is_away_since_then(tmp_path: Path) -> None:
    say(tmp_path)
    say(tmp_path, worker=1, ago=600)
    answer = read(tmp_path)
    assert part(answer, "worker-0").here
    away = part(answer, "worker-1")
    assert not away.here
    assert away.at is not None
    assert abs(time.time() - 600 - away.at) < 60
    assert "worker-1 is away" in answer.late


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    say(tmp_path)
    (tmp_path / state_files.STATUS / "trainer.json").write_bytes(b"\xff{")
    (tmp_path / state_files.STATUS / "worker-10.json").write_bytes(b"")
    answer = read(tmp_path)
    assert part(answer, "trainer").trouble == "what it says can't be read"
    assert not part(answer, "worker-10").here
    assert part(answer, "worker-0").here


def test_policies_that_differ_and_what_is_refused_are_late(tmp_path: Path) -> None:
    say(tmp_path)
    say(tmp_path, worker=1, policy="old")
    refusal = status.PolicyRefusal(problem="no such fact", file="50-a.toml", line=3)
    status.write_status(
        tmp_path,
        status.PolicyStatus(pid=1, time=time.time(), metrics=NOTHING, version="p", refused=refusal),
    )
    answer = read(tmp_path)
    assert answer.policy.workers == {0: "p", 1: "old"}
    assert answer.policy.place == "50-a.toml:3"
    assert "workers judge by another policy: 1" in answer.late
    assert "the policy files are refused: no such fact" in answer.late


def test_lists_and_engines_that_are_not_asked_are_told(tmp_path: Path) -> None:
    sick = status.ListStatus(state="sick", since=5.0, why="refuses us")
    well = status.ListStatus(state="healthy", since=5.0)
    away = status.EngineStatus(away=True, since=6.0, why="timeout")
    status.write_status(
        tmp_path,
        status.WorkerStatus(
            worker=0,
            pid=1,
            time=time.time(),
            metrics=NOTHING,
            policy="p",
            lists={"ZEN": sick, "B": well},
            engines={"CLAM": away},
            dns_trouble="nobody answers",
        ),
    )
    answer = read(tmp_path)
    assert [(one.kind, one.name, one.since, one.why) for one in answer.unwell] == [
        ("list", "ZEN", 5.0, "refuses us"),
        ("engine", "CLAM", 6.0, "timeout"),
    ]
    assert "worker-0: nobody answers" in answer.late


def test_queues_spools_and_supervised_processes_are_told(tmp_path: Path) -> None:
    metrics = MetricsSnapshot(values={"oborona_events_waiting": [((), 4)]})
    status.write_status(
        tmp_path,
        status.TrainerStatus(pid=1, time=time.time(), metrics=metrics, relearning=0.5),
    )
    served = MetricsSnapshot(
        values={
            "oborona_process_serves": [(("writer",), 0), (("keeper",), 1)],
            "oborona_process_starts": [(("writer",), 3)],
            "oborona_process_deaths": [(("writer",), 2)],
        }
    )
    status.write_service(
        tmp_path, status.ServiceStatus(name="serve", pid=1, time=time.time(), metrics=served)
    )
    (tmp_path / state_files.JOURNAL_SPOOL).mkdir()
    (tmp_path / state_files.JOURNAL_SPOOL / "7").write_bytes(b"x" * 99)
    answer = read(tmp_path)
    assert answer.queues == {"queues/events": 4}
    assert answer.spools == {"journal": 99, "counters": 0}
    assert answer.relearning == 0.5
    assert [(one.name, one.serves, one.starts, one.deaths) for one in answer.supervised] == [
        ("writer", False, 3, 2), ("keeper", True, 0, 0),
    ]  # fmt: skip
    assert "writer does not serve" in answer.late
