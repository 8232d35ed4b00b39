"""Excesses on their way to the inspector: what workers write down is read once, whoever is killed
meanwhile, and whatever is in the file.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts import excess_spool
from oborona.accounts.excess import LINE_OCTETS, Excess, WrongExcess, parse_excess
from oborona.accounts.excess_spool import NEW, ExcessSpool, taken, waits

ROOT = Path(__file__).parents[2]
NOW = 1_795_000_000.0
WRITERS, EACH = 3, 400
PROGRAM = """
import sys
from pathlib import Path
from oborona.accounts.excess import Excess
from oborona.accounts.excess_spool import ExcessSpool
spool = ExcessSpool(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    spool.take(Excess(account=sys.argv[2], limit="A", metric="messages", window="hour",
                      value=number, most=1, at=1795000000.0))
    print(number, flush=True)
"""


def excess(account: str = "joe", **fields: Any) -> Excess:
    told: dict[str, Any] = {"limit": "A", "metric": "messages", "window": "hour"}
    return Excess(account=account, value=2, most=1, at=NOW, **told | fields)


def read(folder: Path) -> list[Excess]:
    """Return all of one file, and remove it."""
    with taken(folder, time.time_ns) as file:
        if file is None:
            return []
        found = [parse_excess(line) for line, _ in file.lines(0, 1 << 30) if line]
        file.remove()
    return found


def writing(folder: Path, account: str, number: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, str(folder), account, str(number)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_what_several_processes_write_is_read_once_while_they_write(tmp_path: Path) -> None:
    folder = tmp_path / "excesses"
    writers = [writing(folder, f"w{number}", EACH) for number in range(WRITERS)]
    found: list[Excess] = []
    while any(writer.poll() is None for writer in writers):
        found += read(folder)
    for writer in writers:
        writer.communicate()
    while waits(folder):
        found += read(folder)
    assert sorted((one.account, one.value) for one in found) == [
        (f"w{number}", value) for number in range(WRITERS) for value in range(EACH)
    ]
    assert list(folder.iterdir()) == []


def test_what_was_written_survives_the_death_of_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "excesses"
    writer = writing(folder, "joe", 1_000_000)
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(50)]
    writer.send_signal(signal.SIGKILL)
    said += [int(line) for line in writer.communicate()[0].split("\n")[:-1]]
    values = [one.value for one in read(folder)]
    assert values[: len(said)] == said
    assert len(values) <= len(said) + 1


def test_a_file_that_a_worker_writes_to_is_read_later(tmp_path: Path) -> None:
    spool = ExcessSpool(tmp_path)
    spool.take(excess())
    with (tmp_path / NEW).open("ab") as slow:
        fcntl.flock(slow, fcntl.LOCK_SH)
        with taken(tmp_path, time.time_ns) as file:
            assert file is None
        spool.take(excess("ann"))  # which waits for nobody
        slow.write(b"\n{}\n")
    assert waits(tmp_path)
    with taken(tmp_path, time.time_ns) as file:
        assert file is not None
        assert len([line for line, _ in file.lines(0, 9) if line]) == 2
        spool.take(excess("eve"))
        file.remove()
    assert [one.account for one in read(tmp_path)] == ["ann", "eve"]


def test_a_file_that_was_opened_before_it_was_set_apart_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = ExcessSpool(tmp_path)
    spool.take(excess("ann"))
    found: list[Excess] = []
    real = os.open

    def opened_late(path: Path, flags: int, mode: int) -> int:
        descriptor = real(path, flags, mode)
        if not found:
            found.extend(read(tmp_path))
        return descriptor

    monkeypatch.setattr(os, "open", opened_late)
    spool.take(excess("joe"))
    monkeypatch.undo()
    assert [one.account for one in found] == ["ann"]
    assert [one.account for one in read(tmp_path)] == ["joe"]


def test_an_end_that_was_cut_short_costs_no_other(tmp_path: Path) -> None:
    spool = ExcessSpool(tmp_path)
    (tmp_path / NEW).write_bytes(b'\n{"account":"to')
    spool.take(excess())
    with taken(tmp_path, time.time_ns) as file:
        assert file is not None
        torn, whole = (line for line, _ in file.lines(0, 9) if line)
    with pytest.raises(WrongExcess):
        parse_excess(torn)
    assert parse_excess(whole).account == "joe"


def test_nothing_is_read_twice_behind_a_place(tmp_path: Path) -> None:
    spool = ExcessSpool(tmp_path)
    for name in ("joe", "ann", "eve"):
        spool.take(excess(name))
    with taken(tmp_path, time.time_ns) as file:
        assert file is not None
        *_, (_, place) = file.lines(0, 2)
        rest = [parse_excess(line).account for line, _ in file.lines(place, 9) if line]
    assert rest == ["ann", "eve"]


@pytest.mark.parametrize("what", ["full", "no folder"])
def test_what_can_not_be_written_is_said_once_and_raises_nothing(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    folder = tmp_path / "excesses"
    spool = ExcessSpool(folder)
    if what == "full":
        monkeypatch.setattr(excess_spool, "MOST_BYTES", 1)
        spool.take(excess())
    else:
        folder.write_text("in its place")
    spool.take(excess())
    spool.take(excess())
    assert [record.getMessage() for record in caplog.records] == [
        "the inspector hears of no excesses"
    ]
    if what == "full":
        assert len(read(folder)) == 1
    else:
        folder.unlink()
    spool.take(excess("ann"))
    assert caplog.records[-1].getMessage() == "the inspector hears of excesses again"
    assert [one.account for one in read(folder)] == ["ann"]


@given(data=st.binary(max_size=200) | st.just(b"x" * (LINE_OCTETS + 50)))
def test_whatever_is_in_the_file_is_passed_over_in_pieces(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    (folder / NEW).write_bytes(data)
    with taken(folder, time.time_ns) as file:
        assert file is not None
        lines = list(file.lines(0, 1 << 20))
        assert [place for _, place in lines][-1:] == ([len(data)] if data else [])
        file.remove()
    assert not waits(folder)


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "excesses"
    ExcessSpool(folder).take(excess())
    assert (folder.stat().st_mode & 0o777, (folder / NEW).stat().st_mode & 0o777) == (0o700, 0o600)
