"""One holder at a time, among real processes."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from oborona.errors import StoreBusy, StoreError
from oborona.lock import hold, holder

HOLDS = """
import sys, time
from oborona.lock import hold
lock = hold(sys.argv[1], "oborona writer")
print("held", flush=True)
time.sleep(60)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holding(path) as process:
        with pytest.raises(
            StoreBusy, match=rf"lock is held by oborona writer \(pid {process.pid}, since 2\d\d\d-"
        ):
            hold(path, "oborona serve")
        found = holder(path)
        assert found
        assert (found.pid, found.program) == (process.pid, "oborona writer")
        process.kill()


def test_patience_waits_for_the_other_to_end(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holding(path) as process:
        ending = threading.Timer(0.6, process.kill)
        ending.start()
        with pytest.raises(StoreBusy):
            hold(path, "oborona serve")
        hold(path, "oborona serve", patience_s=30.0).release()
        ending.join()


def test_kill_9_leaves_nothing_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holding(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        assert holder(path) is None
        with hold(path, "oborona serve"):
            found = holder(path)
            assert found
            assert found.pid == os.getpid()


def test_release_is_for_others_and_may_come_twice(tmp_path: Path) -> None:
    lock = hold(tmp_path / "lock", "a")
    lock.release()
    with hold(tmp_path / "lock", "b"):
        lock.release()  # not the descriptor that b has by now
        with pytest.raises(StoreBusy, match="held by b"):
            hold(tmp_path / "lock", "c")
    assert holder(tmp_path / "lock") is None


def test_a_holder_that_ends_right_now_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS.replace("60", "0.1"), path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        with hold(path, "next", patience_s=30.0) as lock:
            assert lock.path == path


def test_looking_does_not_get_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    hold(path, "a").release()
    look = (
        "import sys\nfrom oborona.lock import holder\nprint(1, flush=True)\nwhile True: "
        "holder(sys.argv[1])"
    )
    with subprocess.Popen([sys.executable, "-c", look, path], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        for _ in range(50):
            hold(path, "b").release()
        process.kill()


def test_a_removed_file_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone removes the file between our open and our flock: the lock we get is one nobody else
    would see.
    """
    path, really = tmp_path / "lock", os.open
    removals = iter([True, False, False])

    def opens(name: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = really(name, flags, mode)
        if next(removals):
            path.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", opens)
    with hold(path, "a"):
        monkeypatch.undo()
        with pytest.raises(StoreBusy, match="held by a"):
            hold(path, "b")


@pytest.mark.parametrize("content", [b"", b"not JSON", b'{"pid": "x"}', b"\xff" * 5000])
def test_a_broken_record_is_no_reason_to_fail(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    with hold(path, "a"):
        path.write_bytes(content)
        assert holder(path) is None
        with pytest.raises(StoreBusy, match="did not leave its name"):
            hold(path, "b")


def test_others_of_the_machine_cannot_open_it(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", "a"):
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600


def test_what_cannot_be_a_lock_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "to").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path, tmp_path / "missing" / "lock", tmp_path / "to"):
        began = time.monotonic()
        with pytest.raises(StoreError, match=f"cannot lock {path}: ") as caught:
            hold(path, "a")
        assert not isinstance(caught.value, StoreBusy)
        assert time.monotonic() - began < 5
    assert holder(tmp_path / "missing" / "lock") is None
