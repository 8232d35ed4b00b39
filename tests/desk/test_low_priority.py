"""Work aside runs behind all else, and nothing else of its process does."""

from __future__ import annotations

import os

import pytest

from oborona.desk.low_priority import NICENESS, run_aside


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def test_only_what_is_run_aside_steps_back() -> None:
    before = niceness()
    assert run_aside(niceness) == NICENESS
    assert niceness() == before


def test_an_error_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        run_aside(lambda: 1 // 0)


def test_where_it_is_forbidden_it_competes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    assert run_aside(niceness) == niceness()
