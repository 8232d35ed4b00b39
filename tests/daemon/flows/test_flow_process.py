"""The process that counts flows, as an admin starts it: what it counts, shows, and survives."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.accounts.account import AccountNetwork, AccountRecord
from oborona.accounts.flows.store import FileState, FlowStore
from oborona.accounts.store.accounts import AccountStore
from oborona.cli import main
from oborona.eventlog.export.flows import FlowLog
from oborona.telemetry import status
from tests.accounts.flows.captured_smtp import SmtpSession, write_pcap
from tests.daemon.flows.counted_flows import counted, destinations, taken, wait
from tests.eventlog.worlds import HASHER
from tests.peers.nfcapd import Nfcapd
from tests.peers.oborona import Oborona

KILLS = int(os.environ.get("FLOW_KILLS", "12"))  # more of them by hand


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "flows"
    made.mkdir()
    return made


def started(folder: Path, source: str) -> Oborona:
    return Oborona(
        {
            "flows.source": source,
            "flows.folder": folder,
            "flows.look_s": 0.1,
            "site.networks": "192.0.2.0/24",
            "worker.processes": 1,
            "reader.enabled": False,
        }
    )


def logged(daemon: Oborona) -> list[dict[str, Any]]:
    """Return all rows that the log of events would have."""
    log = FlowLog(daemon.state / state_files.FLOWS, HASHER)
    rows: list[dict[str, Any]] = log.table(0, log.last_place(0, time.time() + 60)).to_pylist()
    return rows


def json_file(folder: Path, name: str, streams: int, source: str = "192.0.2.5") -> None:
    now = time.time_ns()
    lines = [
        json.dumps(
            {
                "time_received_ns": now, "time_flow_start_ns": now - 10**9,
                "time_flow_end_ns": now, "sampler_address": "203.0.113.1", "bytes": 700,
                "packets": 3, "src_addr": source, "dst_addr": f"198.51.100.{number % 200}",
                "proto": "TCP", "src_port": number, "dst_port": 25, "tcp_flags": 27,
            }
        )
        for number in range(streams)
    ]  # fmt: skip
    fresh = folder / f".{name}"
    fresh.write_text("\n".join(lines) + "\n")
    fresh.rename(folder / name)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collected")
    capture = folder / "smtp.pcap"
    begin = time.time() - 10
    write_pcap(
        capture,
        [
            SmtpSession("192.0.2.5", f"198.51.100.{n}", 2000 + n, begin, 1, [100, 900])
            for n in range(1, 151)
        ],
    )
    with Nfcapd(folder) as collector:
        collector.export(capture, "-v", "9", "-A", "milli")
    (file,) = collector.files()
    return file


def test_files_of_nfcapd_are_counted_and_shown(folder: Path, collected: Path) -> None:
    with started(folder, "nfdump") as daemon:
        shutil.copy(collected, folder / collected.name)
        (folder / "nfcapd.current.123").write_bytes(b"half a file")
        (folder / "nfcapd.202601010000").write_bytes(b"no file of nfcapd")
        wait(lambda: taken(daemon) == [collected.name])
        wait(lambda: counted(daemon)["flow-streams"] == 150)
        assert counted(daemon) == {
            "flow-streams": 150,
            "flow-packets": 750,
            "flow-octets": 150 * (5 * 40 + 100 + 900),
        }
        assert destinations(daemon) == 150
        shown = json.loads(daemon.run("flows", "status", "--json").stdout)
        assert shown["runs"] is True
        (source,) = shown["sources"]
        assert (source["address"], source["streams"], source["destinations"]) == (
            "192.0.2.5",
            150,
            150,
        )
        (exporter,) = shown["exporters"]
        assert (exporter["exporter"], exporter["records"]) == ("127.0.0.1", 150)
        assert "192.0.2.5" in daemon.run("flows", "status").stdout
        (row,) = logged(daemon)
        assert (row["streams"], row["destinations"], row["networks"]) == (150, 150, 1)
        assert row["person"] == HASHER.person("address 192.0.2.5")
        doctor = daemon.run("doctor").stdout
        assert "exporter 127.0.0.1" in doctor
        assert "1 files in the last day" in doctor
        records = 'oborona_flow_records_total{exporter="127.0.0.1"} 150.0'
        wait(lambda: records in daemon.run("metrics").stdout)  # a status is written now and then
        assert "oborona_flows_up 1.0" in daemon.run("metrics").stdout


def test_a_damaged_file_is_tried_thrice_and_set_aside(folder: Path) -> None:
    bad = folder / "nfcapd.202601010000"
    bad.write_bytes(b"no file of nfcapd")
    with started(folder, "nfdump") as daemon:
        wait((folder / "damaged" / bad.name).exists)
        with FlowStore(daemon.state / state_files.FLOWS, make=False) as store:
            (file,) = store.files()
        assert (file.state, file.tries) == (FileState.DAMAGED, 3)
        assert "could not be read" in daemon.run("doctor").stdout


def test_no_kill_loses_or_repeats_a_file(folder: Path) -> None:
    draw = random.Random(time.time())
    streams = 0
    with started(folder, "jsonl") as daemon:
        for number in range(KILLS):
            json_file(folder, f"{number:04}.jsonl", 200 + number)
            streams += 200 + number
            time.sleep(draw.random() * 0.6)
            running = status.read_process(daemon.state, status.FlowStatus, time.time())
            if running is not None:
                try:
                    os.kill(running.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        wait(lambda: len(taken(daemon)) == KILLS)
        wait(lambda: counted(daemon)["flow-streams"] >= streams)
        time.sleep(1.5)  # a file that is counted twice would be by now
        assert counted(daemon) == {
            "flow-streams": streams,
            "flow-packets": 3 * streams,
            "flow-octets": 700 * streams,
        }
        assert len(list((folder / "taken").iterdir())) == KILLS
        rows = logged(daemon)
        assert sum(row["streams"] for row in rows) == streams
        assert len({row["id"] for row in rows}) == len(rows) == KILLS


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, 'flows.source is "off"'),
        ({"flows.source": "nfdump"}, "flows.folder is not set"),
        ({"flows.source": "jsonl", "flows.folder": "/nowhere"}, "site.networks is not set"),
    ],
)
def test_what_can_not_work_is_said_at_the_start(
    tmp_path: Path, settings: dict[str, str], problem: str
) -> None:
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    told = CliRunner().invoke(main, ["--state", str(tmp_path / "state"), *words, "flows", "run"])
    assert told.exit_code == os.EX_CONFIG
    assert problem in told.stderr


def test_without_a_folder_files_wait_and_it_is_said(folder: Path) -> None:
    with started(folder / "later", "jsonl") as daemon:
        wait(lambda: "is no folder" in daemon.run("flows", "status").stdout)
        assert "flows wait" in daemon.run("doctor").stdout
        (folder / "later").mkdir()
        json_file(folder / "later", "a.jsonl", 200)
        wait(lambda: taken(daemon) == ["a.jsonl"])


def test_networks_of_accounts_are_ours_too(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(0o700)
    firm = AccountRecord(
        id="firm", logins=("firm",), networks=(AccountNetwork(network="203.0.113.0/28"),)
    )
    with AccountStore(state / state_files.ACCOUNTS) as store:
        store.put([firm], by="test", now=time.time())
    settings = {
        "flows.source": "jsonl",
        "flows.folder": folder,
        "flows.look_s": 0.1,
        "flows.kept_from": 1,
        "site.networks": "192.0.2.0/24",
        "worker.processes": 1,
        "reader.enabled": False,
    }
    with Oborona(settings, state=state) as daemon:
        for number, source in enumerate(("203.0.113.3", "203.0.113.200", "192.0.2.5")):
            json_file(folder, f"{number}.jsonl", 7, source)
        wait(lambda: len(taken(daemon)) == 3)
        with FlowStore(state / state_files.FLOWS, make=False) as flows:
            found = {window.address: window.streams for window in flows.windows(0)}
    assert found == {"203.0.113.3": 7, "192.0.2.5": 7}
