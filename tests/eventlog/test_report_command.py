"""`oborona eventlog report` as a command: what it writes, what it refuses, what it never loads."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oborona import state_files
from oborona.cli import main
from oborona.daemon.state import prepare_state
from oborona.eventlog.batch.store import LogStore
from oborona.metrics import REGISTRY
from oborona.telemetry.status import EventLogStatus, write_status
from tests.eventlog.reported import (
    NOON,
    checked,
    read_page,
)

SETTINGS = '[paths]\nstate = "state"\n[eventlog]\nenabled = true\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "oborona.toml").write_text(SETTINGS)
    prepare_state(tmp_path / "state")
    return tmp_path


@pytest.fixture
def store(site: Path) -> Iterator[LogStore]:
    with LogStore(site / "state" / state_files.EVENT_LOG_STORE) as opened:
        yield opened


def oborona(site: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(site / "oborona.toml"), "eventlog", *words])


def test_the_command_writes_a_page_or_an_object(
    site: Path, store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(store, time.time() - 60, rows=7)
    status = EventLogStatus(
        pid=1, time=time.time(), metrics=REGISTRY.snapshot(), troubles={"clicks": "no room left"}
    )
    write_status(site / "state", status)
    monkeypatch.chdir(site)
    done = oborona(site, "report")
    assert done.exit_code == 0, done.output
    assert done.output == "eventlog.html: clicks\n"
    assert "It waits: no room left" in list(read_page(site / "eventlog.html").itertext())
    told = json.loads(oborona(site, "report", "clicks", "--days", "3", "--json").output)
    assert (told["days"], told["logs"][0]["totals"]["rows"]) == (3, 7)
    assert told["logs"][0]["totals"]["trouble"] == "no room left"
    both = oborona(site, "report", "--json", "--html", str(site / "both.html"))
    assert json.loads(both.output)["logs"][0]["log"] == "clicks"
    read_page(site / "both.html")


def test_the_command_refuses_in_a_line(site: Path, store: LogStore) -> None:
    wrong = oborona(site, "report", "clocks")
    assert wrong.exit_code != 0
    assert "there is no event log 'clocks'; there are feedback, messages" in wrong.output
    assert "Usage" in oborona(site, "report", "--days", "0").output
    wrong = oborona(site, "report", "--html", str(site / "nowhere/page.html"))
    assert wrong.exit_code != 0
    assert "nowhere/page.html: No such file or directory" in wrong.output
    assert oborona(site, "report", "feedback", "--html", str(site / "own.html")).exit_code == 0
    assert "Nothing in this time." in list(read_page(site / "own.html").itertext())


def test_a_declared_log_without_tables_is_shown(site: Path, store: LogStore) -> None:
    (site / "eventlog.d").mkdir()
    (site / "eventlog.d/views.toml").write_text(
        f'folder = "{site}"\ntime = "at"\nevent = "what"\nperson = ["who"]\ninfo = []\n'
        '[columns]\nat = "time"\nwhat = "text"\nwho = "text"\n'
    )
    told = json.loads(oborona(site, "report", "--json").output)
    assert [log["log"] for log in told["logs"]] == ["views"]


def test_a_report_loads_nothing_that_computes(site: Path, store: LogStore) -> None:
    checked(store, NOON)
    program = (
        "import sys\n"
        "from oborona.cli import main\n"
        f"main(['--config', {str(site / 'oborona.toml')!r}, 'eventlog', 'report', '--html',"
        f" {str(site / 'page.html')!r}], standalone_mode=False)\n"
        "heavy = {'deltalake', 'duckdb', 'ibis', 'numpy', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    read_page(site / "page.html")
