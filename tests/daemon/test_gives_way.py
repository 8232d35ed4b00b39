"""Who may gives way to processes that mail waits for."""

from __future__ import annotations

import os

import pytest

from oborona.daemon.child import NICENESS
from oborona.daemon.confinement.priority import step_back


def niceness_after(before: int) -> int:
    """What a child's is that has given way."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setpriority(os.PRIO_PROCESS, 0, max(before, os.getpriority(os.PRIO_PROCESS, 0)))
        step_back(NICENESS)
        os.write(write, bytes([os.getpriority(os.PRIO_PROCESS, 0)]))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        (found,) = said.read()
    os.waitpid(child, 0)
    return int(found)


@pytest.mark.parametrize("before", [0, NICENESS + 5])
def test_it_steps_back_and_never_forward(before: int) -> None:
    assert niceness_after(before) == max(before, NICENESS)


def test_where_it_is_forbidden_it_competes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    step_back(NICENESS)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
