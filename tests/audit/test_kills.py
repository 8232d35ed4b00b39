"""Whoever is killed, wherever: no act is done without a row, and the chain stays whole.

Also two at once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from oborona.audit.declarations import ActDeclaration
from oborona.audit.reader import AuditQuery, AuditReader
from oborona.audit.record import ActRecord
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.store import AuditStore

KEY = b"k" * 32
STEPS = 36  # more than an act takes


def in_child(work: Callable[[], None]) -> int:
    """Return the status with which a child ended that did the work."""
    return os.waitpid(forked(work), 0)[1]


def forked(work: Callable[[], None]) -> int:
    """Return the id of a child that does the work, and ends."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


class Steps:
    """Kills this process at one of its steps."""

    def __init__(self, last: int) -> None:
        self.left = last

    def step(self, *_: object) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def act(path: Path, done: Path, steps: Steps) -> None:
    """Do an act that makes a file."""

    def opened(make: bool) -> AuditStore:
        steps.step()
        store = AuditStore(path, KEY, make=make)
        store._db.set_trace_callback(steps.step)
        return store

    row = AuditRow(number=0, kind=RowKind.BEGUN, at=1, act="lists.add", about=done.name)
    record = ActRecord(opened, nullcontext, ActDeclaration(), row, 400)
    record.begin()
    steps.step()
    done.touch()
    steps.step()
    record.end(ActOutcome.DONE, 0, "")


def test_a_kill_at_any_step_leaves_no_act_without_a_row(tmp_path: Path) -> None:
    path, ended = tmp_path / "audit.db", 0
    for last in range(STEPS):
        done = tmp_path / f"done-{last}"
        status = in_child(partial(act, path, done, Steps(last)))
        assert os.WIFSIGNALED(status) or status == 0
        ended += status == 0
        if not path.exists():
            assert not done.exists()
            continue
        with AuditReader(path) as reader:
            found = reader.acts(AuditQuery(about=done.name), 9)
            assert len(found) <= 1
            assert found or not done.exists(), f"killed at step {last}: done without a row"
            assert status or found[0].outcome is ActOutcome.DONE
            if found and found[0].outcome is ActOutcome.DONE:
                assert done.exists()
            assert reader.verify(KEY).faults == ()
    assert 0 < ended < STEPS - 10, "some were killed, and some were not"


def test_acts_at_once_make_one_chain(tmp_path: Path) -> None:
    path, number, each = tmp_path / "audit.db", 4, 15

    def work(child: int) -> None:
        for one in range(each):
            act(path, tmp_path / f"{child}-{one}", Steps(1 << 30))

    children = [forked(partial(work, child)) for child in range(number)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * number
    with AuditReader(path) as reader:
        report = reader.verify(KEY)
        acts = reader.acts(AuditQuery(), 1000)
    assert (report.faults, report.rows) == ((), number * each * 2)
    assert len(acts) == number * each
    assert {one.outcome for one in acts} == {ActOutcome.DONE}
