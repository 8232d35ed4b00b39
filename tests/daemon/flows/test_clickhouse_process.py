"""The process that counts flows, as an admin starts it, with a table of ClickHouse."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from oborona import state_files
from oborona.accounts.flows.store import FileState, FlowFile, FlowStore
from oborona.cli import main
from oborona.daemon.flows.clickhouse import window_name
from oborona.telemetry import status
from tests.accounts.flows import chdb_engine
from tests.daemon.flows.counted_flows import counted, destinations, taken, wait
from tests.peers.clickhouse import ClickHouse
from tests.peers.oborona import Oborona

KILLS = int(os.environ.get("FLOW_KILLS", "12"))  # more of them by hand


@pytest.fixture
def server() -> Iterator[ClickHouse]:
    with ClickHouse(user="reader", password="open sesame") as made:
        yield made


def asking(folder: Path, server: ClickHouse, **told: object) -> Oborona:
    (folder / "password").write_text("open sesame\n")
    (folder / "records.sql").write_text(chdb_engine.RECORDS)
    return Oborona(
        {
            "flows.source": "clickhouse",
            "flows.url": server.url,
            "flows.user": "reader",
            "flows.password_file": folder / "password",
            "flows.records": folder / "records.sql",
            "flows.look_s": 0.1,
            "flows.settle_s": 0,
            "site.networks": "192.0.2.0/24",
            "worker.processes": 1,
            "reader.enabled": False,
        }
        | {f"flows.{name}": value for name, value in told.items()}
    )


def minutes_ago(number: int) -> int:
    return (int(time.time()) // 60 - number) * 60


def taken_before(daemon: Oborona, start: int) -> None:
    """Let a window be taken by a process before."""
    with FlowStore(daemon.state / state_files.FLOWS) as store:
        store.note(
            FlowFile(name=window_name(start), size=0, state=FileState.TAKEN, taken=start + 60.0)
        )


def streams(start: int, number: int) -> list[tuple[object, ...]]:
    """Return records of as many streams from 192.0.2.5, to a hundred addresses."""
    ms = start * 1000
    return [
        (
            ms + 9000, ms + 5000, ms + 8000, "192.0.2.5", f"198.51.100.{1 + n % 100}", n, 25, 6, 3,
            700, 2, "203.0.113.1", 1,
        )
        for n in range(number)
    ]  # fmt: skip


def test_windows_are_counted_and_shown(tmp_path: Path, server: ClickHouse) -> None:
    begin = minutes_ago(5)
    chdb_engine.tell([*streams(begin, 150), *streams(begin + 60, 50)])
    daemon = asking(tmp_path, server)
    taken_before(daemon, begin - 60)
    with daemon:
        wait(lambda: {window_name(begin), window_name(begin + 60)} <= set(taken(daemon)))
        wait(lambda: counted(daemon)["flow-streams"] == 200)
        assert counted(daemon) == {
            "flow-streams": 200, "flow-packets": 600, "flow-octets": 140_000,
        }  # fmt: skip
        assert destinations(daemon) == 100
        shown = json.loads(daemon.run("flows", "status", "--json").stdout)
        assert [
            (source["start"], source["address"], source["streams"], source["at_once"])
            for source in shown["sources"]
        ] == [(begin, "192.0.2.5", 150, 150), (begin + 60, "192.0.2.5", 50, 50)]
        (exporter,) = shown["exporters"]
        assert (exporter["exporter"], exporter["records"]) == ("203.0.113.1", 200)
        doctor = daemon.run("doctor").stdout
        assert f"{server.url} has what" in doctor
        assert "exporter 203.0.113.1" in doctor


def test_no_kill_loses_or_repeats_a_window(tmp_path: Path, server: ClickHouse) -> None:
    draw = random.Random(time.time())
    begin = minutes_ago(KILLS + 2)
    chdb_engine.tell(
        [each for n in range(KILLS) for each in streams(begin + n * 60, 200 + n)]
    )  # fmt: skip
    daemon = asking(tmp_path, server)
    taken_before(daemon, begin - 60)
    with daemon:
        for _ in range(KILLS):
            time.sleep(draw.random() * 0.4)
            running = status.read_process(daemon.state, status.FlowStatus, time.time())
            if running is not None:
                try:
                    os.kill(running.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        number = sum(200 + n for n in range(KILLS))
        wait(lambda: window_name(begin + (KILLS - 1) * 60) in taken(daemon))
        wait(lambda: counted(daemon)["flow-streams"] >= number)
        time.sleep(1.5)  # a window that is counted twice would be by now
        assert counted(daemon) == {
            "flow-streams": number, "flow-packets": 3 * number, "flow-octets": 700 * number,
        }  # fmt: skip


def test_while_the_server_is_away_windows_wait_and_it_is_said(tmp_path: Path) -> None:
    begin = minutes_ago(3)
    chdb_engine.tell(streams(begin, 20))
    server = ClickHouse(user="reader", password="open sesame")
    with server:
        pass  # it has a port, and is away
    daemon = asking(tmp_path, server)
    taken_before(daemon, begin - 60)
    with daemon:
        wait(lambda: "trouble: http://127.0.0.1" in daemon.run("flows", "status").stdout)
        doctor = daemon.run("doctor").stdout
        assert "flows wait: http://127.0.0.1" in doctor
        with server:
            wait(lambda: window_name(begin) in taken(daemon))
            wait(lambda: counted(daemon)["flow-streams"] == 20)


def test_an_answer_of_nonsense_is_tried_thrice_and_given_up(
    tmp_path: Path, server: ClickHouse
) -> None:
    begin = minutes_ago(2)
    server.fault = (200, {}, b"<html>\n")
    daemon = asking(tmp_path, server)
    taken_before(daemon, begin - 60)
    with daemon:
        wait(lambda: state_of(daemon, begin) == (FileState.DAMAGED, 3))
        assert "could not be read" in daemon.run("doctor").stdout


def state_of(daemon: Oborona, start: int) -> tuple[FileState, int] | None:
    with FlowStore(daemon.state / state_files.FLOWS, make=False) as store:
        for file in store.files():
            if file.name == window_name(start):
                return file.state, file.tries
    return None


def test_a_select_that_can_not_be_is_said_and_windows_wait(
    tmp_path: Path, server: ClickHouse
) -> None:
    (tmp_path / "mine.sql").write_text("SELECT received FROM nowhere")
    with asking(tmp_path, server, records=tmp_path / "mine.sql") as daemon:
        wait(lambda: "nowhere" in daemon.run("flows", "status").stdout)
        assert "nowhere" in daemon.run("doctor").stdout
        assert taken(daemon) == []


def test_what_can_not_work_is_said_at_the_start(tmp_path: Path) -> None:
    base = ["--state", str(tmp_path / "state"), "--set", "flows.source=clickhouse"]
    for words, problem in (
        ([], "site.networks is not set"),
        (["site.networks=192.0.2.0/24", "flows.password_file=/nowhere"], "flows.password_file"),
        (["site.networks=192.0.2.0/24", "flows.records=/nowhere.sql"], "flows.records"),
    ):
        sets = [word for value in words for word in ("--set", value)]
        told = CliRunner().invoke(main, [*base, *sets, "flows", "run"])
        assert told.exit_code == os.EX_CONFIG
        assert problem in told.stderr
