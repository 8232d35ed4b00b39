"""An erasure killed at each of its steps: `erasing_program.py FOLDER`.

FOLDER/asked is a log in which a person is to be taken out. A process ends before each call that
changes something, and another one goes on: what is there then must be what comes of one that nobody
killed. Prints how many were killed. Children are forked by a process that has opened nothing: the
library of Delta tables can't be forked.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.erasure import eraser as module
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.erasure.eraser import PersonEraser
from oborona.eventlog.periods import PERIODS
from oborona.eventlog.tables.delta import DeliveredTable
from oborona.eventlog.tables.parquet import write_table
from tests.eventlog.test_merger import MergedLog
from tests.eventlog.worlds import CLICKS, CheckedLog

KILLED = 99
STEPS = ("begin", "take", "write", "finish")


def eraser(merged: MergedLog, *, begins: bool = True) -> PersonEraser:
    """Return what takes persons out of a log."""
    log = merged.log
    return PersonEraser(CLICKS, log.folder, log.store, begins=begins, clock=lambda: merged.now)


def state(merged: MergedLog) -> dict[str, Any]:
    """Return all that a reader finds, and all that is counted."""
    store, path = merged.log.store, merged.log.folder.path
    stream = {
        str(one.relative_to(path)): sorted(map(str, pq.read_table(one).to_pylist()))
        for kind in ("stream", "checked/stream", "history")
        for one in sorted((path / kind).rglob("*.parquet"))
    }
    counts = {
        name: store.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3, 4")
        for name in ("source_table", "checked_table", "event_slot")
    }
    erasures = store.rows("SELECT id, person, removed, unread FROM erasure")
    rows = {period.name: merged.rows(period) for period in PERIODS}
    return {"stream": stream, "erasures": erasures, **counts, **rows}


@contextmanager
def opened(root: Path) -> Iterator[MergedLog]:
    """Open a log in which nothing is checked: the engine takes longer than all else."""
    with LogStore(root / "eventlog.db") as store:
        yield MergedLog(CheckedLog(root / "logs", store, None))  # type: ignore[arg-type]


def end_at(call: int) -> None:
    """Have this process end before a call that writes."""
    calls = 0

    def ending(work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal calls
            if calls == call:
                os._exit(KILLED)
            calls += 1
            return work(*args, **named)

        return wrapped

    vars(module)["write_table"] = ending(write_table)
    for name in STEPS:
        setattr(ErasureBook, name, ending(getattr(ErasureBook, name)))
    DeliveredTable.erase = ending(DeliveredTable.erase)  # type: ignore[method-assign]


def forked(work: Callable[[], None]) -> int:
    """Do work in a process of its own; return its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 70
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def erase(root: Path, call: int) -> None:
    """Take the person out, and end at a call."""
    with opened(root) as merged:
        end_at(call)
        eraser(merged).step()


def go_on(root: Path) -> None:
    """Go on with what is open, and write down what is there then."""
    with opened(root) as merged:
        begun = ErasureBook(merged.log.store, "clicks").open(begun=True) is not None
        assert eraser(merged, begins=False).step() is begun
        eraser(merged).step()
        (root / "state").write_bytes(msgspec.msgpack.encode(state(merged)))


def kill(asked: Path, root: Path, call: int) -> tuple[bool, bytes]:
    """Return whether a process was killed at a call, and what is there when another has gone on."""
    shutil.copytree(asked, root)
    status = forked(lambda: erase(root, call))
    assert status in (0, KILLED), status
    assert forked(lambda: go_on(root)) == 0
    found = (root / "state").read_bytes()
    shutil.rmtree(root)
    return bool(status), found


def main(folder: Path) -> None:
    """Kill at each step."""
    asked, root, killed = folder / "asked", folder / "killed", 0
    _, wanted = kill(asked, root, -1)
    while True:
        was_killed, found = kill(asked, root, killed)
        assert found == wanted, killed
        if not was_killed:
            break
        killed += 1
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
