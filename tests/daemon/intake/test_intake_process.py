"""The intake as a process: what it takes to start, what it says of itself, what `oborona doctor`
sees, and what kill -9 leaves.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner

from oborona.cli import main
from oborona.cli.context import CliContext
from oborona.config import load_settings
from oborona.daemon.intake.event_sink import REFUSED
from oborona.daemon.intake.service import listen
from oborona.desk.doctor.doors import doors
from oborona.desk.doctor.intake import intake as doctor
from oborona.desk.doctor.report import CheckState
from oborona.errors import ConfigError
from oborona.telemetry import status
from tests.peers.intake import Intake
from tests.peers.oborona import Oborona
from tests.telemetry.scraped import exposition

TOKEN = "0123456789abcdef"
HEAD = b"VERSION\tscript\t4\t0\n-\n"


def says(path: Path, what: str, user: str = "joe@example.test") -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(HEAD + f"what={what}\nuser={user}\n\nSubject: x\r\n\r\nBuy!\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        return client.recv(100)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        pytest.param(
            {"intake.http_listen": "inet:8025@127.0.0.1"}, "http_token_file", id="a port for all"
        ),
        pytest.param(
            {"intake.http_listen": "inet:8025@127.0.0.1", "intake.http_token_file": "/nowhere"},
            "/nowhere: tokens can't be read",
            id="no tokens",
        ),
        pytest.param({"intake.person": "{name}"}, "{user}, {local} or {domain}", id="nobody"),
        pytest.param({"intake.person": "joe"}, "it names nobody", id="always the same"),
        pytest.param({"intake.person": "{user"}, "a brace is out of place", id="half a brace"),
        pytest.param(
            {"intake.person": "{user!r:>9}{local.x}"},
            "a brace is out of place",
            id="more than a name",
        ),
    ],
)
def test_what_cannot_work_is_said_at_the_start(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised, ExitStack() as opened:
        listen(load_settings(None, settings).settings.intake, opened)
    assert problem in str(raised.value)


def test_without_a_door_there_is_nothing_to_run(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["--state", str(tmp_path / "state"), "intake"])
    assert told.exit_code == os.EX_CONFIG
    assert "no listener of [intake] is set" in told.stderr


def test_what_was_answered_survives_kill_9_and_the_process_comes_back(open_folder: Path) -> None:
    door = open_folder / "feedback.sock"
    with Intake({"intake.listen": f"unix:{door}", "intake.person": "{user}"}) as intake:
        assert intake.process is not None
        second = subprocess.run(
            intake.command(), capture_output=True, text=True, check=False, timeout=60
        )
        assert second.returncode == os.EX_CONFIG  # one of a site
        answered = 0
        for round_ in range(3):
            for _ in range(20):
                assert says(door, "complaint", f"joe{answered}@example.test") == b"+\n"
                answered += 1
            (child,) = (
                Path(f"/proc/{intake.process.pid}/task/{intake.process.pid}/children")
                .read_text()
                .split()
            )
            os.kill(int(child), signal.SIGKILL)
            if round_ == 0:
                assert (
                    says(door, "complaint", f"joe{answered}@example.test") == b"+\n"
                )  # it waits for the next
                answered += 1
        intake.until(lambda found: len(found) == answered)
        assert [one.person for one in intake.events()] == [
            f"joe{n}@example.test" for n in range(answered)
        ]
        assert intake.halt() == os.EX_OK
        assert not door.exists()


async def post(path: Path) -> int:
    connector = aiohttp.UnixConnector(str(path))
    async with aiohttp.ClientSession(connector=connector) as client:
        words = "what=complaint&person=joe@example.test"
        headers = {"Content-Type": "message/rfc822", "Authorization": f"Bearer {TOKEN}"}
        async with client.post(
            f"http://intake/feedback?{words}", data=b"Subject: x\r\n\r\n", headers=headers
        ) as answer:
            return answer.status


def test_serve_runs_it_where_a_door_is_open_and_tells_what_it_hears(open_folder: Path) -> None:
    tokens = open_folder / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    spool = open_folder / "spool"
    spool.mkdir()
    spool.chmod(0o755)
    door, http = open_folder / "feedback.sock", open_folder / "http.sock"
    settings = {
        "intake.listen": f"unix:{door}",
        "intake.http_listen": f"unix:{http}",
        "intake.http_token_file": tokens,
        "intake.spool": spool,
        "worker.processes": 1,
    }
    with Oborona(settings) as oborona:
        assert says(door, "complaint") == b"+\n"
        assert says(door, "complaint", "joe") == b"-\n"
        assert asyncio.run(post(http)) == 201
        assert "'joe' is no mail address" in oborona.log()
        asked = CliContext(
            None, oborona.state, tuple(f"{name}={value}" for name, value in settings.items())
        )
        at_doors = {one.what: one.words for one in doors(asked)}
        assert at_doors["feedback listener"] == f"a script service answers on unix:{door}"
        assert at_doors["report listener"] == f"a web server answers on unix:{http}"
        deadline = time.monotonic() + 60
        while not (
            said := status.read_process(oborona.state, status.IntakeStatus, time.time())
        ) or not REFUSED.samples(said.metrics):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        found = exposition([], intake=said).decode()
        assert (
            'oborona_intake_events_total{outcome="new",way="sieve",what="complaint"} 1.0' in found
        )
        assert 'oborona_intake_events_total{outcome="new",way="http",what="complaint"} 1.0' in found
        assert 'oborona_intake_refused_total{door="sieve",reason="broken"} 1.0' in found
        assert "oborona_intake_up 1.0" in found
        report = {one.what: (one.state, one.words) for one in doctor(asked)}
        assert report["intake"] == (
            CheckState.OK,
            f"runs (pid {said.pid}); 2 reports and other events, 1 requests refused",
        )
        assert report["tokens"] == (CheckState.OK, f"{tokens} can be used")
        assert report["spool"][0] is CheckState.WARN
        assert "mode 0755; it should have 3733" in report["spool"][1]


def looked(folder: Path, **settings: object) -> dict[str, tuple[CheckState, str]]:
    sets = tuple(f"{name.replace('__', '.')}={value}" for name, value in settings.items())
    return {
        one.what: (one.state, one.words) for one in doctor(CliContext(None, folder / "state", sets))
    }


@pytest.fixture
def doveconf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Dovecot whose settings are in a file."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/doveconf"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return tmp_path / "said"


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        (
            "/run/dovecot\n../oborona-intake\n",
            CheckState.OK,
            "Dovecot looks for /run/oborona-intake/feedback.sock",
        ),
        ("/run/dovecot\n\n", CheckState.WARN, "91-oborona-feedback.conf"),
        ("", CheckState.WARN, "91-oborona-feedback.conf"),
        ("/run/dovecot\nsieve\n", CheckState.FAIL, "/run/dovecot/sieve/feedback.sock"),
    ],
)
def test_doctor_knows_where_dovecot_looks(
    tmp_path: Path, doveconf: Path, said: str, state: CheckState, words: str
) -> None:
    doveconf.write_text(said)
    found = looked(tmp_path, intake__listen="unix:/run/oborona-intake/feedback.sock")
    assert found["dovecot"][0] is state
    assert words in found["dovecot"][1]
    assert found["intake"] == (
        CheckState.WARN,
        "does not run, or not yet: reports of people are not taken",
    )


def test_doctor_says_nothing_where_no_door_is_open(tmp_path: Path) -> None:
    assert looked(tmp_path) == {}


def test_doctor_looks_at_the_spool_and_the_tokens(tmp_path: Path) -> None:
    spool, tokens = tmp_path / "spool", tmp_path / "tokens"
    sets = {
        "intake__spool": spool,
        "intake__http_listen": "unix:/x",
        "intake__http_token_file": tokens,
    }
    found = looked(tmp_path, **sets)
    assert (found["spool"][0], found["tokens"][0]) == (CheckState.FAIL, CheckState.FAIL)
    spool.mkdir()
    spool.chmod(0o3733)
    tokens.write_text(f"{TOKEN}\n")
    for number in range(101):
        (spool / f"said-{number}").touch()
        if number == 0:
            assert looked(tmp_path, **sets)["spool"] == (CheckState.OK, f"{spool}: 1 files wait")
    found = looked(tmp_path, **sets)
    assert (found["spool"][0], found["tokens"][0]) == (CheckState.WARN, CheckState.OK)
