"""What workers say of themselves while they run, from a worker's hand to a reader's."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from oborona import state_files
from oborona.errors import StoreError
from oborona.metrics import MetricsSnapshot
from oborona.telemetry.status import (
    STALE_S,
    EngineStatus,
    ListStatus,
    ReaderStatus,
    RecheckStatus,
    TrainerStatus,
    WorkerStatus,
    read_process,
    read_services,
    read_workers,
    remove_worker,
    write_status,
)

NOW = 1_800_000_000.0


def status(worker: int = 0, time: float = NOW, **more: object) -> WorkerStatus:
    return WorkerStatus(
        worker=worker,
        pid=7,
        time=time,
        policy="abc",
        **{"metrics": MetricsSnapshot(), **more},  # type: ignore[arg-type]
    )


def test_what_was_written_is_read(tmp_path: Path) -> None:
    full = status(
        metrics=MetricsSnapshot(
            values={"oborona_verdicts": [(("connect", "reject"), 3), (("content", "accept"), 5)]}
        ),
        lists={"ZEN": ListStatus(state="sick", since=NOW, why="no answer")},
    )
    write_status(tmp_path, full)
    assert read_workers(tmp_path, NOW) == [full]
    write_status(tmp_path, status(metrics=MetricsSnapshot(values={"oborona_busy": [((), 6)]})))
    assert read_workers(tmp_path, NOW) == [
        status(metrics=MetricsSnapshot(values={"oborona_busy": [((), 6)]}))
    ]
    assert [file.name for file in (tmp_path / state_files.STATUS).iterdir()] == ["worker-0.json"]


def test_workers_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for worker in (10, 2, 0):
        write_status(tmp_path, status(worker))
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [0, 2, 10]
    remove_worker(tmp_path, 2)
    remove_worker(tmp_path, 2)
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [0, 10]


def test_a_worker_that_was_killed_is_forgotten(tmp_path: Path) -> None:
    write_status(tmp_path, status(0, NOW - STALE_S - 1))
    write_status(tmp_path, status(1, NOW - STALE_S + 1))
    write_status(tmp_path, status(2, NOW + STALE_S + 1))  # the clock was set back
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [1]


def test_where_nobody_has_run_there_is_nothing(tmp_path: Path) -> None:
    assert read_workers(tmp_path / "nowhere", NOW) == []
    remove_worker(tmp_path / "nowhere", 0)


def test_a_folder_that_is_none_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / state_files.STATUS).write_text("")
    with pytest.raises(StoreError, match=str(tmp_path)):
        write_status(tmp_path, status())
    with pytest.raises(StoreError, match=str(tmp_path)):
        read_workers(tmp_path, NOW)


def test_what_is_no_status_is_left_out(tmp_path: Path) -> None:
    write_status(tmp_path, status(1))
    folder = tmp_path / state_files.STATUS
    (folder / "worker-2.json").mkdir()
    (folder / "worker-3.json").symlink_to(folder / "nowhere")
    # half-way when its writer was killed
    (folder / ".worker-4").write_bytes(msgspec.json.encode(status(4)))
    (folder / "notes.json").write_bytes(msgspec.json.encode(status(5)))
    (folder / "worker-6.json").write_bytes(
        msgspec.json.encode({"worker": 6, "of": "another version"})
    )
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [1]


def test_a_worker_of_an_older_version_is_left_out(tmp_path: Path) -> None:
    """What it counted stood in fields of their own; it is replaced within seconds of an upgrade."""
    write_status(tmp_path, status(1))
    older = {
        "worker": 2,
        "pid": 7,
        "time": NOW,
        "policy": "abc",
        "verdicts": {"content accept": 5},
        "busy": 3,
    }
    (tmp_path / state_files.STATUS / "worker-2.json").write_bytes(msgspec.json.encode(older))
    for name, kind in (
        ("trainer", TrainerStatus),
        ("reader", ReaderStatus),
        ("recheck", RecheckStatus),
    ):
        (tmp_path / state_files.STATUS / f"{name}.json").write_bytes(
            msgspec.json.encode({"pid": 7, "time": NOW})
        )
        assert read_process(tmp_path, kind, NOW) is None  # type: ignore[type-var]
    (tmp_path / state_files.STATUS / "service-worker-0.json").write_bytes(
        msgspec.json.encode({"name": "worker-0", "pid": 7, "time": NOW, "processes": {}})
    )
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [1]
    assert read_services(tmp_path, NOW) == []


@given(
    raw=st.binary(max_size=300)
    | st.sampled_from([b"[" * 100_000, b'{"worker":' * 50_000, b"\xff\xfe"])
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_that_stands_in_a_file_breaks_the_reader(tmp_path: Path, raw: bytes) -> None:
    """Whatever the bytes: they are left out, and the others are read."""
    write_status(tmp_path, status(1))
    (tmp_path / state_files.STATUS / "worker-9.json").write_bytes(raw)
    assert [one.worker for one in read_workers(tmp_path, NOW)] == [1]


def test_no_reader_sees_half_of_it(tmp_path: Path) -> None:
    sizes = (1, 20_000)
    write_status(tmp_path, status())
    done = threading.Event()

    def replace() -> None:
        for turn in range(200):
            write_status(
                tmp_path,
                status(
                    engines=dict.fromkeys(
                        map(str, range(sizes[turn % 2])), EngineStatus(away=False, since=NOW)
                    )
                ),
            )
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    looks = 0
    while not done.is_set():
        assert len(read_workers(tmp_path, NOW)) == 1
        looks += 1
    writer.join()
    assert looks > 0
