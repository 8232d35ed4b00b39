"""`oborona set-apart`, and what `doctor` says of such messages and of processes that hung."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.daemon.supervised_process import HUNG, SERVES
from oborona.desk.doctor.daemon import daemon
from oborona.desk.doctor.report import CheckState
from oborona.lock import hold
from oborona.metrics import REGISTRY, MetricsSnapshot
from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.suspect_store import Suspect
from oborona.telemetry import status

ONE, OTHER = "1" * 32, "2" * 32


@pytest.fixture
def state(tmp_path: Path) -> Path:
    now = time.time()
    suspect_store.write_suspect(
        tmp_path,
        Suspect(
            identity=ONE,
            deaths=2,
            first=now - 60,
            last=now - 50,
            how="was killed by SIGSEGV",
            queue_id="4Xyz",
            client="192.0.2.7",
            sender="[link=x]\x1b]8;;evil\n@a.example",
        ),
    )
    suspect_store.keep_message(tmp_path, ONE, b"Subject: x\r\n\r\n")
    suspect_store.write_suspect(
        tmp_path,
        Suspect(identity=OTHER, deaths=1, first=now, last=now, how="was killed by SIGKILL"),
    )
    return tmp_path


def run(state: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--state", str(state), "set-apart", *words])


def test_they_are_listed_and_what_strangers_wrote_is_escaped(state: Path) -> None:
    ended = run(state, "list")
    assert ended.exit_code == 0
    first, second = ended.output.splitlines()
    assert first.startswith(f"message={ONE} apart=true deaths=2 last=2")
    assert first.endswith(f"kept={state}/set-apart/{ONE}.eml")
    assert "\x1b" not in ended.output
    assert second.startswith(f"message={OTHER} apart=false deaths=1")
    assert second.endswith('kept=""')


def test_as_json(state: Path) -> None:
    first, second = json.loads(run(state, "list", "--json").output)
    assert (first["message"], first["apart"], second["apart"]) == (ONE, True, False)
    assert first["sender"].startswith("[link=x]")


def test_there_is_none(tmp_path: Path) -> None:
    ended = run(tmp_path, "list")
    assert (ended.exit_code, ended.output) == (1, "")
    assert run(tmp_path, "list", "--json").output == "[]\n"


def test_one_is_forgotten_with_its_copy(state: Path) -> None:
    assert run(state, "remove", ONE).exit_code == 0
    assert [one.identity for one in suspect_store.read_suspects(state, time.time())] == [OTHER]
    assert [file.name for file in (state / state_files.SET_APART).iterdir()] == [f"{OTHER}.json"]


@pytest.mark.parametrize("message", ["3" * 32, "../secret", "/etc/passwd", ""])
def test_nothing_else_is_taken_away(state: Path, message: str) -> None:
    (state / "secret.json").write_text("kept")
    ended = run(state, "remove", message)
    assert ended.exit_code == 1
    assert (state / "secret.json").exists()
    assert len(suspect_store.read_suspects(state, time.time())) == 2


def test_doctor_tells(state: Path) -> None:
    now = time.time()
    status.write_status(
        state, status.WorkerStatus(worker=0, pid=1, time=now, metrics=MetricsSnapshot(), policy="p")
    )
    SERVES.replace({("worker-0",): 1, ("keeper",): 0, ("writer",): 1})
    for name, times in (("worker-0", 1), ("keeper", 0), ("writer", 0)):
        HUNG.inc(name, by=times)
    status.write_service(
        state, status.ServiceStatus(name="worker-0", pid=1, time=now, metrics=REGISTRY.snapshot())
    )
    with hold(state / "workers.lock", "oborona workers"):
        said = list(daemon(CliContext(None, state, ("worker.processes=1",))))
    assert said[0].state is CheckState.OK
    # tests run as root, perhaps
    by_name = {one.what: one for one in said[1:] if one.what != "user"}
    assert by_name.keys() == {"worker-0", "keeper", "set-apart"}
    assert all(one.state is CheckState.WARN for one in by_name.values())
    assert "hung 1 times" in by_name["worker-0"].words
    assert "does not serve" in by_name["keeper"].words
    assert "2 messages" in by_name["set-apart"].words
    assert "1 are filed as spam" in by_name["set-apart"].words


def test_a_service_that_ended_says_nothing(tmp_path: Path) -> None:
    now = time.time()
    status.write_service(
        tmp_path, status.ServiceStatus(name="writer", pid=1, time=now, metrics=MetricsSnapshot())
    )
    (tmp_path / "status/service-keeper.json").write_text("{")
    assert [one.name for one in status.read_services(tmp_path, now)] == ["writer"]
    assert status.read_services(tmp_path, now + status.STALE_S + 1) == []
    status.remove_service(tmp_path, "writer")
    assert status.read_services(tmp_path, now) == []
